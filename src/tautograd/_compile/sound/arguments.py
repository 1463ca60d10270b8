"""What a public call was given, written down so that another call can be held against it, or made again.

A tensor is the one that the call before made, the argument of that place, the one from outside; a number is itself
with its type and its sign, so that 1, 1.0 and True, 0.0 and -0.0 are told apart. Of an object that may change without
becoming another one nothing can be said; such a call is `Unknown`, and the function is not followed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays.devices import device
from ..._arrays.dtypes import dtype
from ..._arrays.formats import layout, memory_format
from ..._random import Generator
from ...optim.optimizer import Optimizer
from .lazy_array import LazyArray

_OWN = __name__.partition(".")[0]


class Unknown(Exception):
    """An argument of which nothing can be said; why."""


@dataclass(slots=True, eq=False)
class Ref:
    """A tensor: number of those made in the run, of an argument, or one from outside."""

    kind: str  # "made", "argument", "outside", "constant"
    key: Any
    content: Any = None  # of a constant, which is compared where it is first met


@dataclass(slots=True, eq=False)
class ArrayRef:
    """The array of a tensor, or one that was drawn."""

    of: Any  # Ref, or the number of a draw


@dataclass(slots=True, eq=False)
class Same:
    """A value that has to be equal to the bit, or an object that has to be the same."""

    value: Any


@dataclass(slots=True, eq=False)
class Parts:
    kind: type
    parts: tuple[Any, ...]


@dataclass(slots=True, eq=False)
class Pairs:
    kind: type
    keys: tuple[Any, ...]
    parts: tuple[Any, ...]


@dataclass(slots=True, eq=False)
class Cut:
    """A slice."""

    parts: tuple[Any, ...]


_IMMUTABLE = (int, bool, str, bytes, type(None), type(Ellipsis), range)
_ITSELF = (dtype, device, layout, memory_format, type, Generator, Optimizer)


def same_value(a: Any, b: Any) -> bool:
    """Whether two values are equal to the bit, and of one type."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is float:
        return (a == b and (a != 0 or str(a) == str(b))) or (
            a != a and struct.pack("d", a) == struct.pack("d", b)
        )
    if kind is complex:
        return same_value(a.real, b.real) and same_value(a.imag, b.imag)
    if issubclass(kind, (np.ndarray, np.generic)):
        alike = a.dtype == b.dtype and a.shape == b.shape and not a.dtype.hasobject
        return (
            alike
            and getattr(a, "strides", 0) == getattr(b, "strides", 0)
            and a.tobytes() == b.tobytes()
        )
    if issubclass(kind, np.dtype):
        return bool(a == b)
    if issubclass(kind, _ITSELF):
        return bool(issubclass(kind, (dtype, device, layout, memory_format)) and a == b)
    return (kind in _IMMUTABLE or _is_plain_of_ours(kind)) and bool(a == b)


def function_parts(function: Any) -> tuple[Any, ...]:
    """What a function of ours was made with: its code is the same at each call, this need not be."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return tuple(
        [
            function_parts(x) if hasattr(x, "__code__") else x
            for x in (*cells, *(function.__defaults__ or ()))
        ]
    )


def _is_plain_of_ours(kind: type) -> bool:
    """A class of this package whose objects are compared by what they say, and do not change."""
    own = kind.__module__.partition(".")[0] == _OWN
    return own and bool(vars(kind).get("__eq__") and vars(kind).get("__hash__"))


def written_down(value: Any, tensor: Any, array: Any) -> Any:
    """A value as a description; `tensor` and `array` describe those."""
    found = array(value)
    if found is not None:
        return found
    kind = type(value)
    if kind in _IMMUTABLE or kind in (float, complex) or isinstance(value, (*_ITSELF, np.dtype)):
        return Same(value)
    found = tensor(value)
    if found is not None:
        return found
    if kind is slice:
        cut = (value.start, value.stop, value.step)
        return Cut(tuple([written_down(part, tensor, array) for part in cut]))
    if isinstance(value, (tuple, list)):
        return Parts(kind, tuple([written_down(part, tensor, array) for part in value]))
    if kind is dict:
        for key in value:
            if type(key) not in _IMMUTABLE:
                raise Unknown(f"a dictionary with a key of type {type(key).__name__}")
        return Pairs(
            kind, tuple(value), tuple([written_down(v, tensor, array) for v in value.values()])
        )
    if isinstance(value, np.generic) or _is_plain_of_ours(kind):
        return Same(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return Same(value.copy("K"))
    raise Unknown(f"an argument of type {kind.__name__}")


def agrees(spec: Any, value: Any, run: Any) -> bool:
    """Whether a value is what was written down."""
    kind = type(spec)
    if kind is Ref:
        return bool(run.is_tensor(spec, value))
    if kind is Same:
        return value is spec.value or same_value(spec.value, value)
    if kind is Parts:
        return (
            type(value) is spec.kind
            and len(value) == len(spec.parts)
            and all(agrees(s, v, run) for s, v in zip(spec.parts, value, strict=True))
        )
    if kind is Pairs:
        return (
            type(value) is spec.kind
            and len(value) == len(spec.keys)
            and all(map(same_value, spec.keys, value))
            and all(agrees(s, v, run) for s, v in zip(spec.parts, value.values(), strict=True))
        )
    if kind is ArrayRef:
        return type(value) is LazyArray and run.is_array(spec, value)
    if type(value) is not slice:
        return False
    return all(
        agrees(s, v, run)
        for s, v in zip(spec.parts, (value.start, value.stop, value.step), strict=True)
    )


def made_again(spec: Any, run: Any) -> Any:
    """The value that was written down, with the tensors of a run."""
    kind = type(spec)
    if kind is Ref:
        return run.tensor(spec)
    if kind is Same:
        return spec.value
    if kind is Parts:
        parts = [made_again(part, run) for part in spec.parts]
        if hasattr(spec.kind, "_fields"):
            return spec.kind(*parts)
        return tuple.__new__(spec.kind, parts) if issubclass(spec.kind, tuple) else spec.kind(parts)
    if kind is Pairs:
        return dict(zip(spec.keys, [made_again(part, run) for part in spec.parts], strict=True))
    if kind is ArrayRef:
        return run.array(spec)
    return slice(*[made_again(part, run) for part in spec.parts])
