"""Jacobians for `gradcheck`: by finite differences, by reverse mode, by forward mode.

All are arrays of (entries of the input, entries of the output). Where the function allows it, all
columns are computed at once, as a batch that hides in the arrays (`_arrays.batched`). Such a
Jacobian is believed only if it agrees with one product computed the plain way; otherwise, and
where the function looks at values or memory, one entry is done at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays.batched import BatchedArray, materialize
from .._random import Generator, uniform
from .._tensor.tensor import Tensor, make
from .api import grad
from .engine import run_backward
from .forward_ad import dual_level, make_dual, unpack_dual
from .views import detached
from .vmap import open_level

Function = Callable[..., Any]

# A batch holds one whole input per column; larger ones are done in parts.
_BATCH_ENTRIES = 1 << 22


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value._data.dtype.kind in "fcV"


def direction(shape: Any, generator: Generator, dtype: Any = np.float64) -> Any:
    """A random vector of length 1 without negative entries."""
    size = int(np.prod(shape))
    vector = np.astype(uniform(generator, (size,), dtype=np.dtype(np.float32)), dtype)
    return vector / (np.linalg.norm(vector) or 1)


def entries(tensors: Sequence[Any]) -> list[Tensor]:
    """Outputs as new tensors, since the next call may write into the same memory."""
    return [make(np.copy(t._data)) for t in tensors]


# --- finite differences --------------------------------------------------------------------------


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
        return _difference(fn, inputs, x, _unit(x, index, eps), eps, index)
    real = _difference(fn, inputs, x, _unit(x, index, eps), eps, index)
    imaginary = _difference(fn, inputs, x, _unit(x, index, eps * 1j), eps, index)
    return [a + b * 1j for a, b in zip(real, imaginary, strict=True)]


def _unit(x: Tensor, index: Any, amount: Any) -> Any:
    step = np.zeros_like(x._data)
    step[index] = amount
    return step


def _difference(
    fn: Function, inputs: Any, x: Tensor, step: Any, eps: float, index: Any = None
) -> list[Any]:
    """`(fn(x + step) − fn(x − step)) / 2 eps`, with x changed in place where it is."""
    original = np.copy(x._data)
    try:
        np.copyto(x._data, original - step)
        below = entries(as_tuple(fn(*inputs)))
        np.copyto(x._data, original + step)
        above = entries(as_tuple(fn(*inputs)))
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
    """Per output, the derivative along `u` (two of them for a complex input: ds/dx · u0 + i ds/dy · u1)."""
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
    part = max(1, _BATCH_ENTRIES // (2 * size))
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
    unit = float(np.finfo(expected.real.dtype).eps) if expected.dtype.kind in "fc" else 1e-3
    tolerance = max(1e-5, 64 * unit / scale) * largest
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


# --- reverse mode --------------------------------------------------------------------------------


def by_reverse(output: Tensor, inputs: list[Tensor]) -> tuple[list[Any], list[Any]]:
    """Per input its Jacobian (zeros where unused), and the gradient of one backward (or None)."""
    generator = Generator()
    v = np.reshape(direction(output._data.shape, generator, output._data.dtype), output._data.shape)
    plain = vector_times(output, inputs, make(v))
    rows = _all_rows(output, inputs)
    if rows is not None:
        for row, expected in zip(rows, plain, strict=True):
            if expected is None:
                continue
            product = np.tensordot(v.reshape(-1), row.reshape(v.size, -1), 1)
            if not _same_to_rounding(product, expected._data):
                rows = None
                break
    if rows is None:
        rows = _row_by_row(output, inputs)
    return [_as_columns(r, x) for r, x in zip(rows, inputs, strict=True)], plain


def _same_to_rounding(product: Any, expected: Any) -> bool:
    flat = np.reshape(expected, -1)
    if flat.shape != product.shape:
        return False
    finite = np.isfinite(flat)
    largest = max(float(np.max(np.abs(flat[finite]))), 1.0) if finite.any() else 1.0
    close = np.abs(product[finite] - flat[finite]) <= 1e4 * np.finfo(flat.real.dtype).eps * largest
    return bool(close.all()) and bool(finite.all())


def _as_columns(rows: Any, x: Tensor) -> Any:
    return np.transpose(np.reshape(rows, (rows.shape[0], -1 if rows.shape[0] else x._data.size)))


def vector_times(output: Tensor, inputs: list[Tensor], v: Tensor) -> tuple[Any, ...]:
    return grad(output, inputs, v, retain_graph=True, allow_unused=True)


def _all_rows(output: Tensor, inputs: list[Tensor]) -> list[Any] | None:
    size = output._data.size
    if size < 2:
        return None
    widest = max(x._data.size for x in inputs)
    part = max(1, _BATCH_ENTRIES // max(widest, size))
    try:
        pieces = [
            _part_of_rows(output, inputs, s, min(s + part, size)) for s in range(0, size, part)
        ]
    except Exception:
        return None
    return [np.concatenate(column) for column in zip(*pieces, strict=True)]


def _part_of_rows(output: Tensor, inputs: list[Tensor], start: int, stop: int) -> list[Any]:
    count = stop - start
    basis = np.zeros((count, output._data.size), output._data.dtype)
    basis[np.arange(count), np.arange(start, stop)] = 1
    with open_level(count) as level:
        cotangent = make(BatchedArray(basis.reshape(count, *output._data.shape), level.number))
        found = run_backward(
            [output],
            [cotangent],
            retain_graph=True,
            create_graph=False,
            inputs=inputs,
            accumulate=False,
        )
        assert found is not None
        return [
            np.zeros((count, *x._data.shape), x._data.dtype)
            if g is None
            else np.copy(materialize(g, level.number, count))
            for g, x in zip(found, inputs, strict=True)
        ]


def _row_by_row(output: Tensor, inputs: list[Tensor]) -> list[Any]:
    rows: list[list[Any]] = [[] for _ in inputs]
    for index in np.ndindex(output._data.shape):
        found = vector_times(output, inputs, make(_unit(output, index, 1)))
        for row, g, x in zip(rows, found, inputs, strict=True):
            row.append(np.zeros_like(x._data) if g is None else g._data)
    return [
        np.stack(row) if row else np.zeros((0, *x._data.shape), x._data.dtype)
        for row, x in zip(rows, inputs, strict=True)
    ]


# --- forward mode --------------------------------------------------------------------------------


def by_forward(fn: Function, inputs: tuple[Any, ...], nr: int) -> list[Any]:
    """Per differentiable output of `fn`, the Jacobian with respect to input `nr` by forward mode."""
    x = inputs[nr]
    size = x._data.size
    u = direction((size,), Generator(), x._data.dtype)
    plain = tangents_along(fn, inputs, {nr: np.reshape(u, x._data.shape)})
    found = _all_tangents(fn, inputs, nr)
    if found is not None and all(
        _same_to_rounding(u @ jacobian, np.reshape(expected, -1))
        for jacobian, expected in zip(found, plain, strict=True)
    ):
        return found
    columns = [
        tangents_along(fn, inputs, {nr: _unit(x, index, 1)}) for index in np.ndindex(x._data.shape)
    ]
    if not columns:
        return [np.zeros((0, p.size), p.dtype) for p in plain]
    return [np.stack([np.reshape(t, -1) for t in column]) for column in zip(*columns, strict=True)]


def tangents_along(fn: Function, inputs: tuple[Any, ...], tangents: dict[int, Any]) -> list[Any]:
    """Tangents of the differentiable outputs (zeros where there is none) along those of the inputs."""
    with dual_level():
        return [
            np.zeros_like(primal._data) if tangent is None else np.copy(tangent._data)
            for primal, tangent in _dual_outputs(fn, inputs, tangents)
        ]


def _dual_outputs(fn: Function, inputs: tuple[Any, ...], tangents: dict[int, Any]) -> list[Any]:
    duals = []
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            duals.append(x)
        elif i in tangents:
            duals.append(make_dual(detached(x), make(tangents[i])))
        else:
            duals.append(detached(x))
    return [unpack_dual(o) for o in as_tuple(fn(*duals)) if differentiable(o)]


def _all_tangents(fn: Function, inputs: tuple[Any, ...], nr: int) -> list[Any] | None:
    x = inputs[nr]
    size = x._data.size
    if size < 2 or size * size > _BATCH_ENTRIES:
        return None
    basis = np.reshape(np.eye(size, dtype=x._data.dtype), (size, *x._data.shape))
    try:
        with open_level(size) as level, dual_level():
            pairs = _dual_outputs(fn, inputs, {nr: BatchedArray(basis, level.number)})
            return [
                np.zeros((size, p._data.size), p._data.dtype)
                if t is None
                else np.reshape(materialize(t._data, level.number, size), (size, -1))
                for p, t in pairs
            ]
    except Exception:
        return None
