"""`x[...]`: reading and writing parts of a tensor.

A key is read from left to right. Integers, slices, None and Ellipsis make views, one after the
other (`select`, `slice`, `unsqueeze`); tensors, lists and arrays are collected by the dimension
they stand at, and then index the view all at once (`index`). Writing goes the same way and ends in
`copy_` into the view, or `index_put_`.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._arrays.batching.batched import BatchedArray
from ..._arrays.dtypes import HALF_CODES, array_of_number
from ..._autograd.apply import apply
from ..._autograd.forward_ad import alias_op
from ..._autograd.modes import modes
from ..._tensor.arguments import as_element, type_name
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level
from ..declare.guarding import explain, marked
from ..declare.memory_overlap import check_expanded, refuse_overlap
from ..declare.promotion import number_as
from ..declare.public import FUNCTIONS, attach
from ..declare.torch_function import answered
from ..shape.copy_fill import copy_, fill_
from ..shape.slices import select_view, slice_view
from ..shape.squeeze import unsqueeze_op
from ..shape.views import view_to
from .index_put import index_by, put_at
from .indices import prepare


@marked
def getitem(self: Tensor, key: Any) -> Tensor:
    """`self[key]`."""
    try:
        kind = type(key)
        if kind is int or isinstance(key, np.integer):
            return _select(self, 0, int(key), 0)
        if kind is slice:
            return _slice(self, 0, key, skip_whole=False)
        view, given = _split(self, key)
        if given:
            return index_by(view, given)
        if view is self:
            result: Tensor = apply(alias_op, (self,))
            return result
        return view
    except Exception as error:
        if (said := answered(error, "__getitem__", (self, key), {}, method=True)) is not None:
            return said[0]  # type: ignore[no-any-return]
        explain(error, "__getitem__", (self, key), {}, method=True)
        raise


@marked
def setitem(self: Tensor, key: Any, value: Any) -> None:
    """`self[key] = value`."""
    if modes.deferred is not None:
        modes.deferred.call(setitem, (self, key, value), {})
        return
    try:
        if key is False:
            return
        value = _as_value(self, value)
        kind = type(key)
        if kind is int or isinstance(key, np.integer):
            _write(_select(self, 0, int(key), 0), value)
        elif kind is slice:
            _write(_slice(self, 0, key), value)
        elif key is None or key is True:
            _write(_unsqueeze(self, 0), value)
        else:
            view, given = _split(self, key)
            if given:
                _put(view, given, value)
            else:
                _write(view, value)
    except Exception as error:
        if answered(error, "__setitem__", (self, key, value), {}, method=True) is not None:
            return
        explain(error, "__setitem__", (self, key, value), {}, method=True)
        raise


attach("__getitem__", getitem)
attach("__setitem__", setitem)


# --- reading a key --------------------------------------------------------------------------------


def _split(self: Tensor, key: Any) -> tuple[Tensor, list[Any]]:
    """The view that a key's simple parts make, and its index tensors by dimension of that view."""
    parts = _as_parts(key)
    ndim = self._data.ndim
    specified = sum(_dims_named(part) for part in parts)
    if specified > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    view, dim = self, 0
    given: list[Any] = []
    for place, part in enumerate(parts):
        kind = type(part)
        if kind is slice:
            view, dim = _slice(view, dim, part), dim + 1
        elif part is Ellipsis:
            dim += ndim - specified
        elif part is None:
            view, dim = _unsqueeze(view, dim), dim + 1
        elif kind is bool:
            view = _unsqueeze(view, dim)
            dim = _collect(given, dim, make(np.arange(1 if part else 0)))
        elif kind is int or isinstance(part, np.integer):
            view = _select(view, dim, int(part), place)
        else:
            view, dim = _by_array(view, dim, place, _as_index(part), given)
    return view, given


def _select_each(view: Tensor, dim: int, index: Tensor) -> Tensor:
    wrapped: Any = index % view._data.shape[dim]
    picked: Tensor = FUNCTIONS["index_select"](view, dim, wrapped.reshape(1)).squeeze(dim)
    return picked


def _by_array(
    view: Tensor, dim: int, place: int, index: Tensor, given: list[Any]
) -> tuple[Tensor, int]:
    data = index._data
    if data.ndim == 0 and data.dtype.kind in "iu" and isinstance(data, BatchedArray):
        # Inside vmap each example has a number of its own: gathered, and its dimension dropped.
        return _select_each(view, dim, index), dim
    if data.ndim == 0 and data.dtype.kind in "iub":
        if data.dtype in (np.bool_, np.uint8):
            view = _unsqueeze(view, dim)
            return view, _collect(given, dim, make(np.arange(1 if data.item() else 0)))
        return _select(view, dim, int(data.item()), place), dim
    dim = _collect(given, dim, index)
    if data.dtype in (np.bool_, np.uint8):  # a mask stands for as many dimensions as it has
        dim += data.ndim - 1
    return view, dim


def _collect(given: list[Any], dim: int, index: Tensor) -> int:
    covered = sum(
        max(t.ndim, 1) if t is not None and t.dtype.name in ("bool", "uint8") else 1 for t in given
    )
    given += [None] * (dim - covered)
    given.append(index)
    return dim + 1


def _as_parts(key: Any) -> tuple[Any, ...]:
    if isinstance(key, tuple):
        return tuple(key)
    if not isinstance(key, (Tensor, np.ndarray)) and _means_tuple(key):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
            "changed "
            "in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be "
            "interpreted as tensor index, x[torch.tensor(seq)], which will result either in an "
            "error or "
            "a different result",
            UserWarning,
            stacklevel=warning_level(),
        )
        return tuple(key)
    return (key,)


def _means_tuple(key: Any) -> bool:
    """Whether a list is read as a tuple: it is short and holds more than numbers."""
    if not isinstance(key, list) or len(key) >= 32:
        return False
    return any(
        part is None or part is Ellipsis or isinstance(part, (Tensor, slice, Sequence, np.ndarray))
        for part in key
    )


def _dims_named(part: Any) -> int:
    if isinstance(part, Tensor):
        return part._data.ndim if part._data.dtype in (np.bool_, np.uint8) else 1
    return 0 if part is None or part is Ellipsis or part is True or part is False else 1


def _as_index(part: Any) -> Tensor:
    """A list, a range or an array as an index tensor: masks stay masks, numbers become int64."""
    if isinstance(part, Tensor):
        return part
    if isinstance(part, (np.ndarray, list, tuple, range)):
        if not isinstance(part, np.ndarray):
            from ..._tensor.from_data import array_from

            part = array_from(list(part) if isinstance(part, range) else part, None)
            if part.size == 0:
                part = part.astype(np.int64)
        elif part.dtype.kind not in "biufc":
            raise TypeError(f"new(): invalid data type '{part.dtype}'")
        return make(
            part if part.dtype in (np.bool_, np.uint8) else part.astype(np.int64, copy=False)
        )
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    if hasattr(part, "__index__") and not isinstance(part, (np.bool_, type)):
        return make(np.asarray(operator.index(part)))
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {type_name(part)})"
    )


# --- the views of a key ---------------------------------------------------------------------------


def _select(view: Tensor, dim: int, index: int, place: int) -> Tensor:
    """One index of a dimension; an error counts dimensions by the index's place in the key."""
    shape = view._data.shape
    if not shape and not index:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ "
            "to convert a 0-dim tensor to a number"
        )
    size = shape[dim] if shape else 0
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {place} with size {size}")
    return select_view(view, dim, index if index >= 0 else index + size)


def _slice(view: Tensor, dim: int, key: slice, skip_whole: bool = True) -> Tensor:
    shape = view._data.shape
    if not shape:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    start, stop, step = key.indices(shape[dim])
    if step < 0:
        raise ValueError("step must be greater than zero")
    if skip_whole and step == 1 and stop == shape[dim] and _names_all(key, stop):
        return view
    return slice_view(view, dim, start, stop, step)


def _names_all(key: slice, size: int) -> bool:
    """Whether a slice says "from 0 to the end" in as many words: PyTorch then makes no view."""
    return not key.start and (key.stop is None or operator.index(key.stop) >= size)


def _unsqueeze(view: Tensor, dim: int) -> Tensor:
    result: Tensor = apply(unsqueeze_op, (view,), {"dim": dim})
    return result


# --- writing --------------------------------------------------------------------------------------


def _as_value(self: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex, np.generic)):
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, int) and not -(2**63) <= number < 2**63:
            raise ValueError("Overflow when unpacking long long")
        # Written by way of a tensor, in which a number too large for half precision is infinite.
        kind = self._data.dtype
        is_half = kind.char in HALF_CODES
        element = number_as(number, kind) if is_half else as_element(number, self.dtype)
        return make(array_of_number(element, kind))
    raise TypeError(f"can't assign a {type_name(value)} to a {self.type()}")


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = value._data.shape
    first = 0
    while first < len(shape) and shape[first] == 1:
        first += 1
    return view_to(value, shape[first:]) if first else value


def _write(view: Tensor, value: Tensor) -> None:
    """Copy a value into a view, broadcast."""
    shape = view._data.shape
    if value._data.shape == shape:
        copy_(view, value)
    elif not value._data.ndim:
        if 0 in view._data.strides:
            refuse_overlap(view._data)
        fill_(view, value)
    else:
        value = _without_leading_ones(value)
        copy_(view, value if value._data.shape == shape else value.expand(shape))


def _put(view: Tensor, given: list[Any], value: Tensor) -> None:
    tensors = [t for t in given if t is not None]
    if len(tensors) == 1 and tensors[0].dtype.name == "uint8" and value._data.size == 1:
        prepare(view, given)  # its errors come first
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"
        )
    if 0 in view._data.strides:
        check_expanded("index_put", view._data)
    put_at(view, given, _without_leading_ones(value))
