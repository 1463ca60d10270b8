"""What reductions share: which axes, how a gradient finds its way back, and sums that stay exact.

A reduction's parameters are `dim`, a tuple of wrapped dimensions or None for all of them, and
`keepdim`. Its gradient arrives in the reduced shape; `restore` gives it the reduced dimensions back
as ones, so that it broadcasts against the input.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, as_dtype, from_numpy_dtype
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.dims import kept_shape, wrap_dim, wrap_dims
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.record import Op

INT64 = np.dtype(np.int64)
# Up to how many elements a gradient is repeated in memory.
_SMALL = 4096
_ALL = slice(None)
_PLAIN: Any = (np.ndarray, np.generic)


def axes_of(dim: Any, ndim: int, name: str | None = None) -> tuple[int, ...] | None:
    """Dimensions to reduce over; None, an empty sequence and 0-dim inputs mean everything."""
    if dim is None:
        return None
    if type(dim) is int and -ndim <= dim < ndim:
        return (dim if dim >= 0 else dim + ndim,)
    dims = wrap_dims(dim, ndim, name)
    return dims if dims and ndim else None


def axis_of(dim: Any, ndim: int, name: str | None = None) -> int:
    """The one dimension to work along."""
    return wrap_dim(dim, ndim, name)


def restore(g: Any, shape: tuple[int, ...], dim: tuple[int, ...] | None, keepdim: bool) -> Any:
    """A reduced array with its reduced dimensions back as ones."""
    if keepdim or dim is None:
        return g  # one element, or already of the right shape
    return np.reshape(g, kept_shape(shape, dim))


def spread(g: Any, shape: tuple[int, ...], dim: tuple[int, ...] | None, keepdim: bool) -> Any:
    """A reduced array, repeated over the input's shape."""
    if isinstance(g, _PLAIN) and math.prod(shape) <= _SMALL:
        out = np.empty(shape, g.dtype)  # far cheaper than a broadcast view, and free to be kept
        if dim is not None and not keepdim:
            g = g[tuple([None if d in dim else _ALL for d in range(len(shape))])]
        out[...] = g
        return out
    return np.broadcast_to(restore(g, shape, dim, keepdim), shape)


def count(shape: tuple[int, ...], dim: tuple[int, ...] | None) -> int:
    """How many elements each result is made of."""
    total = 1
    for d, n in enumerate(shape):
        if dim is None or d in dim:
            total *= n
    return total


def places_along(x: Any, n: int) -> Any:
    """0, 1, …, n - 1, in an array of the kind that x is."""
    return np.cumsum(np.ones_like(x, shape=(n,), dtype=np.int64)) - 1


def take_at(x: Any, indices: Any, dim: int, keepdim: bool) -> Any:
    """The elements of `x` at one index per line along `dim` (`indices` in the reduced shape)."""
    if not x.ndim:
        return x
    if not keepdim:
        indices = np.expand_dims(indices, dim)
    found = np.take_along_axis(x, indices, axis=dim)
    return found if keepdim else np.squeeze(found, axis=dim)


def place_at(g: Any, indices: Any, shape: tuple[int, ...], dim: int, keepdim: bool = True) -> Any:
    """Zeros of this shape with `g` at `indices` along `dim`: the transpose of taking from there."""
    from ..indexing.gathering import scatter_op

    if not shape:
        return g
    if not keepdim:
        g, indices = np.expand_dims(g, dim), np.expand_dims(indices, dim)
    return scatter_op(np.zeros_like(g, shape=shape), indices, g, dim=dim)


def reduce_with(
    op: Op, name: str, input: Any, parameters: dict[str, Any], dtype: Any = None
) -> Any:
    """Apply a record to one tensor, after the checks that every reduction makes.

    `dtype` is PyTorch's argument: what the input is cast to before the operation.
    """
    if not isinstance(input, Tensor):
        require_tensor(name, input)
    compute = None if dtype is None else as_dtype(dtype).numpy
    if op.refuses is not None:
        refuse(op, compute or input._data.dtype)
    return apply(op, (input,), parameters, compute)


def integer_result(input: Tensor, dtype: Any) -> Any:
    """The NumPy dtype to add up in: int64 for integers and bools, unless `dtype` says otherwise."""
    if dtype is None:
        return INT64 if input._data.dtype.kind in "biu" else None
    wanted = as_dtype(dtype).numpy
    return wanted if wanted.kind in "biu" else None


def spoken(input: Any) -> str:
    """A tensor's dtype as PyTorch's errors name it."""
    return LEGACY_NAMES[from_numpy_dtype(input._data.dtype)]


def no_empty_dims(name: str, shape: tuple[int, ...], dim: Any, error: type[Exception]) -> None:
    """Refuse to reduce nothing, for reductions without an identity."""
    if 0 not in shape:
        return
    if dim is None:
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
            + (error is RuntimeError) * " Specify the reduction dim with the 'dim' argument."
        )
    for d in (dim,) if isinstance(dim, int) else dim:
        if shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
