"""`torch.distributed.nn`: differentiable collectives."""

from ..._lazy import named_later as _named_later

_FUNCTIONS = (
    "all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter",
)  # fmt: skip

__getattr__, __dir__ = _named_later(
    __name__, ("functional",), dict.fromkeys(_FUNCTIONS, ".functional")
)
