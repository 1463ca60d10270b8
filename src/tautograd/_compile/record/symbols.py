"""A Python number that stands for any: it computes as ever, and what is computed of it is noted.

While a function is recorded, a number that changes from call to call is one of these. Arithmetic gives
another one; a comparison gives what it gives, and the record holds for that outcome; with tensors it is an
operand that the program reads from memory. It is no subclass of float: code in C would read such a one
unseen. Whoever asks for the value itself (`float(x)`, `math.exp(x)`, `f"{x}"`, a key of a dictionary) gets
it, and from then on the number it came from is a constant of the record.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.attributes import ReadAsNumber
from .trees import NESTS

PLAIN = (bool, int, float, np.generic)
_SHOWN = frozenset(("dtype", "shape", "ndim", "size", "itemsize", "nbytes", "strides"))


class Symbol(ReadAsNumber):
    """A number of a recording: its value now, and where it stands among the numbers that are noted."""

    __slots__ = ("__weakref__", "place", "scalars", "value")

    def __init__(self, scalars: Any, place: int, value: Any) -> None:
        self.scalars = scalars
        self.place = place
        self.value = value

    @property
    def __class__(self) -> Any:  # what isinstance goes by
        return type(self.value)

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        raise TypeError(
            "__class__ assignment only supported for mutable types or ModuleType subclasses"
        )

    def asked(self) -> Any:
        """The value itself, for somebody who cannot be followed."""
        return self.scalars.asked(self)

    # --- comparison: the record holds for the outcome -----------------------------------------------

    def __bool__(self) -> bool:
        return bool(self.scalars.compute(operator.truth, (self,)))

    # --- rounding ------------------------------------------------------------------------------------

    def __round__(self, digits: Any = None) -> Any:
        return (
            round(self.asked()) if digits is None else self.scalars.compute(round, (self, digits))
        )

    def rounded_to(self, dtype: Any, then: Any) -> Any:
        """The number as a scalar of a dtype, and then of another."""
        return self.scalars.compute(rounded, (self, dtype, then))

    def astype(self, dtype: Any, **options: Any) -> Any:
        """What a NumPy scalar is in another dtype."""
        return self.rounded_to(dtype, None)

    def as_array(self, dtype: Any = None) -> Any:
        """The number as an array without dimensions, in memory of its own."""
        found = self if dtype is None else self.rounded_to(dtype, None)
        if type(found) is not Symbol or not self.scalars.live:
            return np.asarray(without_symbols(found))
        return self.scalars.array(found)

    def item(self) -> Any:
        """What a NumPy scalar is as a Python number."""
        if not isinstance(self.value, np.generic):
            raise AttributeError("'float' object has no attribute 'item'")
        return self.scalars.compute(_item, (self,))

    # --- in array functions --------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return self.scalars.ufunc(ufunc, method, args, kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(self.asked()).__array__(*args, **kwargs)

    # --- what asks for the value itself --------------------------------------------------------------

    def _read(self) -> Any:
        return self.asked()

    def __trunc__(self) -> Any:
        return self.asked().__trunc__()

    def __floor__(self) -> Any:
        return self.asked().__floor__()

    def __ceil__(self) -> Any:
        return self.asked().__ceil__()

    def __hash__(self) -> int:
        return hash(self.asked())

    def __repr__(self) -> str:
        return repr(self.asked())

    def __str__(self) -> str:
        return str(self.asked())

    def __format__(self, spec: str) -> str:
        return format(self.asked(), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self.value), (self.asked(),)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("__array_interface__", "__array_struct__", "__array_priority__"):
            raise AttributeError(name)
        found = getattr(self.value, name)
        if name in _SHOWN:
            return found
        return getattr(self.asked(), name)

    @property
    def real(self) -> Any:
        """Itself."""
        return self

    def conjugate(self) -> Any:
        """Itself."""
        return self


def rounded(value: Any, dtype: Any, then: Any) -> Any:
    """A number as a NumPy scalar, rounded once or twice."""
    found = np.asarray(value).astype(dtype)
    return found[()] if then is None else found.astype(then)[()]


def _item(value: Any) -> Any:
    return value.item()


def _binary(function: Callable[..., Any], reflected: bool = False) -> Any:
    def method(self: Symbol, other: Any) -> Any:
        if type(other) is not Symbol and not isinstance(other, PLAIN):
            if isinstance(other, complex):
                return function(*((other, self.asked()) if reflected else (self.asked(), other)))
            return NotImplemented
        return self.scalars.compute(function, (other, self) if reflected else (self, other))

    return method


def _unary(function: Callable[..., Any]) -> Any:
    def method(self: Symbol) -> Any:
        return self.scalars.compute(function, (self,))

    return method


def _divided(self: Symbol, other: Any) -> Any:
    return self // other, self % other


def _dividing(self: Symbol, other: Any) -> Any:
    return other // self, other % self


def _power(self: Symbol, other: Any, modulus: Any = None) -> Any:
    if modulus is not None:
        return pow(self.asked(), other, modulus)
    return _raised(self, other)


_raised = _binary(operator.pow)
_METHODS = {"__pow__": _power, "__rpow__": _binary(operator.pow, reflected=True)}
_METHODS |= {"__divmod__": _divided, "__rdivmod__": _dividing}
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    _METHODS[f"__{_name}__"] = _binary(getattr(operator, _name))
    _METHODS[f"__r{_name}__"] = _binary(getattr(operator, _name), reflected=True)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _METHODS[f"__{_name}__"] = _binary(getattr(operator, _name))
for _name in ("neg", "pos", "abs"):
    _METHODS[f"__{_name}__"] = _unary(getattr(operator, _name))
for _name, _method in _METHODS.items():
    setattr(Symbol, _name, _method)


def without_symbols(value: Any) -> Any:
    """Arguments with the numbers themselves, also inside tuples, lists and dictionaries."""
    return NESTS.mapped(value, lambda leaf: leaf.value if type(leaf) is Symbol else leaf)


def has_symbols(value: Any) -> bool:
    """Whether such a number is among arguments."""
    return any(type(leaf) is Symbol for leaf in NESTS.leaves(value))
