"""Several tensors as one: cat, stack and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.formats import empty_in_order, order_of
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.promotion import common_dtype
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.shapes import tensor_list
from .rearranging import suggested_format
from .slices import select_op, slice_op
from .squeeze import atleast_1d, atleast_2d, atleast_3d
from .views import reshape_to


def _counts(shape: tuple[int, ...]) -> bool:
    """Whether a shape takes part in `cat`: a vector without elements may stand anywhere."""
    return len(shape) != 1 or bool(shape[0])


def _plain(tensors: tuple[Any, ...]) -> bool:
    """Whether NumPy's own `concatenate` lays the result out as PyTorch does."""
    for x in tensors:
        if type(x) is not np.ndarray or not x.size or not x.flags.c_contiguous:
            return False
    return True


def _cat(*tensors: Any, dim: int) -> Any:
    if _plain(tensors):
        return np.concatenate(tensors, dim)
    tensors = tuple([x for x in tensors if _counts(x.shape)]) or tensors
    first = tensors[0]
    shape = list(first.shape)
    shape[dim] = sum(x.shape[dim] for x in tensors)
    if len(shape) in (4, 5) and type(first) is np.ndarray and not first.flags.c_contiguous:
        wanted = {suggested_format(x) for x in tensors}
        order = order_of(shape, wanted.pop()) if len(wanted) == 1 else range(len(shape))
        out = empty_in_order(first, shape, tuple(order), None)
    else:
        out = np.empty_like(first, shape=tuple(shape), order="C")
    return np.concatenate(tensors, dim, out=out)


def _cat_vjp(g: Any, tensors_shape: Any, needs: Any, dim: int) -> Any:
    grads, start = [], 0
    for shape, need in zip(tensors_shape, needs, strict=True):
        if not _counts(shape):
            grads.append(np.zeros_like(g, shape=shape) if need else None)
            continue
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
        Sample([T(0), T(2, 3, seed=1)], 1),
        Sample([T(2, 3, layout="transposed"), T(2, 3, layout="transposed", seed=1)], dim=1),
        Sample([T(0, 3), T(0, 3)]),
    ],
)


def _stack(*tensors: Any, dim: int) -> Any:
    first = tensors[0]
    if _plain(tensors):
        shape = (*first.shape[:dim], 1, *first.shape[dim:])
        return np.concatenate([x.reshape(shape) for x in tensors], dim)
    if dim < first.ndim and all(type(x) is np.ndarray and x.size for x in tensors):
        shape = (*first.shape[:dim], len(tensors), *first.shape[dim:])
        return np.reshape(_cat(*tensors, dim=dim), shape)  # a dimension split in two: a view
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
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    ndim = max(x._data.ndim for x in tensors)
    if ndim == 1 and all(x._data.shape == (0,) for x in tensors):
        dim = 0  # PyTorch leaves these out, and has then nothing to count dimensions of
    dim = wrap_dim(dim, ndim, "cat")
    first = next((x._data.shape for x in tensors if _counts(x._data.shape)), (0,))
    for i, x in enumerate(tensors):
        shape = x._data.shape
        if shape == first and shape:
            continue
        if not shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
        if not _counts(shape):
            continue
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for d, (m, n) in enumerate(zip(first, shape, strict=True)):
            if m != n and d != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {m} but "
                    f"got size {n} for tensor number {i} in the list."
                )
    return _join(cat_op, tensors, dim)


@public(method=False)
def stack(tensors: Any, dim: Any = 0) -> Tensor:
    """Tensors of one shape side by side along a new dimension."""
    tensors = tensor_list("stack", tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tuple(tensors[0]._data.shape)
    dim = wrap_dim(dim, len(first) + 1, "stack")
    for i, x in enumerate(tensors):
        if tuple(x._data.shape) != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(x._data.shape)} at entry {i}"
            )
    return _join(stack_op, tensors, dim)


counterpart(np.concatenate)(lambda arrays, axis=0: cat(tuple(arrays), axis))
counterpart(np.stack)(lambda arrays, axis=0: stack(tuple(arrays), axis))

# --- by NumPy's names -----------------------------------------------------------------------------


def _stacked(name: str, tensors: Any) -> tuple[Tensor, ...]:
    found = tensor_list(name, tensors)
    if not found:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return found


@public(method=False)
def hstack(tensors: Any) -> Tensor:
    """Tensors side by side: along dimension 1, or 0 for vectors."""
    widened = atleast_1d(_stacked("hstack", tensors))
    return cat(widened, 0 if widened[0]._data.ndim == 1 else 1)


@public(method=False, aliases=("row_stack",))
def vstack(tensors: Any) -> Tensor:
    """Tensors below each other: along dimension 0, vectors as rows."""
    return cat(atleast_2d(_stacked("vstack", tensors)), 0)


@public(method=False)
def dstack(tensors: Any) -> Tensor:
    """Tensors behind each other: along dimension 2."""
    return cat(atleast_3d(_stacked("dstack", tensors)), 2)


@public(method=False)
def column_stack(tensors: Any) -> Tensor:
    """Tensors side by side, vectors as columns."""
    found = _stacked("column_stack", tensors)
    return cat([reshape_to(x, (x._data.size, 1)) if x._data.ndim <= 1 else x for x in found], 1)
