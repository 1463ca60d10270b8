"""Calls a module with other parameters than its own, under PyTorch's deprecated name."""

from __future__ import annotations

import warnings
from typing import Any

from ..._autograd.transforms.functional_call import functional_call as _functional_call
from ..._ops.declare.python_surface import speak
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level

__all__ = ["functional_call"]


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The deprecated name of `func.functional_call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=warning_level(),
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


speak(globals(), __all__)
