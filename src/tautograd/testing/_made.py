"""`make_tensor`: random values of any dtype, in a given range and layout; for tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import tautograd


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of uniform random values in `[low, high)`.

    By default, the range is -9 to 9 (10 for integers, of which unsigned ones start at 0), and False
    to True for booleans. `noncontiguous` takes every second element of a larger tensor.
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got {noncontiguous=} and {memory_format=}"
        )
    if not isinstance(dtype, tautograd.dtype):
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor()."
        )
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if requires_grad and whole:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, "
            f"but got {dtype=}"
        )
    spread = noncontiguous and math.prod(shape) > 1
    if spread:
        shape = (*shape[:-1], 2 * shape[-1])
    result = (_integers if whole else _floats)(shape, dtype, device, low, high)
    if spread:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if whole else tautograd.finfo(dtype).tiny
    if not whole:
        result.requires_grad = requires_grad
    return result


def _integers(shape: Any, dtype: Any, device: Any, low: Any, high: Any) -> Any:
    if dtype is tautograd.bool:
        low, high = _interval(low, high, dtype, limits=(0, 2), default=(0, 2))
    else:
        limits = tautograd.iinfo(dtype)
        # randint's own bounds are int64, which cannot represent one past the largest int64.
        end = limits.max + (dtype is not tautograd.int64)
        low, high = _interval(low, high, dtype, limits=(limits.min, end), default=(-9, 10))
    low, high = math.ceil(low), math.ceil(high)
    return tautograd.randint(low, high, shape, device=device, dtype=dtype)


def _floats(shape: Any, dtype: Any, device: Any, low: Any, high: Any) -> Any:
    limits = tautograd.finfo(dtype)
    low, high = _interval(low, high, dtype, limits=(limits.min, limits.max), default=(-9, 9))
    result = tautograd.empty(shape, device=device, dtype=dtype)
    parts = tautograd.view_as_real(result) if dtype.is_complex else result
    if high - low < tautograd.finfo(parts.dtype).max:
        parts.uniform_(low, high)
    else:  # too wide for the dtype
        parts.uniform_(low / 2, high / 2).mul_(2)
    return result


def _interval(
    low: Any, high: Any, dtype: Any, *, limits: tuple[Any, Any], default: tuple[Any, Any]
) -> tuple[Any, Any]:
    """The requested range, clamped to what the dtype can hold."""
    low = default[0] if low is None else low
    high = default[1] if high is None else high
    least, end = limits
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{least}, {end})"
        )
    return min(max(low, least), end), min(max(high, least), end)
