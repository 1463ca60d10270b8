"""`torch.distributed.algorithms.ddp_comm_hooks`: how a bucket of gradients is sent."""

from ...._lazy import named_later as _named_later

__getattr__, __dir__ = _named_later(
    __name__, ("default_hooks", "post_localSGD_hook", "powerSGD_hook")
)
