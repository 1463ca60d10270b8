"""What the user's code calls its tensors: variables in the calling frames, and parameters by path."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from ..._user_code.owners import Owner, owners
from ..._verify.subject.engines import is_module, is_tensor

_PLAIN = re.compile(r"(?!_)\w+")
_TARGET = re.compile(r"\s*([A-Za-z]\w*)\s*(?::[^=]+)?(?:[-+*/@])?=(?!=)")


def variables_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a frame, without keeping them alive.

    Before Python 3.13 a function's frame keeps the dictionary created from its variables; its
    contents would live until the function returns. It is cleared again, unless something else holds it.
    """
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return frame.f_locals  # of a module or class: its actual namespace
    found = frame.f_locals
    copy = dict(found)
    if sys.version_info < (3, 13) and sys.getrefcount(found) <= _UNSHARED:
        found.clear()
    return copy


_UNSHARED = 3  # references held by the frame, by this function, and by the refcount call


class Names:
    """Names of tensors; the tensors are kept alive, so that ids stay unique."""

    def __init__(self) -> None:
        self.tensors: dict[int, tuple[Any, str]] = {}  # id of the tensor -> itself and its name
        self.called: dict[int, str] = {}  # id of a called module -> its name
        self._modules: dict[int, Any] = {}
        self._parameters: set[int] = set()

    def see_frames(self, frame: FrameType | None, called: Sequence[Any] = ()) -> None:
        """Learn from the variables of the user's frames, the innermost first, then their globals.

        `called` are the modules that the program called directly: their parameters have paths starting
        with the variable that holds them, so that `maker.0.weight` and `judge.0.weight` are distinct.
        """
        spaces: list[dict[str, Any]] = []
        while frame is not None:
            if owners[frame.f_code.co_filename] is Owner.USERS:
                if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
                    spaces.append(variables_of(frame))
                if not any(space is frame.f_globals for space in spaces):
                    spaces.append(frame.f_globals)
            frame = frame.f_back
        self._see_called(spaces, called)
        for space in spaces:
            self.see(space)

    def _see_called(self, spaces: Sequence[dict[str, Any]], called: Sequence[Any]) -> None:
        held = {id(module): _holder(module, spaces) for module in called if _has_parameters(module)}
        several = len({id(holder) for _, holder in held.values()}) > 1
        for module in called:
            name, holder = held.get(id(module), ("", module))
            prefix = f"{name}." if name and several else ""
            self.see_module(holder, prefix)
            paths = (path for path, inner in holder.named_modules() if inner is module)
            self.called.setdefault(id(module), f"{prefix}{next(paths, '')}".removesuffix("."))

    def see(self, variables: dict[str, Any]) -> None:
        """Learn from a dictionary of variables; known tensors keep their names."""
        modules: dict[str, Any] = {}
        tensors: list[tuple[Any, str]] = []
        for name, value in list(variables.items()):
            if name == "self" and is_module(value):
                continue
            if not _PLAIN.fullmatch(name):
                continue
            if is_tensor(value):
                tensors.append((value, name))
            elif is_module(value):
                modules[name] = value
            elif isinstance(value, (list, tuple)) and len(value) <= 64:
                tensors += [(t, f"{name}[{i}]") for i, t in enumerate(value) if is_tensor(t)]
        inner = {id(m) for one in modules.values() for m in one.modules() if m is not one}
        owners = {
            name: module
            for name, module in modules.items()
            if id(module) not in inner and _has_parameters(module)
        }
        for name, module in owners.items():  # before variables: `for p in model.parameters()`
            self.see_module(module, f"{name}." if len(owners) > 1 else "")
        for tensor, name in tensors:
            self.tensors.setdefault(id(tensor), (tensor, name))

    def see_module(self, module: Any, prefix: str = "") -> None:
        """Learn the paths of a module's parameters and buffers."""
        if id(module) in self._modules:
            return
        self._modules[id(module)] = module
        parameters = list(module.named_parameters())
        self._parameters.update(id(tensor) for _, tensor in parameters)
        for path, tensor in (*parameters, *module.named_buffers()):
            self.tensors.setdefault(id(tensor), (tensor, f"{prefix}{path}"))

    @property
    def modules(self) -> list[Any]:
        return list(self._modules.values())

    def of(self, tensor: Any) -> str:
        """The name of a tensor, or an empty string."""
        known = self.tensors.get(id(tensor))
        return known[1] if known is not None and known[0] is tensor else ""

    def is_parameter(self, tensor: Any) -> bool:
        """Whether it is a parameter of a known module."""
        return id(tensor) in self._parameters and bool(self.of(tensor))


def _has_parameters(module: Any) -> bool:
    return any(True for _ in module.parameters())


def _holder(module: Any, spaces: Sequence[dict[str, Any]]) -> tuple[str, Any]:
    """The variable that holds a module, and its outermost module; no name if there is none."""
    for space in spaces:
        found: list[tuple[str, Any]] = []
        for name, value in list(space.items()):
            if is_module(value) and (_PLAIN.fullmatch(name)):
                found.append(("" if name == "self" else name, value))
            elif name == "self" and hasattr(value, "__dict__"):  # a trainer, an agent
                found += [(n, v) for n, v in vars(value).items() if is_module(v)]
        holding = [(n, v) for n, v in found if any(inner is module for inner in v.modules())]
        if holding:
            return max(holding, key=lambda one: sum(1 for _ in one[1].modules()))
    return "", module


def assigned_in(text: str) -> str:
    """The variable that a line of code assigns to, if it is a simple name.

    A line of several statements assigns to none: it is unknown which of them an operation belongs to.
    """
    if ";" in text:
        try:
            if len(ast.parse(text.strip()).body) > 1:
                return ""
        except SyntaxError:  # a part of a longer statement, which has no other on its lines
            pass
    found = _TARGET.match(text)
    return found.group(1) if found else ""


_SMALL = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def small(number: int) -> str:
    """A number as a subscript: `x₂`."""
    return str(number).translate(_SMALL)
