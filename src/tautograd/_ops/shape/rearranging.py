"""Copies with the elements in other places: clone, flip, roll, repeat and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    empty_preserving,
    order_of,
    preserve_format,
)
from ..._arrays.formats import memory_format as memory_format_type
from ..._arrays.result_layout import as_channels, is_laid_out
from ..._arrays.strided import lies_in, prefers, with_strides_of
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.dims import require_int, wrap_dim, wrap_dims
from ..declare.elementwise_calls import require_tensor
from ..declare.guarding import explain, marked
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.shapes import ints


def copy_as(x: Any, memory_format: Any) -> Any:
    """A copy whose dimensions lie in memory as the format asks."""
    if memory_format is contiguous_format or (type(x) is not np.ndarray and not is_laid_out(x)):
        return np.copy(x, order="C")
    if memory_format is preserve_format and x.flags.c_contiguous:
        return with_strides_of(np.copy(x), x)
    out = empty_preserving(x, wanted=memory_format)
    np.copyto(out, x)
    return with_strides_of(out, x) if memory_format is preserve_format else out


def suggested_format(array: Any) -> Any:
    """The memory format that an array's strides speak for."""
    for rank, wanted in ((4, channels_last), (5, channels_last_3d)):
        if array.ndim == rank and prefers(array, order_of(array.shape, wanted)):
            return wanted
    return contiguous_format


def is_contiguous_in(array: Any, wanted: Any) -> bool:
    """Whether an array is dense in a memory format."""
    flags = getattr(array, "flags", None)
    if flags is None:
        return True
    if wanted in (channels_last, channels_last_3d):
        rank = 4 if wanted is channels_last else 5
        return array.ndim == rank and lies_in(array, order_of(array.shape, wanted))
    found: bool = flags.c_contiguous
    return found


def require_format(name: str, value: Any) -> None:
    if not isinstance(value, memory_format_type):
        raise TypeError(
            f"{name}(): argument 'memory_format' must be torch.memory_format, not "
            f"{type(value).__name__}"
        )


clone_op = Op(
    "clone",
    copy_as,
    ("x",),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3)),
        Sample(T()),
        Sample(T(0, 2)),
        Sample(T(2, 3, layout="transposed")),
        Sample(T(2, 3, layout="strided")),
        Sample(T(2, 3, layout="expanded")),
    ],
)


@public(out=False)
@marked
def clone(input: Any, *, memory_format: Any = None) -> Tensor:
    """A copy that passes gradients back to the original."""
    try:
        require_tensor("clone", input)
        wanted = preserve_format if memory_format is None else memory_format
        require_format("clone", wanted)
        result: Tensor = apply(clone_op, (input,), {"memory_format": wanted})
        return result
    except Exception as error:
        explain(error, "clone", (input,), {"memory_format": memory_format}, method=True)
        raise


@public(function=False, out=False)
@marked
def contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """This tensor if it lies in memory in order, else a copy that does."""
    try:
        if is_contiguous_in(self._data, memory_format):
            return self
        require_format("contiguous", memory_format)
        if memory_format is preserve_format:
            raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
        return clone(self, memory_format=memory_format)
    except Exception as error:
        explain(error, "contiguous", (self,), {"memory_format": memory_format}, method=True)
        raise


@counterpart(np.copy)
def _np_copy(x: Tensor, order: str = "K", subok: bool = False) -> Tensor:
    return clone(x, memory_format=contiguous_format if order == "C" else preserve_format)


# --- other places ---------------------------------------------------------------------------------


def in_order(x: Any) -> Any:
    """An array whose elements lie in index order; NumPy's functions else keep a strange layout."""
    return np.copy(x, order="C") if type(x) is np.ndarray and not x.flags.c_contiguous else x


def _flip(x: Any, dims: tuple[int, ...]) -> Any:
    flipped = np.flip(x, dims)
    if type(x) is not np.ndarray:
        return np.copy(flipped)
    out = empty_preserving(x)
    np.copyto(out, flipped)
    return out


flip_op: Op = Op(
    "flip",
    _flip,
    ("x",),
    vjp={"x": lambda g, dims: flip_op(g, dims=dims)},
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3), (0,)),
        Sample(T(2, 3), [0, -1]),
        Sample(T(2, 3), ()),
        Sample(T(), ()),
        Sample(T(0, 2), (1,)),
        Sample(T(2, 3, layout="transposed"), dims=(1,)),
    ],
)


def flip_dims(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    """`flip` with dimensions that have been parsed."""
    ndim = input._data.ndim
    wrapped = wrap_dims(dims, ndim, "flip", "dims")
    result: Tensor = apply(flip_op, (input,), {"dims": wrapped if ndim else ()})
    return result


@public(method=False, out=False)
def flip(input: Any, dims: Any) -> Tensor:
    """A copy with the order of the elements reversed along the given dimensions."""
    require_tensor("flip", input)
    if not isinstance(dims, (tuple, list)):
        raise TypeError(
            f"flip(): argument 'dims' (position 2) must be tuple of ints, not {type(dims).__name__}"
        )
    return flip_dims(input, ints("flip", "dims", (dims,), {}))


@public("flip", function=False, out=False)
def flip_method(self: Tensor, *dims: Any, **given: Any) -> Tensor:
    """A copy with the order of the elements reversed along the given dimensions."""
    return flip_dims(self, ints("flip", "dims", dims, given))


@public(out=False)
def fliplr(input: Any) -> Tensor:
    """`flip` along dimension 1."""
    require_tensor("fliplr", input)
    if input._data.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip_dims(input, (1,))


@public(out=False)
def flipud(input: Any) -> Tensor:
    """`flip` along dimension 0."""
    require_tensor("flipud", input)
    if not input._data.ndim:
        raise RuntimeError("Input must be >= 1-d.")
    return flip_dims(input, (0,))


def _roll(x: Any, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    rolled = np.roll(in_order(x), shifts if dims else shifts[0], dims or None)
    return as_channels(rolled, (x,)) if dims else rolled


roll_op: Op = Op(
    "roll",
    _roll,
    ("x",),
    vjp={"x": lambda g, shifts, dims: roll_op(g, shifts=tuple([-s for s in shifts]), dims=dims)},
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3), 1),
        Sample(T(2, 3), -1, 1),
        Sample(T(2, 3), (1, 2), (0, -1)),
        Sample(T(), 1),
        Sample(T(0, 2), 1, 0),
        Sample(T(3, 4, layout="transposed"), shifts=5, dims=0),
    ],
)


@public(out=False)
def roll(input: Any, shifts: Any, dims: Any = ()) -> Tensor:
    """A copy with elements moved along dimensions (all as one if none is named), round the end."""
    require_tensor("roll", input)
    shifts = ints("roll", "shifts", (shifts,), {})
    dims = () if dims is None else ints("roll", "dims", (dims,), {})
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and (dims or len(shifts) > 1):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    ndim = input._data.ndim
    if dims and not ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    dims = tuple([wrap_dim(d, ndim, "roll", "dims") for d in dims])
    result: Tensor = apply(roll_op, (input,), {"shifts": shifts, "dims": dims})
    return result


def _rot90(x: Any, k: int, dims: tuple[int, int]) -> Any:
    quarter = k % 4
    if quarter == 0:
        return np.copy(x, order="C")
    if quarter == 2:
        return _flip(x, dims)
    return np.swapaxes(_flip(x, (dims[1] if quarter == 1 else dims[0],)), *dims)


rot90_op: Op = Op(
    "rot90",
    _rot90,
    ("x",),
    vjp={"x": lambda g, k, dims: rot90_op(g, k=-k, dims=dims)},
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3)),
        Sample(T(2, 3), 2),
        Sample(T(2, 3, 4), -1, (0, 2)),
        Sample(T(2, 0), 1),
        Sample(T(2, 3), k=4),
        Sample(T(2, 3, layout="transposed"), 1),
    ],
)


@public(out=False)
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """A copy turned `k` quarters from the first of two dimensions towards the second."""
    require_tensor("rot90", input)
    dims, ndim = ints("rot90", "dims", (dims,), {}), input._data.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    wrapped = tuple([wrap_dim(d, ndim, "rot90", "dims") for d in dims])
    if wrapped[0] == wrapped[1]:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    result: Tensor = apply(rot90_op, (input,), {"k": require_int(k, "rot90", "k"), "dims": wrapped})
    return result


counterpart(np.flip)(
    lambda x, axis=None: flip_dims(
        x, tuple(range(x._data.ndim)) if axis is None else ints("flip", "axis", (axis,), {})
    )
)
counterpart(np.roll)(lambda x, shift, axis=None: roll(x, shift, () if axis is None else axis))
counterpart(np.rot90)(lambda x, k=1, axes=(0, 1): rot90(x, k, axes))
