"""Jacobians by reverse mode and by forward mode: what is being checked.

As with the differences, all rows (or columns) go through at once where the function allows it, and
are believed only if they agree with one product computed the plain way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.batching.batched import BatchedArray, materialize
from ..._random import Generator
from ..._tensor.tensor import Tensor, make
from ..api import grad
from ..backward_pass.engine import run_backward
from ..forward_ad import dual_level, make_dual, unpack_dual
from ..transforms.vmap import open_level
from ..views import detached
from .common import BATCH_ENTRIES, as_tuple, differentiable, direction, epsilon_of, unit

Function = Callable[..., Any]

# --- reverse mode --------------------------------------------------------------------------------


def by_reverse(output: Tensor, inputs: list[Tensor]) -> tuple[list[Any], tuple[Any, ...]]:
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
    close = np.abs(product[finite] - flat[finite]) <= 1e4 * epsilon_of(flat) * largest
    return bool(close.all()) and bool(finite.all())


def _as_columns(rows: Any, x: Tensor) -> Any:
    return np.transpose(np.reshape(rows, (rows.shape[0], -1 if rows.shape[0] else x._data.size)))


def vector_times(output: Tensor, inputs: list[Tensor], v: Tensor) -> tuple[Any, ...]:
    found: tuple[Any, ...] = grad(output, inputs, v, retain_graph=True, allow_unused=True)
    return found


def _all_rows(output: Tensor, inputs: list[Tensor]) -> list[Any] | None:
    size = output._data.size
    if size < 2:
        return None
    widest = max(x._data.size for x in inputs)
    part = max(1, BATCH_ENTRIES // max(widest, size))
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
        found = vector_times(output, inputs, make(unit(output, index, 1)))
        for row, g, x in zip(rows, found, inputs, strict=True):
            row.append(np.zeros_like(x._data) if g is None else g._data)
    return [
        np.stack(row) if row else np.zeros((0, *x._data.shape), x._data.dtype)
        for row, x in zip(rows, inputs, strict=True)
    ]


# --- forward mode --------------------------------------------------------------------------------


def by_forward(fn: Function, inputs: tuple[Any, ...], nr: int) -> list[Any]:
    """Per differentiable output of `fn`, its Jacobian with respect to input `nr`."""
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
        tangents_along(fn, inputs, {nr: unit(x, index, 1)}) for index in np.ndindex(x._data.shape)
    ]
    if not columns:
        return [np.zeros((0, p.size), p.dtype) for p in plain]
    return [np.stack([np.reshape(t, -1) for t in column]) for column in zip(*columns, strict=True)]


def tangents_along(fn: Function, inputs: tuple[Any, ...], tangents: dict[int, Any]) -> list[Any]:
    """Tangents of the differentiable outputs, zeros where there is none."""
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
    if size < 2 or size * size > BATCH_ENTRIES:
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
