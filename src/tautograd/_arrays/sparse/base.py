"""What every sparse array is to the engine: a shape and a dtype that answer NumPy's protocols; no memory to view."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..attributes import ArrayAttributes
from ..devices import META, creator, is_meta
from ..strided import contiguous_strides

_FLAGS = SimpleNamespace(c_contiguous=True, f_contiguous=False, writeable=True)


def not_for(name: str, backend: str) -> NotImplementedError:
    """PyTorch's error for an operation that a layout does not have."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend: there is no such "
        "operation on sparse tensors. Use Tensor.to_dense() first."
    )


class SparseArray(ArrayAttributes, NDArrayOperatorsMixin):
    """An array of which only some elements are held; the others are zero."""

    __slots__ = ("shape", "values")

    values: Any
    flags = _FLAGS
    base = None
    is_sparse_array = True

    name = "Sparse"  # of the layout, in PyTorch's errors

    @property
    def backend(self) -> str:
        return f"{self.name}{'Meta' if is_meta(self.values) else 'CPU'}"

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        """As if it were dense: no element lies over another. (PyTorch's users see zeros.)"""
        return tuple(n * self.itemsize for n in contiguous_strides(self.shape))

    def dense(self) -> Any:
        """All elements, the zeros too."""
        if is_meta(self.values):
            return creator(META).empty(self.shape, self.dtype)
        return self._dense()

    def _dense(self) -> Any:
        raise NotImplementedError

    def become(self, other: Any) -> None:
        """Hold what another array of the same layout holds: a change in place."""
        for slot in (*SparseArray.__slots__, *type(self).__slots__):
            setattr(self, slot, getattr(other, slot))

    def with_parts(self, change: Callable[[Any], Any]) -> Any:
        """The same array with each of the arrays that it consists of changed."""
        out = object.__new__(type(self))
        for slot in (*SparseArray.__slots__, *type(self).__slots__):
            part = getattr(self, slot)
            setattr(out, slot, change(part) if hasattr(part, "dtype") else part)
        return out

    def require_places(self, name: str) -> None:
        """Refuse on the device `meta` what has to know where elements stand."""
        if is_meta(self.values):
            raise NotImplementedError(
                f"Could not run 'aten::{name}' with arguments from the '{self.backend}' backend: where the "
                "elements stand is not known on the device meta."
            )

    def of_values(self, values: Any) -> Any:
        """The same places, with other elements there."""
        raise NotImplementedError

    def astype(self, dtype: Any, copy: bool = True, **_: Any) -> Any:
        return self.of_values(self.values.astype(dtype, copy=copy))

    def copy(self, order: str = "K") -> Any:
        return self.of_values(self.values.copy())

    def can_be_gradient_of(self, data: Any) -> bool:
        """A gradient that nobody else holds need not be copied."""
        return True

    def __getitem__(self, index: Any) -> Any:
        from .coo import CooArray
        from .moves import item

        if index is Ellipsis:
            return self  # all of it, in the same memory
        if not isinstance(self, CooArray):
            raise not_for("select.int", self.backend)
        return item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Only all of it, with zeros."""
        if index is not Ellipsis or np.ndim(value) or value:
            raise not_for("fill_.Scalar", self.backend)
        target: Any = self
        np.copyto(target, 0)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def _no_pointer(self, *_: Any) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    tolist = _no_pointer

    def _one_value(self) -> Any:
        if self.size != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return self.dense().reshape(())

    def item(self) -> Any:
        if self.size != 1:
            raise RuntimeError(f"a Tensor with {self.size} elements cannot be converted to Scalar")
        # An element that is not specified is the number 0 of PyTorch, whatever the dtype.
        return self.dense().item() if len(self.values) else 0

    def __bool__(self) -> bool:
        return bool(self._one_value())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        from .functions import FUNCTIONS, UFUNCS, on_values

        self.require_places(_name_of(ufunc, method))
        if method == "reduce" and ufunc is np.add:
            return FUNCTIONS[np.sum](*args, **kwargs)
        if method == "__call__":
            handler: Any = UFUNCS.get(ufunc, on_values)
            found = handler(ufunc, args, kwargs)
            if found is not NotImplemented:
                return found
        raise not_for(_name_of(ufunc, method), self.backend)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .functions import FUNCTIONS

        handler = FUNCTIONS.get(function)
        if handler is None:
            raise not_for(function.__name__, self.backend)
        return handler(*args, **kwargs)


def _name_of(ufunc: Any, method: str) -> str:
    if method != "__call__":
        return {"add": "sum", "multiply": "prod"}.get(ufunc.__name__, f"{ufunc.__name__}.{method}")
    return {
        "multiply": "mul", "subtract": "sub", "divide": "div", "equal": "eq.Tensor",
        "greater": "gt.Scalar", "less": "lt.Scalar", "not_equal": "ne.Tensor",
    }.get(ufunc.__name__, str(ufunc.__name__))  # fmt: skip


def is_sparse(array: Any) -> bool:
    return isinstance(array, SparseArray)


def as_dense(array: Any) -> Any:
    return array.dense() if isinstance(array, SparseArray) else np.asarray(array)
