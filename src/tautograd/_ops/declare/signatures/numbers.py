"""Arguments that stand for a number, read as one: 0-dim tensors and NumPy's scalars.

Which parameters are numbers, the table says; of functions that it does not have, the annotations.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...._tensor.tensor import Tensor
from . import signatures_of
from .checking import Form
from .kinds import KINDS

Call = tuple[tuple[Any, ...], dict[str, Any]]
_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "SymInt": int,
    "float": float,
    "Scalar": lambda value: value,
}
_ANNOTATION = re.compile(r"\b(int|float|Number)\b")


def replaced(
    fn: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool
) -> Call | None:
    """The call with numbers in these places, for the first overload that takes them; or None.

    PyTorch tries overloads that take tensors as they are before the others: then nothing is replaced.
    """
    known = signatures_of(name)
    takers = [
        form
        for form in (Form(signature, method) for signature in known)
        if form.complaint(name, args[method:], kwargs) is None
    ]
    calls = [_read_by(form, args, kwargs, method) for form in takers]
    if calls and None not in calls:
        return calls[0]
    in_python = not known or name.startswith("nn.functional.")  # where the table has "Any"
    return _read(args, kwargs, *_annotated(fn)) if in_python else None


def _read_by(
    form: Form, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool
) -> Call | None:
    kinds = {name: p.kind for p in form.parameters for name in (p.name, form.shown(p))}
    places = [p.kind for p in form.positional]
    if form.varied:  # or the sizes one by one
        places += ["SymInt"] * (len(args) - method - 1)
    return _read(args, kwargs, [""] * method + places, kinds)


def _annotated(fn: Callable[..., Any]) -> tuple[list[str], dict[str, str]]:
    """The kinds of a Python function's parameters: by place, and by name."""
    kinds = {}
    for name, annotation in getattr(fn, "__annotations__", {}).items():
        match = _ANNOTATION.search(annotation if isinstance(annotation, str) else repr(annotation))
        if match is not None and "Tensor" not in str(annotation):
            kinds[name] = "Scalar" if match[1] == "Number" else match[1]
    code: Any = getattr(inspect.unwrap(fn), "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    return [kinds.get(name, "") for name in names], kinds


def _read(
    args: tuple[Any, ...], kwargs: dict[str, Any], places: list[str], kinds: dict[str, str]
) -> Call | None:
    places = places + [""] * (len(args) - len(places))
    plain = tuple(_number(value, kind) for value, kind in zip(args, places, strict=False))
    named = {key: _number(value, kinds.get(key, "")) for key, value in kwargs.items()}
    same = all(a is b for a, b in zip(plain, args, strict=True))
    if same and all(named[key] is kwargs[key] for key in kwargs):
        return None
    return plain, named


def _number(value: Any, kind: str) -> Any:
    """The number that a value stands for; itself, where it is none or none is asked for."""
    if kind.endswith("[]"):
        return _numbers(value, kind.removesuffix("[]"))
    if kind not in _NUMBERS or not isinstance(value, (Tensor, np.generic)):
        return value
    if not KINDS[kind][0](value):
        return value
    if isinstance(value, (np.bool_, np.complex64)):
        return float(value.real)
    number = value.item()
    if isinstance(number, complex) and not number.imag:
        number = number.real
    if isinstance(number, complex) and kind == "float":
        raise RuntimeError("value cannot be converted to type double without overflow")
    return _NUMBERS[kind](number)


def _numbers(value: Any, kind: str) -> Any:
    """A list of numbers, or the one number that may stand for all of them."""
    if not isinstance(value, (tuple, list)):
        return _number(value, kind)
    plain = [_number(part, kind) for part in value]
    same = all(a is b for a, b in zip(plain, value, strict=True))
    return value if same else type(value)(plain) if type(value) in (tuple, list) else tuple(plain)
