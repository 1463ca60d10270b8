"""Jacobians by finite differences: the reference that gradients are compared with.

All are arrays of (entries of the input, entries of the output). Where the function allows it, all
columns are computed at once, as a batch that hides in the arrays (`_arrays.batching.batched`). Such a
Jacobian is believed only if it agrees with one difference taken the plain way; otherwise, and where
the function looks at values or memory, one entry is done at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._arrays.batching.batched import BatchedArray, materialize
from ..._random import Generator
from ..._tensor.tensor import Tensor, make
from ..transforms.vmap import open_level
from .common import BATCH_ENTRIES, as_tuple, differentiable, direction, epsilon_of, unit

Function = Callable[..., Any]


def _entries(tensors: Sequence[Any]) -> list[Tensor]:
    """Outputs as new tensors, since the next call may write into the same memory."""
    return [make(np.copy(t._data)) for t in tensors]


def numerical(fn: Function, inputs: tuple[Any, ...], nr: int, eps: float) -> list[Any]:
    """Per output of `fn`, the Jacobian with respect to input `nr` by central differences.

    For a complex input this is the conjugate Wirtinger derivative, ds/dx + i ds/dy.
    """
    found = _all_differences(fn, inputs, nr, eps)
    if found is not None:
        return found
    x = inputs[nr]
    columns = [
        _complex_difference(fn, inputs, x, eps, index) for index in np.ndindex(x._data.shape)
    ]
    if not columns:
        outputs = as_tuple(fn(*inputs))
        return [np.zeros((0, o._data.size), _column_dtype(o, x)) for o in outputs]
    return [np.stack(column) for column in zip(*columns, strict=True)]


def _column_dtype(output: Tensor, x: Tensor) -> Any:
    return x._data.dtype if x._data.dtype.kind == "c" else output._data.dtype


def _complex_difference(fn: Function, inputs: Any, x: Tensor, eps: float, index: Any) -> list[Any]:
    if x._data.dtype.kind != "c":
        return _difference(fn, inputs, x, unit(x, index, eps), eps, index)
    real = _difference(fn, inputs, x, unit(x, index, eps), eps, index)
    imaginary = _difference(fn, inputs, x, unit(x, index, eps * 1j), eps, index)
    return [a + b * 1j for a, b in zip(real, imaginary, strict=True)]


def _difference(
    fn: Function, inputs: Any, x: Tensor, step: Any, eps: float, index: Any = None
) -> list[Any]:
    """`(fn(x + step) − fn(x − step)) / 2 eps`, with x changed in place where it is."""
    original = np.copy(x._data)
    try:
        np.copyto(x._data, original - step)
        below = _entries(as_tuple(fn(*inputs)))
        np.copyto(x._data, original + step)
        above = _entries(as_tuple(fn(*inputs)))
    finally:
        np.copyto(x._data, original)
    for a, b in zip(below, above, strict=True):
        _check_alike(a, b, eps, index)
    return [
        np.reshape((b._data - a._data) / (2 * eps), -1)
        if differentiable(a)
        else np.zeros(a._data.size)
        for a, b in zip(below, above, strict=True)
    ]


def _check_alike(a: Tensor, b: Tensor, eps: float, index: Any) -> None:
    where = f"on index {index} " if index is not None else ""
    for what, one, other in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
        if one != other:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed "
                f"{where}by {eps}, but got: {what}s {one} and {other}."
            )


def along(fn: Function, inputs: tuple[Any, ...], nr: int, u: Any, eps: float) -> list[Any]:
    """Per output, the derivative along `u`.

    For a complex input u is a pair, and the result ds/dx · u0 + i ds/dy · u1.
    """
    x = inputs[nr]
    if isinstance(u, tuple):
        real = _difference(fn, inputs, x, np.reshape(u[0] * eps, x._data.shape), eps)
        imaginary = _difference(fn, inputs, x, np.reshape(u[1] * (eps * 1j), x._data.shape), eps)
        return [a + b * 1j for a, b in zip(real, imaginary, strict=True)]
    return _difference(fn, inputs, x, np.reshape(u * eps, x._data.shape), eps)


def _all_differences(
    fn: Function, inputs: tuple[Any, ...], nr: int, eps: float
) -> list[Any] | None:
    """Every column at once; None if the function does not allow it."""
    x = inputs[nr]
    size = x._data.size
    if size < 2 or type(x._data) is not np.ndarray:
        return None
    steps = (eps, eps * 1j) if x._data.dtype.kind == "c" else (eps,)
    part = max(1, BATCH_ENTRIES // (2 * size))
    try:
        pieces = [
            _part_of_differences(fn, inputs, x, steps, eps, start, min(start + part, size))
            for start in range(0, size, part)
        ]
        jacobians = [np.concatenate(column) for column in zip(*pieces, strict=True)]
        u = direction((size,), Generator(), x._data.real.dtype)
        plain = along(fn, inputs, nr, (u, u) if len(steps) == 2 else u, eps)
    except Exception:
        return None  # done one by one, it will raise again if it was the function's fault
    for jacobian, expected in zip(jacobians, plain, strict=True):
        if not _agree(u @ jacobian, expected, scale=eps):
            return None
    return jacobians


def _agree(product: Any, expected: Any, scale: float) -> bool:
    """Equal but for rounding, which a difference quotient magnifies by 1 / scale."""
    if expected.size == 0:
        return True
    largest = max(float(np.max(np.abs(expected))), 1.0)
    tolerance = max(1e-5, 64 * epsilon_of(expected) / scale if scale else np.inf) * largest
    return bool(np.all(np.abs(product - expected) <= tolerance))


def _part_of_differences(
    fn: Function, inputs: Any, x: Tensor, steps: Any, eps: float, start: int, stop: int
) -> list[Any]:
    held = x._data
    count = stop - start
    batch = np.broadcast_to(np.reshape(held, -1), (2 * len(steps), count, held.size)).copy()
    diagonal = np.arange(count)
    for k, step in enumerate(steps):
        batch[2 * k, diagonal, diagonal + start] -= step
        batch[2 * k + 1, diagonal, diagonal + start] += step
    total = 2 * len(steps) * count
    with open_level(total) as level:
        try:
            x._data = BatchedArray(batch.reshape(total, *held.shape), level.number)
            outputs = as_tuple(fn(*inputs))
        finally:
            x._data = held
        values = [materialize(o._data, level.number, total) for o in outputs]
    jacobians = []
    for value in values:
        if value.dtype.kind not in "fcV":
            jacobians.append(np.zeros((count, int(np.prod(value.shape[1:])))))
            continue
        value = np.reshape(value, (2 * len(steps), count, -1))
        column = (value[1] - value[0]) / (2 * eps)
        jacobians.append(
            column if len(steps) == 1 else column + 1j * ((value[3] - value[2]) / (2 * eps))
        )
    return jacobians
