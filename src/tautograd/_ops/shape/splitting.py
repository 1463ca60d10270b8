"""One tensor as several views: split, chunk, unbind, tensor_split and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.room import room_for_parts
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.dims import require_int, wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.public import public
from ..declare.record import LINEAR, Op, unviewed
from ..declare.samples import Sample, T
from ..declare.shapes import ints
from .slices import slice_op, slice_view

_ALL = slice(None)


def _cut(x: Any, split_sizes: tuple[int, ...], dim: int) -> list[Any]:
    parts, start = [], 0
    for extent in split_sizes:
        parts.append(slice_op.forward(x, dim, start, start + extent, 1))
        start += extent
    return parts


def _equal_sizes(extent: int, size: int) -> tuple[int, ...]:
    """`extent` in pieces of `size`, the last one smaller if need be; nothing is one empty piece."""
    if not extent:
        return (0,)
    rest = extent % size
    return (size,) * (extent // size) + ((rest,) if rest else ())


def _joined(g: Any, dim: int) -> Any:
    return np.concatenate(g, dim)


split_op = Op(
    "split",
    lambda x, split_size, dim: _cut(x, _equal_sizes(x.shape[dim], split_size), dim),
    ("x",),
    vjp={"x": _joined},
    jvp=LINEAR,
    is_view=True,
    outputs=0,
    samples=lambda: [
        Sample(T(5, 2), 2),
        Sample(T(2, 4), 2, -1),
        Sample(T(0, 2), 3),
        Sample(T(3), 5),
        Sample(T(4, 3, layout="transposed"), 1, dim=1),
    ],
)
split_with_sizes_op = Op(
    "split_with_sizes",
    _cut,
    ("x",),
    vjp={"x": _joined},
    jvp=LINEAR,
    is_view=True,
    outputs=0,
    samples=lambda: [Sample(T(5, 2), [2, 3]), Sample(T(2, 4), (1, 0, 3), -1), Sample(T(0), [0])],
)
unbind_op = Op(
    "unbind",
    lambda x, dim: [x[(*(_ALL,) * dim, i, ...)] for i in range(x.shape[dim])],
    ("x",),
    vjp={"x": lambda g, dim: np.stack(g, dim)},
    jvp=LINEAR,
    is_view=True,
    outputs=0,
    samples=lambda: [Sample(T(3, 2)), Sample(T(2, 3), -1), Sample(T(2)), Sample(T(2, 0), dim=0)],
)


unsafe_split_op, unsafe_split_with_sizes_op = (
    unviewed(op, node)
    for op, node in (
        (split_op, "UnsafeSplitBackward0"),
        (split_with_sizes_op, "UnsafeSplitWithSizesBackward0"),
    )
)


@public(out=False)
def unbind(input: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views at every index of a dimension, as a tuple."""
    require_tensor("unbind", input)
    if not input._data.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = wrap_dim(dim, input._data.ndim, "unbind")
    parts: tuple[Tensor, ...] = apply(unbind_op, (input,), {"dim": dim})
    return parts


def _split_dim(input: Tensor, dim: Any, name: str) -> int:
    if not input._data.ndim:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    return wrap_dim(dim, input._data.ndim, name)


@public("split", method=False, out=False)
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `split_size` indices each (the last may be smaller), or of the sizes listed."""
    return _split(split_op, tensor, split_size_or_sections, dim)


def _split(op: Op, tensor: Any, split_size_or_sections: Any, dim: int) -> tuple[Tensor, ...]:
    require_tensor("split", tensor, "tensor")
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    try:
        size = require_int(split_size_or_sections, "split", "split_size")
    except TypeError:
        raise TypeError(
            "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not "
            f"{type(split_size_or_sections).__name__}"
        ) from None
    dim = _split_dim(tensor, dim, "split")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    extent = tensor._data.shape[dim]
    if size == 0 and extent:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {extent}"
        )
    views: tuple[Tensor, ...] = apply(op, (tensor,), {"split_size": size, "dim": dim})
    return views


@public("split", function=False, out=False)
def split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `split_size` indices each (the last may be smaller), or of the sizes listed."""
    return split(self, split_size, dim)


@public(out=False)
def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the sizes listed, one after the other along a dimension."""
    return _with_sizes(split_with_sizes_op, input, split_sizes, dim)


def _with_sizes(op: Op, input: Any, split_sizes: Any, dim: int) -> tuple[Tensor, ...]:
    require_tensor("split_with_sizes", input)
    sizes = ints("split_with_sizes", "split_sizes", (split_sizes,), {})
    dim = _split_dim(input, dim, "split_with_sizes")
    if any(size < 0 for size in sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(sizes)}"
        )
    extent = input._data.shape[dim]
    if sum(sizes) != extent:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's size "
            f"at dimension {dim}), but got split_sizes={list(sizes)}"
        )
    views: tuple[Tensor, ...] = apply(op, (input,), {"split_sizes": sizes, "dim": dim})
    return views


@public(out=False)
def chunk(input: Any, chunks: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of one size (the last may be smaller)."""
    return _chunk(split_op, split_with_sizes_op, input, chunks, dim)


def _chunk(by_size: Op, by_sizes: Op, input: Any, chunks: Any, dim: int) -> tuple[Tensor, ...]:
    require_tensor("chunk", input)
    dim = _split_dim(input, dim, "chunk")
    chunks = require_int(chunks, "chunk", "chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    extent = input._data.shape[dim]
    if not extent:
        return _with_sizes(by_sizes, input, (0,) * chunks, dim)
    return _split(by_size, input, -(-extent // chunks), dim)


@public(out=False)
def unsafe_split(input: Any, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` that does not watch the parts: changing one in place leaves the others' history."""
    return _split(unsafe_split_op, input, split_size, dim)


@public(out=False)
def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes` that does not watch the parts."""
    return _with_sizes(unsafe_split_with_sizes_op, input, split_sizes, dim)


@public(out=False)
def unsafe_chunk(input: Any, chunks: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk` that does not watch the parts."""
    return _chunk(unsafe_split_op, unsafe_split_with_sizes_op, input, chunks, dim)


def _at(input: Tensor, indices: tuple[int, ...], dim: int) -> tuple[Tensor, ...]:
    """Views between the given positions."""
    starts, ends = (0, *indices), (*indices, None)
    return tuple([slice_view(input, dim, a, b) for a, b in zip(starts, ends, strict=True)])


def _sections(input: Tensor, sections: int, dim: int) -> tuple[Tensor, ...]:
    """Views of nearly equal size, the larger ones first."""
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    room_for_parts(sections)
    size, larger = divmod(input._data.shape[dim], sections)
    positions = tuple([i * size + min(i, larger) for i in range(1, sections)])
    return _at(input, positions, dim)


def _is_cut(where: Any) -> bool:
    """Whether this can say where to cut: numbers, or how many parts."""
    return isinstance(where, (tuple, list, Tensor)) or hasattr(where, "__index__")


@public("tensor_split", out=False)
def tensor_split(input: Any, *where: Any, **given: Any) -> tuple[Tensor, ...]:
    """Views between the indices listed, or in a number of nearly equal sections."""
    require_tensor("tensor_split", input)
    options = dict(zip(("where", "dim"), where, strict=False)) | given
    for name in ("indices", "sections", "tensor_indices_or_sections"):
        if name in options:
            options["where"] = options.pop(name)
    wanted = options.get("where")
    if options.keys() - {"where", "dim"} or not _is_cut(wanted):
        shown = ", ".join(["Tensor", *[f"{k}={type(v).__name__}" for k, v in given.items()]])
        raise TypeError(
            f"tensor_split() received an invalid combination of arguments - got ({shown}), but "
            "expected one of:\n * (Tensor input, tuple of ints indices, int dim = 0)\n * (Tensor "
            "input, Tensor tensor_indices_or_sections, int dim = 0)\n * (Tensor input, int "
            "sections, int dim = 0)\n"
        )
    ndim = input._data.ndim
    if not ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    dim = wrap_dim(options.get("dim", 0), ndim, "tensor_split")
    if isinstance(wanted, Tensor):
        if wanted._data.dtype != np.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{LEGACY_NAMES[wanted.dtype]}"
            )
        if wanted._data.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {wanted._data.ndim} dims"
            )
        wanted = wanted._data.tolist()
    if isinstance(wanted, (tuple, list)):
        return _at(input, ints("tensor_split", "indices", (wanted,), {}), dim)
    return _sections(input, require_int(wanted, "tensor_split", "sections"), dim)


def _is_one_index(value: Any) -> bool:
    """A tensor of one integer is a list of indices to PyTorch, and a number only without dimensions."""
    if not isinstance(value, Tensor) or value._data.size != 1:
        return False
    return value._data.dtype.kind == "b" or (
        value._data.ndim > 0 and value._data.dtype.kind in "iu"
    )


def _along(name: str, least: int, dim_of: Any) -> None:
    """`hsplit`, `vsplit`, `dsplit`: `tensor_split` along a fixed dimension, into equal parts."""

    def cut(input: Any, *where: Any, **given: Any) -> tuple[Tensor, ...]:
        require_tensor(name, input)
        ndim = input._data.ndim
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                f"with {ndim} dimensions!"
            )
        if len(where) + len(given) != 1 or given.keys() - {"indices", "sections"}:
            raise TypeError(f"{name}() takes one argument: sections or indices")
        wanted = where[0] if where else next(iter(given.values()))
        dim = dim_of(ndim)
        if _is_one_index(wanted):
            wanted = (int(wanted.item()),)
        if isinstance(wanted, (tuple, list)):
            return _at(input, ints(name, "indices", (wanted,), {}), dim)
        sections, extent = require_int(wanted, name, "sections"), input._data.shape[dim]
        if sections == 0 or extent % sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the "
                f"dimension {extent} is not divisible by the split_size {sections}!"
            )
        return _sections(input, sections, dim)

    cut.__name__ = cut.__qualname__ = name
    cut.__doc__ = (
        f"Views cut along dimension {'1 (0 of a vector)' if least == 1 else least - 2 or 0}."
    )
    public(name, out=False)(cut)


_along("hsplit", 1, lambda ndim: 0 if ndim == 1 else 1)
_along("vsplit", 2, lambda ndim: 0)
_along("dsplit", 3, lambda ndim: 2)


@counterpart(np.split)
def _np_split(x: Tensor, where: Any, axis: int = 0) -> list[Tensor]:
    return list(tensor_split(x, list(where) if isinstance(where, tuple) else where, axis))
