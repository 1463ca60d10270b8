"""Views of all of a tensor in another shape: view, reshape, flatten, squeeze, unsqueeze.

Each is a NumPy view of the same memory. Its parameters alone lead from the base to the view, so
that an in-place change can replay the way (see `_autograd.views`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays.dtypes import LEGACY_NAMES, dtype
from .._arrays.strided import spelled_out, strided, strides_of, view_strides
from .._autograd.apply import apply
from .._autograd.apply_view import apply_view
from .._autograd.lifted import counterpart
from .._tensor.tensor import Tensor
from .dims import wrap_dim, wrap_dims
from .elementwise import require_tensor
from .public import public
from .record import LINEAR, Op, renamed
from .samples import Sample, T
from .shapes import infer_shape, ints, tensor_list

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
        Sample(T(4, 6, layout="transposed"), 2, 2, 1, 3, 2),
    ],
)
# `reshape` of memory that is not contiguous and can be viewed all the same.
reshape_alias_op = renamed(view_op, "ReshapeAliasBackward0")
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
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    result: Tensor = apply_view(view_op, input, {"size": shape})
    return result


def reshape_to(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`reshape` to a shape that has been parsed."""
    data = input._data
    shape = infer_shape(shape, data.size)
    if can_view(data, shape):
        flags = getattr(data, "flags", None)
        op = view_op if flags is None or flags.c_contiguous else reshape_alias_op
        result: Tensor = apply_view(op, input, {"size": shape})
        return result
    from .rearranging import contiguous

    copied: Tensor = apply(unsafe_view_op, (contiguous(input),), {"size": shape})
    return copied


def _shown(data: Any, shape: tuple[Any, ...]) -> Any:
    """NumPy's own reshape, where it means the same; else None, for the long way to find out why."""
    if not data.size:
        return None
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = shape[0]
    try:
        if min(shape, default=0) < -1:
            return None
        return data.reshape(shape)
    except (TypeError, ValueError):
        return None


@public("reshape", function=False, out=False)
def reshape_method(self: Tensor, *shape: Any, **given: Any) -> Tensor:
    """The same elements in another shape: a view where memory allows, else a copy."""
    data = self._data
    if shape and not given and type(data) is np.ndarray and data.flags.c_contiguous:
        shown = _shown(data, shape)
        if shown is not None:
            result: Tensor = apply_view(view_op, self, {"size": shown.shape}, shown)
            return result
    return reshape_to(self, ints("reshape", "shape", shape, given))


@public(method=False, out=False)
def reshape(input: Any, shape: Any) -> Tensor:
    """The same elements in another shape: a view where memory allows, else a copy."""
    require_tensor("reshape", input)
    return reshape_to(input, ints("reshape", "shape", (shape,), {}, 2))


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
    start, end = (
        wrap_dim(start_dim, len(shape), "flatten"),
        wrap_dim(end_dim, len(shape), "flatten"),
    )
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape_to(input, (1,))
    if start == end:
        result: Tensor = input
        return result
    size = (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])
    data = input._data
    if type(data) is np.ndarray and data.flags.c_contiguous:
        flat: Tensor = apply_view(
            view_op, input, {"size": size}, data.reshape(size) if data.size else None
        )
        return flat
    return reshape_to(input, size)


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


# --- `view`, in both of its meanings --------------------------------------------------------------

# NumPy's protocols have no view of bytes, and such a view has no gradient: a record of NumPy's own
# arrays, which `tests/tensor` tries.
view_dtype_op = Op(
    "view_dtype", lambda x, dtype: x.view(dtype), ("x",), opmath=False, internal=True
)


@public(function=False, out=False)
def view(self: Tensor, *size: Any, **given: Any) -> Tensor:
    """The same memory in another shape, never a copy; or, given a dtype, as elements of it."""
    data = self._data
    if size and not given and type(data) is np.ndarray and data.flags.c_contiguous:
        shown = _shown(data, size)
        if shown is not None:
            short: Tensor = apply_view(view_op, self, {"size": shown.shape}, shown)
            return short
    wanted = given.get("dtype", size[0] if len(size) == 1 else None)
    if isinstance(wanted, dtype):
        return _view_dtype(self, wanted)
    try:
        shape = ints("view", "size", size, given)
    except TypeError as error:
        if "unpack" in str(error):
            raise
        shown = ", ".join([type(v).__name__ for v in (*size, *given.values())])
        raise TypeError(
            f"view() received an invalid combination of arguments - got ({shown}), but expected "
            "one of:\n * (torch.dtype dtype)\n * (tuple of ints size)\n"
        ) from None
    return view_to(self, shape)


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
    result._version_box = self._version_box
    return result


# --- dimensions of size one -----------------------------------------------------------------------


def _drop(x: Any, dims: tuple[int, ...]) -> Any:
    if type(x) is np.ndarray and x.size:
        return x.squeeze(dims)
    x = spelled_out(x)
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
    samples=lambda: [
        Sample(T(1, 3, 1)),
        Sample(T(2, 3)),
        Sample(T()),
        Sample(T(1)),
        Sample(T(1, 0)),
    ],
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
    samples=lambda: [
        Sample(T(1, 3, 1), 0),
        Sample(T(1, 3, 1), dim=-1),
        Sample(T(2, 3), 0),
        Sample(T(), 0),
    ],
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
    if type(x) is np.ndarray and x.size and x.flags.c_contiguous:
        return x.reshape(shape)
    x = spelled_out(x)
    if type(x) is np.ndarray and (not x.flags.c_contiguous or not x.size):
        # The new dimension's stride is that of a step over all of the next one.
        step = x.strides[dim] * x.shape[dim] if dim < x.ndim else x.dtype.itemsize
        return strided(x, shape, (*x.strides[:dim], step, *x.strides[dim:]))
    return np.reshape(x, shape)


unsqueeze_op = Op(
    "unsqueeze",
    _insert,
    ("x",),
    vjp={"x": lambda g, dim: squeeze_dim_op(g, dim=dim)},
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
    result: Tensor = apply_view(op, input, parameters)
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
    result: Tensor = apply_view(unsqueeze_op, input, {"dim": dim})
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


# --- at least so many dimensions ------------------------------------------------------------------


def _at_least(name: str, grow: Any) -> None:
    def widen(*tensors: Any) -> Any:
        if len(tensors) != 1:
            return tuple([grow(x) for x in tensor_list(name, tensors)])
        if isinstance(tensors[0], (tuple, list)):
            return tuple([grow(x) for x in tensor_list(name, tensors[0])])
        if not isinstance(tensors[0], Tensor):
            kind = type(tensors[0]).__name__
            wrong = (
                f"      didn't match because some of the arguments have invalid types: (!{kind}!)\n"
            )
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got ({kind}), but "
                f"expected one of:\n * (Tensor input)\n{wrong} * (tuple of Tensors "
                f"tensors)\n{wrong}"
            )
        return grow(tensors[0])

    widen.__name__ = widen.__qualname__ = name
    widen.__doc__ = (
        f"A view with at least {name[-2]} dimensions; a tuple of them for several tensors."
    )
    public(name, method=False, out=False)(widen)


def _atleast_2d(x: Tensor) -> Tensor:
    return view_to(x, (1, 1)) if not x._data.ndim else unsqueeze(x, 0) if x._data.ndim == 1 else x


def _atleast_3d(x: Tensor) -> Tensor:
    ndim = x._data.ndim
    if not ndim:
        return view_to(x, (1, 1, 1))
    return unsqueeze(_atleast_2d(x), -1) if ndim < 3 else x


_at_least("atleast_1d", lambda x: x if x._data.ndim else view_to(x, (1,)))
_at_least("atleast_2d", _atleast_2d)
_at_least("atleast_3d", _atleast_3d)
