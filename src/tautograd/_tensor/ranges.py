"""Evenly spaced numbers: `arange`, `range`, `linspace`, `logspace`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays.dtypes import LEGACY_NAMES, dtype, get_default_dtype, int64
from .arguments import finish, number, place, wanted_dtype
from .filled import function, into
from .tensor import Tensor


def _invalid(name: str, args: tuple[Any, ...]) -> TypeError:
    got = ", ".join(type(a).__name__ for a in args)
    return TypeError(f"{name}() received an invalid combination of arguments - got ({got})")


def _not_implemented(name: str, kind: dtype) -> NotImplementedError:
    return NotImplementedError(f"\"{name}\" not implemented for '{LEGACY_NAMES[kind]}'")


@function
def arange(
    *args: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from `start` (0) up to but not including `end`, in steps of `step` (1)."""
    given = _bounds("arange", args, start, end, step)
    start, end, step = given
    kind = wanted_dtype("arange", dtype)
    if kind is None:
        integral = not any(isinstance(v, float) for v in given)
        kind = out.dtype if out is not None else int64 if integral else get_default_dtype()
    if kind.is_complex or kind.name == "bool":
        raise _not_implemented("arange_cpu", kind)
    count = _count(start, end, step, kind)
    values = _progression(start, step, count, kind)
    if out is not None:
        _resize_with_warning(out, count)
        into(out, (count,), "arange")[...] = values
        return out
    return finish(place(device).asarray(values), requires_grad)


def _bounds(
    name: str, args: tuple[Any, ...], start: Any, end: Any, step: Any
) -> tuple[Any, Any, Any]:
    if len(args) == 1 and end is None:
        args = (0 if start is None else start, *args)
    elif len(args) == 1:
        args = (args[0], end)
    elif not args and end is not None:
        args = (0 if start is None else start, end)
    if len(args) == 2:
        args = (*args, 1 if step is None else step)
    if len(args) != 3:
        raise _invalid(name, args)
    single = not (start is not None or args[0] != 0) and args[2] == 1
    return (
        number(name, args[0], "start", 1),
        number(name, args[1], "end", 1 if single else 2),
        number(name, args[2], "step", 3),
    )


def _count(start: Any, end: Any, step: Any, kind: dtype) -> int:
    if kind is int64 and any(isinstance(v, float) for v in (start, end, step)) and not int(step):
        if step == 0:
            raise RuntimeError("step must be nonzero")
        raise ValueError("step must be nonzero")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {_text(start)} -> {_text(end)}")
    if (step > 0) != (end >= start) and end != start:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if kind.name == "int64":
        # In integers throughout: (end - start + step - sign) / step, truncated.
        first, last, stride = int(start), int(end), int(step)
        return max(0, -((first - last) // stride))
    return math.ceil((float(end) - float(start)) / float(step))


def _text(value: Any) -> str:
    return f"{value:g}"


def _progression(start: Any, step: Any, count: int, kind: dtype) -> Any:
    """start + i * step, computed in the accumulation type of the dtype."""
    target = kind.numpy
    if target.kind in "iu":
        steps = np.arange(count, dtype=np.int64)
        return (steps * int(step) + int(start)).astype(target)
    wide = np.dtype(np.float64)
    return (np.arange(count, dtype=wide) * float(step) + float(start)).astype(target)


def _resize_with_warning(out: Tensor, count: int) -> None:
    if out._data.size not in (0, count):
        import warnings

        warnings.warn(
            f"The number of elements in the out tensor of shape {list(out._data.shape)} is "
            f"{out._data.size} which does not match the computed number of elements {count}. Note "
            "that this may occur as a result of rounding error. The out tensor will be resized to "
            "a "
            f"tensor of shape ({count},).",
            UserWarning,
            stacklevel=4,
        )
