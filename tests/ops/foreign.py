"""A foreign array: NumPy's dispatch protocols, shape and dtype, and not one value.

It stands for what a GPU array or a recording array will be. Inside it is a NumPy array, on which it
runs whatever function NumPy's protocols hand to it; from outside nothing can be learnt of its
values. Asking for them (by `if`, `float()`, iteration, `np.asarray`, …) raises an error that says
what was asked, and so does any function whose result has a shape that depends on values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin


class ValuesRefusedError(Exception):
    """Someone asked a foreign array for its values."""


def _refuse(what: str) -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ValuesRefusedError(f"{what} asks a foreign array for its values")

    return refuse


_VALUE_SHAPED = (
    np.nonzero, np.argwhere, np.flatnonzero, np.unique, np.unique_all, np.unique_counts,
    np.unique_inverse, np.unique_values, np.extract, np.compress, np.trim_zeros, np.bincount,
    np.union1d, np.intersect1d, np.setdiff1d,
)  # fmt: skip
_VALUE_GIVING = (
    np.array_equal, np.array_equiv, np.allclose, np.array2string, np.array_repr, np.array_str,
)  # fmt: skip


class Foreign(NDArrayOperatorsMixin):
    """An array that runs NumPy's functions and keeps its values to itself."""

    __slots__ = ("__hidden",)

    def __init__(self, array: Any) -> None:
        self.__hidden = np.asarray(array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.__hidden.shape

    @property
    def ndim(self) -> int:
        return self.__hidden.ndim

    @property
    def size(self) -> int:
        return self.__hidden.size

    @property
    def dtype(self) -> Any:
        return self.__hidden.dtype

    def __getitem__(self, index: Any) -> Foreign:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(p, Foreign) and p.dtype == bool for p in parts):
            raise ValuesRefusedError("x[mask] has a shape that depends on values")
        return Foreign(self.__hidden[reveal(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.__hidden[reveal(index)] = reveal(value)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return hide(getattr(ufunc, method)(*reveal(args), **reveal(kwargs)))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _VALUE_SHAPED or (function is np.where and len(args) + len(kwargs) == 1):
            raise ValuesRefusedError(f"np.{function.__name__} has a shape that depends on values")
        if function is np.repeat and any(isinstance(a, Foreign) for a in args[1:]):
            raise ValuesRefusedError("np.repeat with an array of counts depends on values")
        if function in _VALUE_GIVING:
            raise ValuesRefusedError(f"np.{function.__name__} gives values away")
        with np.errstate(all="ignore"):
            return hide(function(*reveal(args), **reveal(kwargs)))

    def __repr__(self) -> str:
        return f"Foreign({self.dtype}, {self.shape})"

    __array__ = _refuse("np.asarray (__array__)")
    __float__ = _refuse("float()")
    __int__ = _refuse("int()")
    __complex__ = _refuse("complex()")
    __bool__ = _refuse("bool() (an if or while)")
    __index__ = _refuse("use as an index (__index__)")
    __iter__ = _refuse("iteration")
    __contains__ = _refuse("in")
    item = _refuse("item()")
    tolist = _refuse("tolist()")
    __hash__ = None  # type: ignore[assignment]


def hide(value: Any) -> Any:
    """Arrays and NumPy scalars (also inside tuples and lists) as foreign arrays."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Foreign(value)
    if isinstance(value, (tuple, list)):
        return _same_type(value, [hide(v) for v in value])
    if isinstance(value, dict):
        return {k: hide(v) for k, v in value.items()}
    return value


def hide_arrays(value: Any) -> Any:
    """Arrays as foreign arrays; NumPy's numbers stay numbers, as a program's constants do."""
    if isinstance(value, (tuple, list)):
        return _same_type(value, [hide_arrays(v) for v in value])
    if isinstance(value, dict):
        return {k: hide_arrays(v) for k, v in value.items()}
    return Foreign(value) if isinstance(value, np.ndarray) else value


def reveal(value: Any) -> Any:
    """The arrays inside foreign ones: for this file and for the tests' own comparisons."""
    if isinstance(value, Foreign):
        return value._Foreign__hidden  # type: ignore[attr-defined]
    if isinstance(value, (tuple, list)):
        return _same_type(value, [reveal(v) for v in value])
    if isinstance(value, dict):
        return {k: reveal(v) for k, v in value.items()}
    return value


def _same_type(value: Any, parts: list[Any]) -> Any:
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
