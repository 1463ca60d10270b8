"""What the user's code calls its tensors: variables in the frames that led here, and parameters by path."""

from __future__ import annotations

import inspect
import re
import sys
from types import FrameType
from typing import Any

from ..._user_code.owners import Owner, owners
from ..._verify.subject.engines import is_module, is_tensor

_PLAIN = re.compile(r"(?!_)\w+")
_TARGET = re.compile(r"\s*([A-Za-z]\w*)\s*(?::[^=]+)?(?:[-+*/@])?=(?!=)")


def variables_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a frame, without keeping them alive.

    Before Python 3.13 a function's frame keeps the dictionary that was made of its variables; what is
    in it would live until the function returns. It is emptied again, unless somebody else has it.
    """
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return frame.f_locals  # of a module or class: its real namespace
    found = frame.f_locals
    copy = dict(found)
    if sys.version_info < (3, 13) and sys.getrefcount(found) <= _UNSHARED:
        found.clear()
    return copy


_UNSHARED = 3  # by the frame, by us, and by whoever counts


class Names:
    """Names of tensors; the tensors are kept, so that an id stays one tensor's."""

    def __init__(self) -> None:
        self.tensors: dict[int, tuple[Any, str]] = {}  # id of the tensor -> itself and its name
        self._modules: dict[int, Any] = {}

    def see_frames(self, frame: FrameType | None) -> None:
        """Learn from the variables of the user's frames, the innermost first, then their globals."""
        spaces: list[dict[str, Any]] = []
        while frame is not None:
            if owners[frame.f_code.co_filename] is Owner.USERS:
                if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
                    spaces.append(variables_of(frame))
                if not any(space is frame.f_globals for space in spaces):
                    spaces.append(frame.f_globals)
            frame = frame.f_back
        for space in spaces:
            self.see(space)

    def see(self, variables: dict[str, Any]) -> None:
        """Learn from a dictionary of variables; what is known already keeps its name."""
        modules: dict[str, Any] = {}
        for name, value in list(variables.items()):
            if name == "self" and is_module(value):
                continue
            if not _PLAIN.fullmatch(name):
                continue
            if is_tensor(value):
                self.tensors.setdefault(id(value), (value, name))
            elif is_module(value):
                modules[name] = value
            elif isinstance(value, (list, tuple)) and len(value) <= 64:
                for i, part in enumerate(value):
                    if is_tensor(part):
                        self.tensors.setdefault(id(part), (part, f"{name}[{i}]"))
        inner = {id(m) for one in modules.values() for m in one.modules() if m is not one}
        owners = {
            name: module
            for name, module in modules.items()
            if id(module) not in inner and any(True for _ in module.parameters())
        }
        for name, module in owners.items():
            self.see_module(module, f"{name}." if len(owners) > 1 else "")

    def see_module(self, module: Any, prefix: str = "") -> None:
        """Learn the paths of a module's parameters and buffers."""
        if id(module) in self._modules:
            return
        self._modules[id(module)] = module
        for path, tensor in (*module.named_parameters(), *module.named_buffers()):
            self.tensors.setdefault(id(tensor), (tensor, f"{prefix}{path}"))

    @property
    def modules(self) -> list[Any]:
        return list(self._modules.values())

    def of(self, tensor: Any) -> str:
        """The name of a tensor, or nothing."""
        known = self.tensors.get(id(tensor))
        return known[1] if known is not None and known[0] is tensor else ""


def assigned_in(text: str) -> str:
    """The variable that a line of code assigns to, if it is a plain one."""
    found = _TARGET.match(text)
    return found.group(1) if found else ""


_SMALL = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def small(number: int) -> str:
    """A number below the line: `x₂`."""
    return str(number).translate(_SMALL)
