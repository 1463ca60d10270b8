"""Views of all of a tensor: the same elements under another shape or order of dimensions.

Each is a NumPy view of the same memory. Its parameters alone lead from the base to the view, so that
an in-place change can replay the way (see `_autograd.views`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._arrays.dtypes import LEGACY_NAMES, dtype
from .._arrays.strided import strided, strides_of, view_strides
from .._autograd.apply import apply
from .._autograd.lifted import counterpart
from .._tensor.tensor import Tensor
from .dims import wrap_dim, wrap_dims
from .elementwise import require_tensor
from .public import public
from .record import LINEAR, Op
from .samples import Sample, T
from .shapes import infer_shape, ints

# --- another shape --------------------------------------------------------------------------------


def _view(x: Any, size: tuple[int, ...]) -> Any:
    if type(x) is np.ndarray and not x.flags.c_contiguous:
        found = view_strides(x.shape, x.strides, size)
        if found is not None:
            return strided(x, size, found)
    return np.reshape(x, size)


def _restore(g: Any, x_shape: Any) -> Any:
    return np.reshape(g, x_shape)


view_op = Op(
    "view",
    _view,
    ("x",),
    vjp={"x": _restore},
    jvp=LINEAR,
    is_view=True,
    public="Tensor.view",
    samples=lambda: [
        Sample(T(2, 3), 3, 2),
        Sample(T(2, 3), (-1,)),
        Sample(T(), 1, 1),
        Sample(T(1), ()),
        Sample(T(0, 3), 3, 0),
        Sample(T(4, 6, layout="transposed"), 2, 3, 1, 2, 2),
    ],
)
unsafe_view_op = Op(
    "unsafe_view",
    lambda x, size: np.reshape(x, size),
    ("x",),
    vjp={"x": _restore},
    jvp=LINEAR,
    opmath=False,
    public="reshape",
    samples=lambda: [
        Sample(T(3, 4, layout="transposed"), (2, 6)),
        Sample(T(2, 3, 4, layout="transposed"), (-1,)),
        Sample(T(2, 3), shape=(6,)),
    ],
)


def can_view(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array's memory can be seen in another shape without a copy."""
    flags = getattr(array, "flags", None)
    if flags is None or flags.c_contiguous:
        return True
    return view_strides(array.shape, array.strides, shape) is not None


def view_to(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`view` of a shape that has been parsed."""
    data = input._data
    shape = infer_shape(shape, data.size)
    if not can_view(data, shape):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    result: Tensor = apply(view_op, (input,), {"size": shape})
    return result


def reshape_to(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`reshape` to a shape that has been parsed."""
    data = input._data
    shape = infer_shape(shape, data.size)
    if can_view(data, shape):
        result: Tensor = apply(view_op, (input,), {"size": shape})
        return result
    from .rearranging import contiguous

    result = apply(unsafe_view_op, (contiguous(input),), {"size": shape})
    return result


@public("reshape", function=False, out=False)
def reshape_method(self: Tensor, *shape: Any, **given: Any) -> Tensor:
    """The same elements in another shape: a view where memory allows, else a copy."""
    return reshape_to(self, ints("reshape", "shape", shape, given))


@public(method=False, out=False)
def reshape(input: Any, shape: Any) -> Tensor:
    """The same elements in another shape: a view where memory allows, else a copy."""
    require_tensor("reshape", input)
    return reshape_to(input, ints("reshape", "shape", (shape,), {}))


@public(function=False, out=False)
def reshape_as(self: Tensor, other: Any) -> Tensor:
    """`reshape` to the shape of another tensor."""
    require_tensor("reshape_as", other, "other")
    return reshape_to(self, other._data.shape)


@public(function=False, out=False)
def view_as(self: Tensor, other: Any) -> Tensor:
    """`view` in the shape of another tensor."""
    require_tensor("view_as", other, "other")
    return view_to(self, other._data.shape)


@public(out=False)
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""
    require_tensor("flatten", input)
    shape = input._data.shape
    start, end = wrap_dim(start_dim, len(shape), "flatten"), wrap_dim(end_dim, len(shape), "flatten")
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape_to(input, (1,))
    if start == end:
        result: Tensor = input
        return result
    count = 1
    for extent in shape[start : end + 1]:
        count *= extent
    return reshape_to(input, (*shape[:start], count, *shape[end + 1 :]))


@public(out=False)
def unflatten(input: Any, dim: int, sizes: Any) -> Tensor:
    """One dimension as several whose sizes multiply up to it; one of them may be -1."""
    require_tensor("unflatten", input)
    sizes = ints("unflatten", "sizes", (sizes,), {})
    shape = input._data.shape
    dim = wrap_dim(dim, len(shape), "unflatten")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    extent = shape[dim] if shape else 1
    try:
        sizes = infer_shape(sizes, extent)
    except RuntimeError as error:
        if "is invalid for input" not in str(error):
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({extent}) in the input tensor"
        ) from None
    return view_to(input, (*shape[:dim], *sizes, *shape[dim + 1 :]))


@public(out=False)
def ravel(input: Any) -> Tensor:
    """All elements in one dimension, copied only if they must be."""
    require_tensor("ravel", input)
    from .rearranging import contiguous

    return view_to(contiguous(input), (-1,) if input._data.size else (0,))


@counterpart(np.reshape)
def _np_reshape(x: Tensor, shape: Any, order: str = "C", copy: Any = None) -> Tensor:
    return reshape_to(x, (shape,) if isinstance(shape, int) else tuple(shape))


@counterpart(np.ravel)
def _np_ravel(x: Tensor, order: str = "C") -> Tensor:
    return reshape_to(x, (x._data.size,))


# --- another order of dimensions ------------------------------------------------------------------


def inverse_order(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `dims`."""
    return tuple([dims.index(d) for d in range(len(dims))])


transpose_op = Op(
    "transpose",
    lambda x, dim0, dim1: np.swapaxes(x, dim0, dim1) if x.ndim else x[...],
    ("x",),
    vjp={"x": lambda g, dim0, dim1: transpose_op(g, dim0=dim0, dim1=dim1)},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [
        Sample(T(2, 3), 0, 1),
        Sample(T(2, 3, 4), -1, 0),
        Sample(T(2, 0), 0, 1),
        Sample(T(2, 3), 1, 1),
        Sample(T(), 0, -1),
        Sample(T(2, 3, layout="transposed"), dim0=0, dim1=1),
    ],
)
t_op = Op(
    "t",
    lambda x: np.transpose(x),
    ("x",),
    vjp={"x": lambda g: t_op(g)},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [Sample(T(2, 3)), Sample(T(3)), Sample(T()), Sample(T(0, 2))],
)
permute_op = Op(
    "permute",
    lambda x, dims: np.transpose(x, dims),
    ("x",),
    vjp={"x": lambda g, dims: permute_op(g, dims=inverse_order(dims))},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [
        Sample(T(2, 3, 4), (2, 0, 1)),
        Sample(T(2, 3, 4), (-1, 0, -2)),
        Sample(T(), ()),
        Sample(T(0, 2), dims=(1, 0)),
    ],
)


@public(out=False, aliases=("swapdims",))
def transpose(input: Any, dim0: Any, dim1: Any) -> Tensor:
    """A view with two dimensions exchanged."""
    require_tensor("transpose", input)
    ndim = input._data.ndim
    dims = {"dim0": wrap_dim(dim0, ndim, "transpose"), "dim1": wrap_dim(dim1, ndim, "transpose")}
    result: Tensor = apply(transpose_op, (input,), dims)
    return result


@public(out=False)
def swapaxes(input: Any, axis0: Any, axis1: Any) -> Tensor:
    """A view with two dimensions exchanged; NumPy's name for `transpose`."""
    return transpose(input, axis0, axis1)


@public(out=False)
def t(input: Any) -> Tensor:
    """A view of a matrix transposed; fewer than two dimensions stay as they are."""
    require_tensor("t", input)
    if input._data.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input._data.ndim}D"
        )
    result: Tensor = apply(t_op, (input,))
    return result


def permute_to(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    """`permute` with dimensions that have been parsed."""
    ndim = input._data.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
            f"of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to "
            f"len(dims) = {len(dims)}"
        )
    dims = tuple([wrap_dim(d, ndim, "permute", "dims") for d in dims])
    if len(set(dims)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    result: Tensor = apply(permute_op, (input,), {"dims": dims})
    return result


@public("permute", function=False, out=False)
def permute_method(self: Tensor, *dims: Any, **given: Any) -> Tensor:
    """A view with its dimensions in the given order."""
    return permute_to(self, ints("permute", "dims", dims, given))


@public(method=False, out=False)
def permute(input: Any, dims: Any) -> Tensor:
    """A view with its dimensions in the given order."""
    require_tensor("permute", input)
    return permute_to(input, ints("permute", "dims", (dims,), {}))


@public(out=False, aliases=("moveaxis",))
def movedim(input: Any, source: Any, destination: Any) -> Tensor:
    """A view with the dimensions `source` moved to the places `destination`."""
    require_tensor("movedim", input)
    ndim = input._data.ndim
    given = [list(d) if isinstance(d, (tuple, list)) else [d] for d in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({given[0]} dims) should contain "
            f"the same number of dims as destination ({given[1]} dims)"
        )
    wrapped = []
    for what, dims in zip(("source", "destination"), given, strict=True):
        found = [wrap_dim(d, ndim, "movedim", what) for d in dims]
        if len(set(found)) != len(found):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({dims})")
        wrapped.append(found)
    if not ndim:
        return permute_to(input, ())
    rest = iter([d for d in range(ndim) if d not in wrapped[0]])
    places = dict(zip(wrapped[1], wrapped[0], strict=True))
    return permute_to(input, tuple([places[d] if d in places else next(rest) for d in range(ndim)]))


@counterpart(np.transpose)
def _np_transpose(x: Tensor, axes: Any = None) -> Tensor:
    return permute_to(x, tuple(range(x._data.ndim))[::-1] if axes is None else tuple(axes))


counterpart(np.swapaxes)(transpose)
counterpart(np.moveaxis)(movedim)


def _deprecated(what: str, instead: str) -> None:
    warnings.warn(f"{what} is deprecated on 0-D tensors. {instead}", UserWarning, stacklevel=4)


_IDENTITY = "This function is the identity in these cases."


def _reversed(self: Tensor) -> Tensor:
    """All dimensions in reverse order."""
    ndim = self._data.ndim
    if ndim > 2:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated "
            "and it will throw an error in a future release. Consider `x.mT` to transpose batches of "
            "matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a "
            "tensor.",
            UserWarning,
            stacklevel=2,
        )
    elif not ndim:
        _deprecated("Tensor.T", _IDENTITY)
    return permute_to(self, tuple(range(ndim - 1, -1, -1)))


def _matrices(self: Tensor, what: str, instead: str) -> Tensor:
    if not self._data.ndim:
        _deprecated(what if "(" in what else f"Tensor.{what}", instead)
        return self
    if self._data.ndim == 1:
        raise RuntimeError(
            f"tensor.{what} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return transpose(self, -2, -1)


def _conjugate(x: Tensor) -> Tensor:
    conjugate: Any = x
    return conjugate.conj() if x._data.dtype.kind == "c" else x


def _transposed(self: Tensor) -> Tensor:
    """The last two dimensions exchanged."""
    return _matrices(self, "mT", _IDENTITY)


def _adjoint(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, and the conjugate taken."""
    return _conjugate(_matrices(self, "mH", "Consider using x.conj()."))


def _hermitian(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated."""
    ndim = self._data.ndim
    if ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if ndim > 2 else "")
        )
    return _conjugate(_matrices(self, "H", "Consider using x.conj()."))


@public(out=False)
def adjoint(input: Any) -> Tensor:
    """The last two dimensions exchanged, and the conjugate taken."""
    require_tensor("adjoint", input)
    return _conjugate(_matrices(input, "adjoint()", "Consider using x.conj()."))


_tensor: Any = Tensor
_tensor.T, _tensor.mT = property(_reversed), property(_transposed)
_tensor.H, _tensor.mH = property(_hermitian), property(_adjoint)

# --- dimensions of size one -----------------------------------------------------------------------


def _drop(x: Any, dims: tuple[int, ...]) -> Any:
    return np.squeeze(x, dims) if dims else x[...]


def _ones(x: Any, dims: Any) -> tuple[int, ...]:
    return tuple([d for d in dims if d < x.ndim and x.shape[d] == 1])


squeeze_op = Op(
    "squeeze",
    lambda x: _drop(x, _ones(x, range(x.ndim))),
    ("x",),
    vjp={"x": _restore},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [Sample(T(1, 3, 1)), Sample(T(2, 3)), Sample(T()), Sample(T(1)), Sample(T(1, 0))],
)
squeeze_dim_op = Op(
    "squeeze_dim",
    lambda x, dim: _drop(x, _ones(x, (dim,))),
    ("x",),
    vjp={"x": _restore},
    jvp=LINEAR,
    is_view=True,
    node="SqueezeBackward1",
    public="squeeze",
    samples=lambda: [Sample(T(1, 3, 1), 0), Sample(T(1, 3, 1), dim=-1), Sample(T(2, 3), 0), Sample(T(), 0)],
)
squeeze_dims_op = Op(
    "squeeze_dims",
    lambda x, dim: _drop(x, _ones(x, dim)),
    ("x",),
    vjp={"x": _restore},
    jvp=LINEAR,
    is_view=True,
    node="SqueezeBackward2",
    public="squeeze",
    samples=lambda: [Sample(T(1, 3, 1), (0, -1)), Sample(T(1, 3, 1), (0, 1)), Sample(T(1, 2), ())],
)


def _insert(x: Any, dim: int) -> Any:
    shape = (*x.shape[:dim], 1, *x.shape[dim:])
    if type(x) is np.ndarray and not x.flags.c_contiguous:
        # The new dimension's stride is that of a step over all of the next one.
        step = x.strides[dim] * x.shape[dim] if dim < x.ndim else x.dtype.itemsize
        return strided(x, shape, (*x.strides[:dim], step, *x.strides[dim:]))
    return np.reshape(x, shape)


unsqueeze_op = Op(
    "unsqueeze",
    _insert,
    ("x",),
    vjp={"x": lambda g, dim: np.squeeze(g, dim)},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [
        Sample(T(2, 3), 0),
        Sample(T(2, 3), -1),
        Sample(T(), 0),
        Sample(T(0, 2), dim=1),
        Sample(T(2, 3, layout="transposed"), 1),
    ],
)


@public(out=False)
def squeeze(input: Any, dim: Any = None) -> Tensor:
    """A view without the dimensions of size one: all of them, or those named that are."""
    require_tensor("squeeze", input)
    op, parameters = squeeze_call(input, dim)
    result: Tensor = apply(op, (input,), parameters)
    return result


def squeeze_call(input: Tensor, dim: Any) -> tuple[Op, dict[str, Any]]:
    """Which of the three forms of `squeeze` is meant."""
    ndim = input._data.ndim
    if dim is None:
        return squeeze_op, {}
    if isinstance(dim, (tuple, list)):
        return squeeze_dims_op, {"dim": wrap_dims(tuple(dim), ndim, "squeeze")}
    return squeeze_dim_op, {"dim": wrap_dim(dim, ndim, "squeeze")}


@public(out=False)
def unsqueeze(input: Any, dim: Any) -> Tensor:
    """A view with a dimension of size one inserted before `dim`."""
    require_tensor("unsqueeze", input)
    dim = wrap_dim(dim, input._data.ndim + 1, "unsqueeze")
    result: Tensor = apply(unsqueeze_op, (input,), {"dim": dim})
    return result


@counterpart(np.squeeze)
def _np_squeeze(x: Tensor, axis: Any = None) -> Tensor:
    return squeeze(x, axis)


@counterpart(np.expand_dims)
def _np_expand_dims(x: Tensor, axis: Any) -> Tensor:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = x._data.ndim + len(axes)
    places = {a % ndim for a in axes}
    rest = iter(x._data.shape)
    return reshape_to(x, tuple([1 if d in places else next(rest) for d in range(ndim)]))


# --- repeated without a copy ----------------------------------------------------------------------


def _expand(x: Any, size: tuple[int, ...]) -> Any:
    if type(x) is not np.ndarray:
        return np.broadcast_to(x, size)
    steps: list[int] = []
    missing = len(size) - x.ndim
    for dim in range(len(size) - 1, -1, -1):
        if dim >= missing:
            extent, step = x.shape[dim - missing], x.strides[dim - missing]
        else:
            extent, step = 1, size[dim + 1] * steps[-1] if steps else x.dtype.itemsize
        steps.append(step if extent == size[dim] else 0)
    return strided(x, size, steps[::-1])


expand_op = Op(
    "expand",
    _expand,
    ("x",),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    is_view=True,
    public="Tensor.expand",
    samples=lambda: [
        Sample(T(3, 1), 3, 4),
        Sample(T(3), 2, 3),
        Sample(T(), (2, 2)),
        Sample(T(1, 3), 2, -1),
        Sample(T(1), 0),
        Sample(T(3, 1, layout="transposed"), 2, 3, 1),
    ],
)


def expand_to(input: Tensor, size: tuple[int, ...]) -> Tensor:
    """`expand` to a size that has been parsed."""
    shape = input._data.shape
    if len(size) < len(shape):
        raise RuntimeError(
            f"expand(torch.{LEGACY_NAMES[input.dtype]}Tensor{{{list(shape)}}}, size={list(size)}): the "
            f"number of sizes provided ({len(size)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(shape)})"
        )
    missing = len(size) - len(shape)
    found = list(size)
    for dim in range(len(size) - 1, -1, -1):
        wanted = size[dim]
        if dim < missing:
            if wanted < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, "
                    f"non-existing dimension {dim}"
                )
        elif wanted == -1:
            found[dim] = shape[dim - missing]
        elif wanted != shape[dim - missing] and (shape[dim - missing] != 1 or wanted < 0):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size "
                f"({shape[dim - missing]}) at non-singleton dimension {dim}.  Target sizes: "
                f"{list(size)}.  Tensor sizes: {list(shape)}"
            )
    result: Tensor = apply(expand_op, (input,), {"size": tuple(found)})
    return result


@public(function=False, out=False)
def expand(self: Tensor, *size: Any, implicit: bool = False, **given: Any) -> Tensor:
    """A view with dimensions of size one (or new leading ones) repeated without a copy."""
    return expand_to(self, ints("expand", "size", size, given))


@public(function=False, out=False)
def expand_as(self: Tensor, other: Any) -> Tensor:
    """`expand` to the shape of another tensor."""
    require_tensor("expand_as", other, "other")
    return expand_to(self, other._data.shape)


@public("broadcast_to", function=False, out=False)
def broadcast_to_method(self: Tensor, *size: Any, **given: Any) -> Tensor:
    """`expand`, by NumPy's name."""
    return expand_to(self, ints("broadcast_to", "size", size, given))


@public(method=False, out=False)
def broadcast_to(input: Any, size: Any) -> Tensor:
    """`expand`, by NumPy's name."""
    require_tensor("broadcast_to", input)
    return expand_to(input, ints("broadcast_to", "size", (size,), {}))


@counterpart(np.broadcast_to)
def _np_broadcast_to(x: Tensor, shape: Any, subok: bool = False) -> Tensor:
    return expand_to(x, (shape,) if isinstance(shape, int) else tuple(shape))


# --- `view`, in both of its meanings --------------------------------------------------------------

view_dtype_op = Op("view_dtype", lambda x, dtype: x.view(dtype), ("x",), is_view=True)


@public(function=False, out=False)
def view(self: Tensor, *size: Any, **given: Any) -> Tensor:
    """The same memory in another shape, never a copy; or, given a dtype, as elements of that type."""
    wanted = given.get("dtype", size[0] if len(size) == 1 else None)
    if isinstance(wanted, dtype):
        return _view_dtype(self, wanted)
    if not size and not given:
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected one of:\n"
            " * (torch.dtype dtype)\n * (tuple of ints size)\n"
        )
    return view_to(self, ints("view", "size", size, given))


def _view_dtype(self: Tensor, wanted: dtype) -> Tensor:
    data, have = self._data, self.dtype
    if have.itemsize != wanted.itemsize:
        between = (
            f"to view {LEGACY_NAMES[have]} as {LEGACY_NAMES[wanted]} (different element sizes)"
        )
        if not data.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 {between}")
        if strides_of(data)[-1] != 1:
            raise RuntimeError(
                f"self.stride(-1) must be 1 {between}, but got {strides_of(data)[-1]}"
            )
        times = wanted.itemsize // have.itemsize
        if times > 1 and data.shape[-1] % times:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {times} {between}, but got {data.shape[-1]}"
            )
    result: Tensor = apply(view_dtype_op, (self,), {"dtype": wanted.numpy})
    return result
