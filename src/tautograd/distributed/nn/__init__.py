"""`torch.distributed.nn`: collectives that gradients go through."""

from ..._lazy import named_later as _named_later

__getattr__, __dir__ = _named_later(
    __name__, ("functional",), {"all_reduce": ".functional", "broadcast": ".functional"}
)
