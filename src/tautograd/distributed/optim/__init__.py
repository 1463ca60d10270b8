"""`torch.distributed.optim`: optimizers that communicate with other ranks."""

from ..._lazy import named_later as _named_later

__getattr__, __dir__ = _named_later(
    __name__,
    ("post_localSGD_optimizer", "zero_redundancy_optimizer"),
    {
        "PostLocalSGDOptimizer": ".post_localSGD_optimizer",
        "ZeroRedundancyOptimizer": ".zero_redundancy_optimizer",
    },
)
