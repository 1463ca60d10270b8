"""Views of all of a tensor in another shape: view, reshape, flatten, unflatten, view(dtype).

Each is a NumPy view of the same memory. Its parameters alone lead from the base to the view, so
that an in-place change can replay the way (see `_autograd.views`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, dtype
from ..._arrays.strided import has_memory, strided, strides_of, view_strides
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.guarding import explain, marked
from ..declare.public import public
from ..declare.record import LINEAR, Op, renamed
from ..declare.samples import Sample, T
from ..declare.shapes import infer_shape, ints

# --- another shape --------------------------------------------------------------------------------


def _view(x: Any, size: tuple[int, ...]) -> Any:
    if has_memory(x) and not x.flags.c_contiguous:
        found = view_strides(x.shape, x.strides, size)
        if found is not None:
            return strided(x, size, found)
    return np.reshape(x, size)


def restore(g: Any, x_shape: Any) -> Any:
    return np.reshape(g, x_shape)


view_op = Op(
    "view",
    _view,
    ("x",),
    vjp={"x": restore},
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
    vjp={"x": restore},
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
    result: Tensor = view_op.apply((input,), {"size": shape})
    return result


def reshape_to(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`reshape` to a shape that has been parsed."""
    data = input._data
    shape = infer_shape(shape, data.size)
    flags = getattr(data, "flags", None)
    in_rows = flags is None or flags.c_contiguous
    if in_rows or can_view(data, shape):
        op = view_op if in_rows else reshape_alias_op
        result: Tensor = op.apply((input,), {"size": shape})
        return result
    from .rearranging import contiguous

    copied: Tensor = apply(unsafe_view_op, (contiguous(input),), {"size": shape})
    return copied


def _view_at_once(input: Tensor, data: Any, shape: tuple[Any, ...]) -> Tensor | None:
    """A view by NumPy's own reshape, where it means the same; else None, for the long way to find out why."""
    if not data.size:
        return None
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = shape[0]
    try:
        if min(shape, default=0) < -1:
            return None
        shown = data.reshape(shape)
    except (TypeError, ValueError):
        return None
    result: Tensor = view_op.apply((input,), {"size": shown.shape}, shown)
    return result


@public("reshape", function=False, out=False)
@marked
def reshape_method(self: Tensor, *shape: Any, **given: Any) -> Tensor:
    """The same elements in another shape: a view where memory allows, else a copy."""
    try:
        data = self._data
        if shape and not given and type(data) is np.ndarray and data.flags.c_contiguous:
            view = _view_at_once(self, data, shape)
            if view is not None:
                return view
        return reshape_to(self, ints("reshape", "shape", shape, given))
    except Exception as error:
        explain(error, "reshape", (self, *shape), given, method=True)
        raise


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
        flat: Tensor = view_op.apply(
            (input,), {"size": size}, data.reshape(size) if data.size else None
        )
        return flat
    return reshape_to(input, size)


@public(out=False)
def unflatten(input: Any, dim: int, sizes: Any) -> Tensor:
    """One dimension as several whose sizes multiply up to it; one of them may be -1."""
    require_tensor("unflatten", input)
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(
            f"unflatten(): argument 'sizes' (position 3) must be tuple of ints, not {type(sizes).__name__}"
        )
    sizes = ints("unflatten", "sizes", (sizes,), {})
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape = input._data.shape
    dim = wrap_dim(dim, len(shape), "unflatten")
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
@marked
def view(self: Tensor, *size: Any, **given: Any) -> Tensor:
    """The same memory in another shape, never a copy; or, given a dtype, as elements of it."""
    try:
        data = self._data
        if size and not given and type(data) is np.ndarray and data.flags.c_contiguous:
            view = _view_at_once(self, data, size)
            if view is not None:
                return view
        return _any_view(self, size, given)
    except Exception as error:
        explain(error, "view", (self, *size), given, method=True)
        raise


def _any_view(self: Tensor, size: Any, given: dict[str, Any]) -> Tensor:
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


def _check_close(data: Any, between: str) -> None:
    if strides_of(data)[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {between}, but got {strides_of(data)[-1]}")


def _check_wider(self: Tensor, times: int, between: str) -> None:
    """Several elements become one: there must be as many, from a place where one can begin."""
    if times <= 1:
        return
    data = self._data
    must = f"must be divisible by {times} {between}, but got"
    if data.shape[-1] % times:
        raise RuntimeError(f"self.size(-1) {must} {data.shape[-1]}")
    if self.storage_offset() % times:
        raise RuntimeError(f"self.storage_offset() {must} {self.storage_offset()}")
    _check_close(data, between)
    for dim, stride in enumerate(strides_of(data)[:-1]):
        if stride % times:
            raise RuntimeError(f"self.stride({dim}) {must} {stride}")


def _view_dtype(self: Tensor, wanted: dtype) -> Tensor:
    data, have = self._data, self.dtype
    if have.itemsize != wanted.itemsize:
        between = (
            f"to view {LEGACY_NAMES[have]} as {LEGACY_NAMES[wanted]} (different element sizes)"
        )
        if not data.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 {between}")
        if wanted.itemsize < have.itemsize:
            _check_close(data, between)
        _check_wider(self, wanted.itemsize // have.itemsize, between)
    result: Tensor = apply(view_dtype_op, (self,), {"dtype": wanted.numpy})
    result._version_box = self._version_box
    return result
