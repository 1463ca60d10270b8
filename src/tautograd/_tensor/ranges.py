"""Evenly spaced numbers: `arange`, `range`, `linspace`, `logspace`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays.dtypes import LEGACY_NAMES, dtype, float32, get_default_dtype, int64
from .._ops.declare.memory_overlap import refuse_overlap
from .._user_code.sites import warning_level
from .arguments import as_element, finish, number, place, require_strided, wanted_dtype
from .filled import check_kind_of_out, function, into
from .tensor import Tensor


def _invalid(name: str, args: tuple[Any, ...]) -> TypeError:
    got = ", ".join(type(a).__name__ for a in args)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected "
        f"{_EXPECTED[name]}"
    )


_EXPECTED = {
    "arange": "one of:\n * (Number end)\n * (Number start, Number end, Number step = 1)",
    "range": "(Number start, Number end, Number step = 1)",
    "linspace": "one of:\n * (Number start, Number end, int steps)",
    "logspace": "one of:\n * (Number start, Number end, int steps, float base = 10.0)",
}


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
    require_strided("arange", layout)
    given = _bounds("arange", args, start, end, step)
    start, end, step = given
    kind = wanted_dtype("arange", dtype)
    check_kind_of_out(out, kind)
    if kind is None:
        integral = not any(isinstance(v, float) for v in given)
        kind = out.dtype if out is not None else int64 if integral else get_default_dtype()
    if kind.is_complex or kind.name == "bool":
        raise _not_implemented("arange_cpu", kind)
    count = _count(start, end, step, kind)
    if count >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    values = _progression(start, step, count, kind)
    if out is not None:
        _resize_with_warning(out, count)
        _fill(out, values, "arange")
        return out  # type: ignore[no-any-return]
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


# How many numbers PyTorch's kernel computes at a time, by element size in bytes.
_LANES = {2: 16, 4: 8, 8: 4}


def _progression(start: Any, step: Any, count: int, kind: dtype) -> Any:
    """start + i * step, rounded where PyTorch's kernel rounds.

    It works in blocks: the first number of each is rounded to the dtype, the others are computed
    from it. What does not fill two blocks is computed number by number.
    """
    target = kind.numpy
    if target.kind in "iu":
        steps = np.arange(count, dtype=np.int64)
        return (steps * int(step) + int(start)).astype(target)
    first, stride = _wide(start, kind), _wide(step, kind)
    lanes = _LANES[kind.itemsize]
    blocked = count // (2 * lanes) * (2 * lanes)
    heads = _rounded(first + stride * np.arange(0, blocked, lanes), kind).astype(first.dtype)
    body = _rounded(heads[:, None] + stride * np.arange(lanes), kind).reshape(-1)
    tail = _rounded(first + stride * np.arange(blocked, count), kind)
    return np.concatenate([body, tail])


def _wide(value: Any, kind: dtype) -> Any:
    """A number in the precision in which the kernel computes: one rounding less than the dtype."""
    if kind.is_half:
        return np.float32(value)
    if kind.itemsize == 4:
        return np.float64(value)
    return np.longdouble(np.float64(value))


def _rounded(values: Any, kind: dtype) -> Any:
    if kind.is_half:  # multiplied and added in float32, which NumPy does not do for integers
        values = values.astype(np.float32)
    return values.astype(kind.numpy)


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
            stacklevel=warning_level(),
        )


@function
def range(
    *args: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from `start` to `end`, inclusive, in steps of `step`."""
    require_strided("range", layout)
    import warnings

    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values "
        "in [start, end).",
        UserWarning,
        stacklevel=warning_level(),
    )
    start, end, step = _bounds("range", args, start, end, step)
    kind = wanted_dtype("range", dtype) or (get_default_dtype() if out is None else out.dtype)
    if kind.is_complex or kind.name == "bool":
        raise _not_implemented("range_cpu", kind)
    _count(start, end, step, kind)  # for its errors
    if kind.numpy.kind in "iu" and int(step):
        start, end, step = int(start), int(end), int(step)
    count = math.floor((float(end) - float(start)) / float(step)) + 1
    values = _scalar_progression(start, step, count, kind)
    return _given(values, out, device, requires_grad, "range")


def _scalar_progression(start: Any, step: Any, count: int, kind: dtype) -> Any:
    if kind.numpy.kind in "iu":
        return (np.arange(count) * int(step) + int(start)).astype(kind.numpy)
    return (float(start) + float(step) * np.arange(count)).astype(kind.numpy)


def _fill(out: Tensor, values: Any, name: str) -> None:
    """Write to `out` in the order of its elements; if their number differs, it becomes a vector."""
    shape = tuple(out.shape) if out._data.size == values.size else values.shape
    if out._data.shape == shape:
        refuse_overlap(out._data)
    into(out, shape, name)[...] = values.reshape(shape)


def _given(values: Any, out: Any, device: Any, requires_grad: bool, name: str) -> Tensor:
    if out is not None:
        _fill(out, values, name)
        return out  # type: ignore[no-any-return]
    return finish(place(device).asarray(values), requires_grad)


# --- a number of steps between two ends -----------------------------------------------------------


def _ends(
    name: str, start: Any, end: Any, steps: Any, dtype: Any, layout: Any, out: Any
) -> tuple[Any, Any, int, Any]:
    """The two ends as numbers, how many numbers there are, and their dtype."""
    require_strided(name, layout)
    count = _steps(name, start, end, steps)
    start, end = number(name, start, "start", 1), number(name, end, "end", 2)
    kind = _kind(name, dtype, out, start, end)
    if kind.name == "bool" and count > 1:
        raise _not_implemented(f"{name}_cpu", kind)
    return start, end, count, kind


@function
def linspace(
    start: Any,
    end: Any,
    steps: Any = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, inclusive."""
    start, end, count, kind = _ends("linspace", start, end, steps, dtype, layout, out)
    return _given(_between(start, end, count, kind), out, device, requires_grad, "linspace")


@function
def logspace(
    start: Any,
    end: Any,
    steps: Any = None,
    base: Any = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` powers of `base`, from `base**start` to `base**end`, with evenly spaced exponents."""
    start, end, count, kind = _ends("logspace", start, end, steps, dtype, layout, out)
    with np.errstate(all="ignore"):
        if kind.numpy.kind in "iu":
            exponents = _between(start, end, count, kind, integral=False)
            values = np.power(np.float32(base), exponents).astype(kind.numpy)
        else:
            wide = float32 if kind.is_half else kind
            exponents = _between(start, end, count, wide)
            values = np.power(wide.numpy.type(base), exponents).astype(kind.numpy)
    return _given(values, out, device, requires_grad, "logspace")


def _steps(name: str, start: Any, end: Any, steps: Any) -> int:
    """The requested number of steps; ends that are tensors must hold a single number."""
    ends = {"start": start, "end": end}
    wide = {k: v.dim() for k, v in ends.items() if isinstance(v, Tensor) and v.dim()}
    others = [v for v in ends.values() if not isinstance(v, Tensor)]
    if wide and all(isinstance(v, (int, float, complex, np.generic)) for v in others):
        said = " and ".join(f"{name} with {rank} dimension(s)" for name, rank in wide.items())
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got {said}."
        )
    if isinstance(steps, (bool, float)) or not hasattr(steps, "__index__"):
        raise _invalid(name, tuple(v for v in (start, end, steps) if v is not None))
    count = steps.__index__()
    if count < 0:
        raise RuntimeError("number of steps must be non-negative")
    return int(count)


def _kind(name: str, dtype: Any, out: Any, *ends: Any) -> dtype:
    found = wanted_dtype(name, dtype)
    check_kind_of_out(out, found)
    if found is None:
        if out is not None and not any(isinstance(v, complex) for v in ends):
            return out.dtype  # type: ignore[no-any-return]
        if out is not None and not out.is_complex():
            raise RuntimeError(f"torch.{name}(): complex ends cannot be written to {out.dtype!r}")
        found = get_default_dtype() if out is None else out.dtype
        return found.to_complex() if any(isinstance(v, complex) for v in ends) else found
    if not found.is_complex and any(isinstance(v, complex) for v in ends):
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {get_default_dtype().to_complex()!r} can't be safely "
            "cast "
            f"to passed dtype {found!r}"
        )
    return found


def _between(start: Any, end: Any, count: int, kind: dtype, integral: bool = True) -> Any:
    """Evenly spaced numbers: the first half computed from the start, the second from the end."""
    target = kind.numpy
    if count < 2:
        return np.full(count, start).astype(target)
    ahead = np.arange(count // 2)
    behind = np.arange(count - count // 2 - 1, -1, -1)
    if target.kind in "iu":
        first, last = int(as_element(start, kind)), int(as_element(end, kind))
        if not integral:  # exponents of powers: single precision
            step: Any = np.float32(last - first) / np.float32(count - 1)
            low, high = first + step * ahead.astype("f4"), last - step * behind.astype("f4")
            return np.concatenate([low, high]).astype(np.float32)
        step = (float(last) - float(first)) / (count - 1)
        return np.concatenate([first + step * ahead, last - step * behind]).astype(target)
    if kind.is_half:
        return _between_halves(start, end, count, kind, ahead, behind)
    first, last = target.type(start), target.type(end)
    step = (last - first) / target.type(count - 1)
    if target.kind == "c":
        part = kind.to_real()
        parts = [_between(f(start), f(end), count, part) for f in (np.real, np.imag)]
        return (parts[0] + 1j * parts[1]).astype(target)
    # A fused multiply-add: a multiplication and an addition with one rounding.
    wide = np.longdouble if target.itemsize == 8 else np.float64
    low, high, by = wide(first), wide(last), wide(step)
    return np.concatenate([low + by * ahead, high - by * behind]).astype(target)


def _between_halves(start: Any, end: Any, count: int, kind: dtype, ahead: Any, behind: Any) -> Any:
    """Half precision rounds after every operation, the counter included."""

    def rounded(values: Any) -> Any:
        return np.asarray(values, np.float32).astype(kind.numpy).astype(np.float32)

    first, last = rounded(start), rounded(end)
    step = rounded(rounded(last - first) / rounded(count - 1))
    low = rounded(first + rounded(step * rounded(ahead)))
    high = rounded(last - rounded(step * rounded(behind)))
    return np.concatenate([low, high]).astype(kind.numpy)
