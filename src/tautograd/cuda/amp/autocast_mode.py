"""`autocast("cuda")` and what goes with it, under older names."""

from __future__ import annotations

import warnings
from typing import Any

from ... import amp
from ..._arrays.dtypes import dtype as _dtype
from ..._arrays.dtypes import float16

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """`amp.autocast("cuda", …)`."""

    def __init__(
        self, enabled: bool = True, dtype: _dtype = float16, cache_enabled: bool = True
    ) -> None:
        warnings.warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. Please use "
            "`torch.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: _dtype | None = None) -> Any:
    """`amp.custom_fwd(…, device_type="cuda")`."""
    _warn("custom_fwd")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`amp.custom_bwd(…, device_type="cuda")`."""
    _warn("custom_bwd")
    return amp.custom_bwd(bwd, device_type="cuda")


def _warn(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}(args..., device_type='cuda')` instead.",
        FutureWarning,
        stacklevel=3,
    )
