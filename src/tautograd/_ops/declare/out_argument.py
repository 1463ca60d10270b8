"""Results that are written into the tensors given as `out=`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.devices import is_meta
from ..._arrays.dtypes import bool_, can_cast
from ..._autograd.autocast_state import EVER_USED
from ..._autograd.modes import modes
from ..._autograd.views import bump, check_writable
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from .autocasting import as_it_is
from .memory_overlap import (
    GATHERING,
    refuse_any_overlap,
    refuse_overlap,
    refuse_partial_overlap,
)
from .out_dtypes import check_layout, check_out, refuse_cast

Function = Callable[..., Any]


# Functions that PyTorch computes aside when `out` is given: which results are then in C order.
CONTIGUOUS_OUT: dict[str, Callable[..., bool]] = {}


def write_out(fn: Function, args: Any, kwargs: Any, out: Any) -> Any:
    """Compute, then write into the `out` tensor(s), resized if their shape differs."""
    several = isinstance(out, (tuple, list))
    targets = out if several else (out,)
    differentiated = modes.grad and any(map(_requires_grad, (*args, *kwargs.values(), *targets)))
    if modes.forward_level:
        for value in (*args, *kwargs.values(), *targets):
            if isinstance(value, Tensor) and value._tangents:
                raise NotImplementedError(
                    f"Trying to use forward AD with {fn.__name__}_out that does not support it "
                    "because it is an out= function"
                )
    for target in targets:
        if isinstance(target, Tensor):
            given = args[0] if args and isinstance(args[0], (tuple, list)) else args
            refuse = refuse_any_overlap if fn.__name__ in GATHERING else refuse_partial_overlap
            refuse(target, *given, *kwargs.values())
    results = as_it_is(fn, args, kwargs) if EVER_USED else fn(*args, **kwargs)
    if differentiated and not _is_constant(results, (*args, *kwargs.values())):
        raise RuntimeError(
            f"{fn.__name__}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    if fn.__name__ in CONTIGUOUS_OUT and CONTIGUOUS_OUT[fn.__name__](results, *args):
        results._data = np.copy(results._data, order="C")
    if several and fn.__name__ in _COPIES_OF_PARTS and len(out) != len(results):
        raise RuntimeError(
            f"{fn.__name__}_out expected an out= argument of size {len(results)}, got size {len(out)}"
        )
    if several and isinstance(results, tuple) and len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    if several != isinstance(results, tuple):
        if fn.__name__ == "nonzero":
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        raise TypeError(
            f"{fn.__name__}() received an invalid combination of arguments - got "
            f"(out={type(out).__name__})"
        )
    if several:
        for result, target in zip(results, out, strict=True):  # all of them, before any is written
            _check_result(fn.__name__, result, target)
        for result, target in zip(results, out, strict=True):
            write_result(fn.__name__, result, target)
        kind = type(results)
        return None if fn.__name__ in _COPIES_OF_PARTS else getattr(kind, "out_type", kind)(out)
    return write_result(fn.__name__, results, out)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _is_constant(results: Any, inputs: tuple[Any, ...]) -> bool:
    """Whether there is nothing to differentiate: a comparison, a place, or what has no gradient of inputs that ask."""
    parts = results if isinstance(results, tuple) else (results,)
    if any(map(_requires_grad, parts)):
        return False
    return any(map(_requires_grad, inputs)) or all(x.dtype is bool_ for x in parts)


_COPIES_OF_PARTS = ("split_copy", "split_with_sizes_copy", "unbind_copy")
"""With `out=` these give nothing back, in PyTorch."""


def _check_result(name: str, result: Tensor, out: Any) -> None:
    """Refuse an `out` that a result cannot be written into."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out._is_inference and not modes.inference:
        check_writable(out)
    check_out(name, result.dtype, out.dtype)
    if type(out._data) is not np.ndarray:
        check_layout(name, out._data, result._data)
    if not can_cast(result.dtype, out.dtype):
        raise refuse_cast(name, result.dtype, out.dtype)
    if is_meta(result._data) is not is_meta(out._data):
        raise RuntimeError(
            f"Attempting to copy from device {result.device} to device {out.device}, but cross-device "
            "copies are not allowed!"
        )
    if out._data.shape == result._data.shape:
        refuse_overlap(out._data)


def write_result(name: str, result: Tensor, out: Tensor) -> Tensor:
    _check_result(name, result, out)
    if out._data.shape != result._data.shape:
        warn_of_resize(out, result._data.shape)
        out._data = np.empty_like(result._data, dtype=out._data.dtype)
    modes.quietly(np.copyto, out._data, result._data, casting="unsafe")
    bump(out)
    return out


def warn_of_resize(out: Tensor, shape: Any) -> None:
    """Say that an `out=` with elements of another shape takes a new one."""
    if not out._data.size or tuple(out._data.shape) == tuple(shape):
        return
    warnings.warn(
        f"An output with one or more elements was resized since it had shape "
        f"{list(out._data.shape)}, which does not match the required output shape "
        f"{list(shape)}. This behavior is deprecated, and in a future PyTorch "
        "release outputs will not be resized unless they have zero elements. You can explicitly "
        "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
        UserWarning,
        stacklevel=warning_level(),
    )
