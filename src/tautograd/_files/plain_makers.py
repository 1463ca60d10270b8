"""Creating plain data that a pickle writes as a call, only from arguments of the kind it is saved with.

Each maker checks the types of all its arguments, and charges for the object, before it creates it.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from .._arrays.devices import device
from .._arrays.formats import FORMAT_NAMES
from .._tensor.tensor import Size
from . import allowance as costs
from .allowance import Allowance
from .numpy_numbers import NumPyKind, is_number_code
from .refusals import DamagedFile, UnsafeFile, shown

_DEVICE = r"[a-z]{1,20}(:[0-9]{1,9})?"
_SMALL = 200  # bytes of a device, a NumPy number and the like


def _refuse(what: str) -> DamagedFile:
    return DamagedFile(f"{what} in the file is made of other things than it is saved with")


def _device(allowance: Allowance, args: tuple[Any, ...]) -> Any:
    kinds = tuple(map(type, args[:3]))
    if kinds not in ((str,), (str, int)) or not re.fullmatch(_DEVICE, args[0]):
        raise _refuse("a device")
    if len(args) == 2 and not 0 <= args[1] < 1 << 31:
        raise _refuse("a device")
    allowance.take(_SMALL)
    return device(*args)


_LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc")


def _layout(allowance: Allowance, args: tuple[Any, ...]) -> Any:
    if len(args) != 1 or type(args[0]) is not str:
        raise _refuse("a layout")
    name = args[0].removeprefix("torch.")
    if name not in _LAYOUTS:
        raise UnsafeFile(
            f"the file has a tensor of layout {shown(args[0])}, which tautograd does not have"
        )
    return FORMAT_NAMES[name]


def _encoded(allowance: Allowance, args: tuple[Any, ...]) -> bytes:
    """Bytes in the form of protocol 2: a text with one character for each."""
    if tuple(map(type, args[:3])) != (str, str) or args[1] not in ("latin1", "latin-1"):
        raise _refuse("a value of bytes")
    allowance.take(_SMALL + len(args[0]))
    return args[0].encode("latin1")  # type: ignore[no-any-return]


def _bytes(allowance: Allowance, args: tuple[Any, ...]) -> bytes:
    if args:
        raise _refuse("a value of bytes")
    return b""


def _bytearray(allowance: Allowance, args: tuple[Any, ...]) -> bytearray:
    kinds = tuple(map(type, args[:3]))
    if kinds == (str, str):
        data = _encoded(allowance, args)
    elif kinds in ((), (bytes,)):
        data = args[0] if args else b""
    else:
        raise _refuse("a bytearray")
    allowance.take(_SMALL + len(data))
    return bytearray(data)


def _complex(allowance: Allowance, args: tuple[Any, ...]) -> complex:
    if tuple(map(type, args[:3])) != (float, float):
        raise _refuse("a complex number")
    return complex(*args)


def _size(allowance: Allowance, args: tuple[Any, ...]) -> Size:
    if len(args) != 1 or type(args[0]) not in (tuple, list):
        raise _refuse("a torch.Size")
    allowance.take(costs.TUPLE + 24 * len(args[0]))
    if any(type(n) is not int or not 0 <= n < 1 << 63 for n in args[0]):
        raise _refuse("a torch.Size")
    return Size(args[0])


def _set(allowance: Allowance, args: tuple[Any, ...]) -> set[Any]:
    if len(args) > 1 or type((*args, [])[0]) is not list:
        raise _refuse("a set")
    allowance.take(costs.SET)
    made: set[Any] = set()
    allowance.add(made, args[0] if args else [])
    return made


def _frozenset(allowance: Allowance, args: tuple[Any, ...]) -> frozenset[Any]:
    return frozenset(_set(allowance, args))


def _ordered(allowance: Allowance, args: tuple[Any, ...]) -> OrderedDict[Any, Any]:
    pairs = args[0] if args else []
    if len(args) > 1 or type(pairs) is not list:
        raise _refuse("an OrderedDict")
    allowance.take(costs.ORDERED_DICT + 16 * len(pairs))
    if any(type(pair) not in (tuple, list) or len(pair) != 2 for pair in pairs):
        raise _refuse("an OrderedDict")
    made: OrderedDict[Any, Any] = OrderedDict()
    allowance.put(made, [key for key, _ in pairs], [value for _, value in pairs])
    return made


def _counter(allowance: Allowance, args: tuple[Any, ...]) -> Counter[Any]:
    counts = args[0] if args else {}
    if len(args) > 1 or type(counts) is not dict:
        raise _refuse("a Counter")
    allowance.take(costs.COUNTER + 16 * len(counts))
    made: Counter[Any] = Counter()
    allowance.put(made, list(counts), list(counts.values()))
    return made


def _numpy_kind(allowance: Allowance, args: tuple[Any, ...]) -> NumPyKind:
    if not args or len(args) > 3 or type(args[0]) is not str:
        raise _refuse("a dtype of NumPy")
    if not is_number_code(args[0]):
        raise UnsafeFile(f"the file has a NumPy value of kind {shown(args[0])}, which is no number")
    allowance.take(_SMALL)
    return NumPyKind(args[0])


def _numpy_number(allowance: Allowance, args: tuple[Any, ...]) -> Any:
    if len(args) != 2 or type(args[0]) is not NumPyKind or type(args[1]) is not bytes:
        raise _refuse("a number of NumPy")
    allowance.take(_SMALL)
    return args[0].number(args[1])


PlainMaker = Callable[[Allowance, tuple[Any, ...]], Any]

CLASSES: dict[type, tuple[str, PlainMaker]] = {
    bytes: ("builtins", _bytes),
    bytearray: ("builtins", _bytearray),
    complex: ("builtins", _complex),
    set: ("builtins", _set),
    frozenset: ("builtins", _frozenset),
    Size: ("torch", _size),
    OrderedDict: ("collections", _ordered),
    Counter: ("collections", _counter),
}
"""Classes, which may also be values themselves, with the module under which files name them."""

FUNCTIONS: dict[tuple[str, str], PlainMaker] = {
    ("torch", "device"): _device,
    ("torch.serialization", "_get_layout"): _layout,
    ("_codecs", "encode"): _encoded,
    ("numpy", "dtype"): _numpy_kind,
    ("numpy._core.multiarray", "scalar"): _numpy_number,
    ("numpy.core.multiarray", "scalar"): _numpy_number,
}
"""Functions, and classes that are called like functions."""
