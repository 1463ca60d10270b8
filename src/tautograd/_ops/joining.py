"""Several tensors as one: cat, stack and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._autograd.lifted import counterpart
from .._tensor.tensor import Tensor
from .dims import wrap_dim
from .parts import select_op, slice_op
from .promotion import common_dtype
from .public import public
from .record import LINEAR, Op
from .samples import Sample, T
from .shapes import tensor_list


def _cat(*tensors: Any, dim: int) -> Any:
    first = tensors[0]
    shape = list(first.shape)
    shape[dim] = sum(x.shape[dim] for x in tensors)
    out = np.empty_like(first, shape=tuple(shape), order="C")
    return np.concatenate(tensors, dim, out=out)


def _cat_vjp(g: Any, tensors_shape: Any, needs: Any, dim: int) -> Any:
    grads, start = [], 0
    for shape, need in zip(tensors_shape, needs, strict=True):
        end = start + shape[dim]
        grads.append(slice_op(g, dim=dim, start=start, end=end, step=1) if need else None)
        start = end
    return grads


cat_op = Op(
    "cat",
    _cat,
    ("tensors",),
    vjp=_cat_vjp,
    jvp=LINEAR,
    opmath=False,
    variadic=True,
    samples=lambda: [
        Sample([T(2, 3), T(1, 3, seed=1)]),
        Sample([T(2, 3), T(2, 1, seed=1), T(2, 2, seed=2)], -1),
        Sample([T(2), T(0, seed=1)]),
        Sample([T(2, 3, layout="transposed"), T(2, 3, layout="transposed", seed=1)], dim=1),
        Sample([T(0, 3), T(0, 3)]),
    ],
)


def _stack(*tensors: Any, dim: int) -> Any:
    first = tensors[0]
    shape = (*first.shape[:dim], len(tensors), *first.shape[dim:])
    out = np.empty_like(first, shape=shape, order="C")
    return np.stack(tensors, dim, out=out)


stack_op = Op(
    "stack",
    _stack,
    ("tensors",),
    vjp=lambda g, needs, dim: [
        select_op(g, dim=dim, index=i) if need else None for i, need in enumerate(needs)
    ],
    jvp=LINEAR,
    opmath=False,
    variadic=True,
    samples=lambda: [
        Sample([T(2, 3), T(2, 3, seed=1)]),
        Sample([T(2, 3), T(2, 3, seed=1), T(2, 3, seed=2)], -1),
        Sample([T(), T(seed=1)]),
        Sample([T(0, 2), T(0, 2)], dim=1),
        Sample([T(2, 3, layout="transposed"), T(2, 3, seed=1)], 1),
    ],
)


def _join(op: Op, tensors: tuple[Tensor, ...], dim: int) -> Tensor:
    """Run after promoting to one dtype where they differ."""
    first = tensors[0]._data.dtype
    compute = None
    for x in tensors:
        if x._data.dtype != first:
            compute = common_dtype(tensors).numpy
            break
    result: Tensor = apply(op, tensors, {"dim": dim}, compute)
    return result


@public(method=False, aliases=("concat", "concatenate"))
def cat(tensors: Any, dim: Any = 0) -> Tensor:
    """Tensors one after the other along an existing dimension."""
    tensors = tensor_list("cat", tensors)
    if not tensors:
        raise ValueError("expected a non-empty list of Tensors")
    ndim = max(x._data.ndim for x in tensors)
    dim = wrap_dim(dim, ndim, "cat")
    # A 1-D tensor without elements may stand anywhere in the list.
    full = tuple([x for x in tensors if x._data.ndim != 1 or x._data.shape[0]]) or tensors[:1]
    first = full[0]._data.shape
    for i, x in enumerate(tensors):
        shape = x._data.shape
        if not shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
        if shape == (0,):
            continue
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for d, (m, n) in enumerate(zip(first, shape, strict=True)):
            if m != n and d != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {m} but got "
                    f"size {n} for tensor number {i} in the list."
                )
    return _join(cat_op, full, dim)


@public(method=False)
def stack(tensors: Any, dim: Any = 0) -> Tensor:
    """Tensors of one shape side by side along a new dimension."""
    tensors = tensor_list("stack", tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._data.shape
    dim = wrap_dim(dim, len(first) + 1, "stack")
    for i, x in enumerate(tensors):
        if x._data.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(x._data.shape)} at entry {i}"
            )
    return _join(stack_op, tensors, dim)


counterpart(np.concatenate)(lambda arrays, axis=0: cat(tuple(arrays), axis))
counterpart(np.stack)(lambda arrays, axis=0: stack(tuple(arrays), axis))
