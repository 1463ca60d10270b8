"""`torch.distributed.algorithms.model_averaging`: parameters averaged every few steps."""

from ...._lazy import named_later as _named_later

__getattr__, __dir__ = _named_later(__name__, ("averagers", "utils"))
