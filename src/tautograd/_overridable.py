"""Which functions a class with `__torch_function__` may be asked about: the tables of `torch.overrides`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import tautograd as torch

from ._ops.declare.public import FUNCTIONS, METHODS
from ._tensor.tensor import Tensor

Function = Callable[..., Any]


def namespaces() -> dict[str, tuple[Any, list[str]]]:
    """Where there are functions on tensors, and their names."""
    rooms = {"nn.functional": torch.nn.functional, "linalg": torch.linalg, "fft": torch.fft}
    rooms["special"] = torch.special
    found: dict[str, tuple[Any, list[str]]] = {"torch": (torch, sorted(FUNCTIONS))}
    for name, room in rooms.items():
        found[f"torch.{name}"] = room, sorted(n for n in room.__all__ if not n[0].isupper())
    return found


@functools.cache
def overridable() -> tuple[dict[Any, list[Function]], dict[Function, str]]:
    """The functions by namespace, and the name of each."""
    functions: dict[Any, list[Function]] = {}
    names: dict[Function, str] = {}
    for path, (room, labels) in namespaces().items():
        for label in labels:
            fn = getattr(room, label, None)
            if isinstance(fn, FunctionType) and not label.startswith("_"):
                functions.setdefault(room, []).append(fn)
                names.setdefault(fn, f"{path}.{label}")
    for label, held in list(vars(Tensor).items()):
        if (label.startswith("_") and not label.endswith("__")) or label in _OF_THE_CLASS:
            continue
        if isinstance(held, property):
            functions.setdefault(held, []).append(held.__get__)
            names.setdefault(held.__get__, f"torch.Tensor.{label}.__get__")
        elif isinstance(held, FunctionType):
            functions.setdefault(Tensor, []).append(held)
            names.setdefault(held, f"torch.Tensor.{label}")
    return functions, names


_OF_THE_CLASS = {"__new__", "__init_subclass__", "__hash__", "__class__", "__torch_function__"}


@functools.cache
def methods() -> frozenset[Function]:
    return frozenset(overridable()[0][Tensor]) | frozenset(METHODS.values())


@functools.cache
def ignored() -> frozenset[Function]:
    """Functions of `torch` that no class is asked about: they are given no tensor."""
    known = overridable()[1]
    here = (getattr(torch, name, None) for name in dir(torch))
    return frozenset(fn for fn in here if isinstance(fn, FunctionType) and fn not in known)


@functools.cache
def stand_ins() -> dict[Function, Function]:
    """For each function one that takes the same arguments and gives -1: to test a class that overrides all of them."""
    return {fn: _stand_in(fn) for fns in overridable()[0].values() for fn in fns}


def _stand_in(fn: Function) -> Function:
    if getattr(fn, "__name__", "") == "__get__":
        return lambda self: -1
    heads = []
    kinds = inspect.Parameter
    star = False
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind is kinds.VAR_POSITIONAL:
            heads.append(f"*{parameter.name}")
            star = True
        elif parameter.kind is kinds.VAR_KEYWORD:
            heads.append(f"**{parameter.name}")
        else:
            if parameter.kind is kinds.KEYWORD_ONLY and not star:
                heads.append("*")
                star = True
            given = "" if parameter.default is kinds.empty else "=None"
            heads.append(f"{parameter.name}{given}")
    made: Function = eval(f"lambda {', '.join(heads)}: -1")
    return made
