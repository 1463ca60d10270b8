"""`amp.autocast("cpu", …)` under its older name."""

from __future__ import annotations

import warnings

from ... import amp
from ..._arrays.dtypes import bfloat16
from ..._arrays.dtypes import dtype as _dtype

__all__ = ["autocast"]


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """`amp.autocast("cpu", …)`."""

    def __init__(
        self, enabled: bool = True, dtype: _dtype = bfloat16, cache_enabled: bool = True
    ) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use "
            "`torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", dtype, enabled, cache_enabled)
