"""`torch.distributed.optim`: optimizers whose states are shared out among ranks."""

from ..._lazy import named_later as _named_later

__getattr__, __dir__ = _named_later(
    __name__,
    ("zero_redundancy_optimizer",),
    {"ZeroRedundancyOptimizer": ".zero_redundancy_optimizer"},
)
