"""The arrays of the device `meta`: shapes, strides and dtypes through every function, and no elements.

A `MetaArray` wraps a ghost (`ghosts`). Asked for a function of NumPy's, it works out the shape and dtype of the
result (`rules`); a function without a rule is run on ghosts, whose result is let go again. What asks for an element
is an error, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..attributes import attribute_of
from ..cuda.methods import Methods
from .ghosts import ghost, ghost_like

NO_DATA = "Cannot copy out of meta tensor; no data!"


class MetaArray(Methods):
    """An array without elements."""

    __slots__ = ("ghost",)

    is_meta_array = True

    def __init__(self, ghost: Any) -> None:
        self.ghost = ghost

    shape = attribute_of("ghost.shape")
    strides = attribute_of("ghost.strides")
    dtype = attribute_of("ghost.dtype")
    ndim = attribute_of("ghost.ndim")
    size = attribute_of("ghost.size")
    itemsize = attribute_of("ghost.itemsize")
    nbytes = attribute_of("ghost.nbytes")
    flags = attribute_of("ghost.flags")

    @property
    def base(self) -> Any:
        found = self.storage()
        return None if found.ghost is self.ghost else found

    @property
    def T(self) -> MetaArray:
        return MetaArray(self.ghost.T)

    # --- functions -------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        from .rules import of_ufunc

        if any(_answers_first(a) for a in args):
            return NotImplemented
        return of_ufunc(ufunc, method, args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .rules import of_function

        return of_function(function, args, kwargs)

    def __getitem__(self, index: Any) -> MetaArray:
        from .rules import item

        return item(self, index)  # type: ignore[no-any-return]

    def __setitem__(self, index: Any, value: Any) -> None:
        shape = self[index].shape
        np.broadcast_shapes(shape, np.shape(value))  # all there is to check

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **options: Any) -> Any:
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        found = ghost_like(self.ghost) if self.flags.forc else ghost(self.shape, self.dtype)
        if np.dtype(dtype) == self.dtype:
            return MetaArray(found)
        by_columns = self.flags.f_contiguous and not self.flags.c_contiguous
        return MetaArray(
            ghost(self.shape[::-1], dtype).T if by_columns else ghost(self.shape, dtype)
        )

    def view(self, dtype: Any) -> MetaArray:
        return MetaArray(self.ghost.view(dtype))

    def reshape(self, *shape: Any, **options: Any) -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    # --- memory ----------------------------------------------------------------------------------------

    def storage(self) -> MetaArray:
        from ..strided import storage_of

        return MetaArray(storage_of(self.ghost))

    @property
    def address(self) -> int:
        return 0

    def strided(self, shape: Any, strides: Any, offset: int = 0) -> MetaArray:
        from ..strided import strided

        return MetaArray(strided(self.ghost, shape, strides, offset))

    def can_be_gradient_of(self, leaf: Any) -> bool:
        return True

    # --- elements --------------------------------------------------------------------------------------

    def host(self) -> Any:
        raise NotImplementedError(NO_DATA)

    def item(self, *at: Any) -> Any:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def tolist(self) -> Any:
        raise NotImplementedError(NO_DATA)

    __bool__ = __float__ = __int__ = __complex__ = __index__ = item

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(NO_DATA)

    def __repr__(self) -> str:
        return f"MetaArray(shape={self.shape}, dtype={self.dtype})"

    __hash__ = None


def _answers_first(value: Any) -> bool:
    """Whether another array type of the engine's (a batch, a lifted tensor) is to answer."""
    return hasattr(value, "__array_ufunc__") and not isinstance(
        value, (MetaArray, np.ndarray, np.generic)
    )


def plain(value: Any) -> Any:
    """Arguments with ghosts in place of arrays without elements."""
    if isinstance(value, MetaArray):
        return value.ghost
    if type(value) in (tuple, list):
        return type(value)(plain(v) for v in value)
    if type(value) is dict:
        return {k: plain(v) for k, v in value.items()}
    return value


def new(shape: Any, dtype: Any) -> MetaArray:
    """An array of a shape, in rows."""
    return MetaArray(ghost(shape, dtype))


def on_meta(array: Any) -> MetaArray:
    """The shape, strides and dtype of an array of NumPy's."""
    return MetaArray(ghost_like(array))


class Creator:
    """NumPy's creation functions, for arrays without elements."""

    def empty(self, shape: Any, dtype: Any = np.float64, **_: Any) -> MetaArray:
        return new(shape, dtype)

    zeros = ones = empty

    def full(self, shape: Any, fill_value: Any, dtype: Any = None, **_: Any) -> MetaArray:
        return new(shape, np.asarray(fill_value).dtype if dtype is None else dtype)

    def __getattr__(self, name: str) -> Any:
        def made(*args: Any, **options: Any) -> MetaArray:
            return on_meta(np.asarray(getattr(np, name)(*args, **options)))

        return made
