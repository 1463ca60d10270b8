"""Tensors from combinations of others: meshgrid, cartesian_prod, combinations, block_diag."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level
from ..declare.promotion import common_dtype
from ..declare.public import FUNCTIONS, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.shapes import tensor_list
from .broadcasting import expand_to
from .joining import stack
from .views import flatten, view_to


def _as_blocks(x: Any) -> tuple[int, int]:
    """A matrix's shape; a vector counts as a row, a number as one element."""
    return (1, 1) if not x else (1, x[0]) if len(x) == 1 else (x[0], x[1])


def _block_diag(*tensors: Any) -> Any:
    blocks = [_as_blocks(x.shape) for x in tensors]
    shape = (sum(rows for rows, _ in blocks), sum(columns for _, columns in blocks))
    if any(type(x) is not np.ndarray for x in tensors):
        return _rows_of_blocks(tensors, blocks, shape[1])
    out = np.zeros_like(tensors[0], shape=shape, order="C")
    row = column = 0
    for x, (rows, columns) in zip(tensors, blocks, strict=True):
        np.copyto(out[row : row + rows, column : column + columns], np.reshape(x, (rows, columns)))
        row, column = row + rows, column + columns
    return out


def _rows_of_blocks(tensors: Any, blocks: list[tuple[int, int]], width: int) -> Any:
    """The same, joined together, for arrays that may not be written to."""
    lines, column = [], 0
    for x, (rows, columns) in zip(tensors, blocks, strict=True):
        left = np.zeros_like(x, shape=(rows, column))
        right = np.zeros_like(x, shape=(rows, width - column - columns))
        lines.append(np.concatenate((left, np.reshape(x, (rows, columns)), right), 1))
        column += columns
    return np.concatenate(lines, 0)


def _blocks_of(g: Any, tensors_shape: Any, needs: Any) -> Any:
    grads, row, column = [], 0, 0
    for shape, need in zip(tensors_shape, needs, strict=True):
        rows, columns = _as_blocks(shape)
        block = g[row : row + rows, column : column + columns]
        grads.append(np.reshape(block, shape) if need else None)
        row, column = row + rows, column + columns
    return grads


block_diag_op = Op(
    "block_diag",
    _block_diag,
    ("tensors",),
    vjp=_blocks_of,
    jvp=LINEAR,
    opmath=False,
    variadic=True,
    samples=lambda: [
        Sample(T(2, 3), T(1, 2, seed=1)),
        Sample(T(2, 2), T(3, seed=1), T(seed=2)),
        Sample(T(0, 2), T(1, 1, seed=1)),
    ],
)


@public(method=False, out=False)
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
    found = tensor_list("block_diag", tensors)
    for i, x in enumerate(found):
        if x._data.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{i} has {x._data.ndim} dimensions"
            )
    if not found:
        empty: Tensor = FUNCTIONS["zeros"](1, 0)
        return empty
    compute = common_dtype(found).numpy
    result: Tensor = apply(
        block_diag_op, found, {}, None if all(x._data.dtype == compute for x in found) else compute
    )
    return result


@public(method=False, out=False)
def meshgrid(*tensors: Any, indexing: Any = None) -> tuple[Tensor, ...]:
    """Views of vectors as the coordinates of a grid, in matrix ("ij") or image ("xy") order."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    found = tensor_list("meshgrid", tensors)
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
            UserWarning,
            stacklevel=warning_level(),
        )
        indexing = "ij"
    if not found:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for x in found:
        if x._data.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}"
            )
        if x._data.dtype != found[0]._data.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    swap = indexing == "xy" and len(found) >= 2
    if swap:
        found = (found[1], found[0], *found[2:])
    shape = tuple([x._data.size for x in found])
    grids = []
    for i, x in enumerate(found):
        extents = (*(1,) * i, x._data.size, *(1,) * (len(found) - 1 - i))
        grids.append(expand_to(view_to(x, extents), shape))
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


def _vector(x: Tensor) -> None:
    if x._data.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._data.shape)}")


@public(method=False, out=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element of each vector, as rows."""
    found = tensor_list("cartesian_prod", tensors)
    for x in found:
        _vector(x)
    if len(found) == 1:
        return found[0]
    return stack([flatten(grid) for grid in meshgrid(*found, indexing="ij")], 1)


@public(out=False)
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose `r` elements of a vector, in order, as rows."""
    _vector(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        none: Tensor = input.new_empty(0)  # of its layout, too
        return none
    count = input._data.shape[0]
    numbers = np.arange(count)
    chosen = np.ones((count,) * r, np.bool_)
    for i in range(r - 1):
        # Each index must come after the one before it (or be the same).
        earlier = numbers.reshape((*(1,) * i, count, *(1,) * (r - 1 - i)))
        later = numbers.reshape((*(1,) * (i + 1), count, *(1,) * (r - 2 - i)))
        chosen &= earlier <= later if with_replacement else earlier < later
    mask = make(chosen)
    grids = meshgrid(*(input,) * r, indexing="ij")
    return stack([FUNCTIONS["masked_select"](grid, mask) for grid in grids], 1)
