"""What a function reads from outside by name: closures, globals, settings of objects, contents of lists.

Each value that was there before the recording must be there again before a replay. What cannot be compared
(an iterator, a large NumPy array) cannot be recorded, nor can a value that the function changes itself.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from operator import attrgetter, is_
from typing import Any

import numpy as np

from ..._arrays.dtypes import get_default_dtype
from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor
from ..._trees.nests import fields_of_dataclass
from ..messages.lines import MODES, Lines
from ..record.call_arguments import CHANGED, DEEP
from ..record.symbols import Symbol
from ..record.trees import tensors_in
from ..record.varying_numbers import Spot, plain_again
from .frozen import DEPTH, SIMPLE, Asked, frozen
from .reachable import Reading, is_users, state_of

_OURS = ("", __name__.partition(".")[0], "torch")
_content_of = attrgetter("cell_contents")
# What a function is made of, and its default values.
OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")
_made_of = attrgetter(*OF_FUNCTIONS)

__all__ = ["DEPTH", "SIMPLE", "Variables", "frozen", "is_users"]


class Variables(Reading):
    """Values by name, as they were."""

    def __init__(self, fn: Any, arguments: Any = (), guarded: bool = True) -> None:
        objects: list[Any] = []
        _objects_in(arguments, objects)
        super().__init__(fn, objects, guarded)
        self._arguments = arguments, frozen(arguments, DEEP)
        self._functions = list(map(_made_of, self.functions))
        self.methods = {place: foreign_method(*place) for place in self._methods_of_ours()}
        self._draws = _draws()
        self._modes = _modes()

    def _methods_of_ours(self) -> set[tuple[type, str]]:
        """What is called of the library's own classes, whose code is not read."""
        names = {name for name in self._names if name[:1] != "_"}
        parts = {type(part) for module in self.modules for part in module.modules()}
        found = {(Tensor, name) for name in names}
        found |= {(kind, name) for kind in parts for name in (*names, "forward")}
        found |= {(type(o), name) for o in self.optimizers for name in (*names, "step")}
        return {(kind, name) for kind, name in found if hasattr(kind, name)}

    # --- whether it is as it was -------------------------------------------------------------------

    def reason(self) -> str | None:
        """What has changed, or None."""
        changed = self._changed()
        return None if changed is None else changed[0]

    def _changed(self) -> tuple[str, str, Any] | None:
        """What has changed, in words; its name, and what is there now."""
        if not _same_parts(self.functions, self._functions):
            return "the code of a function, or its defaults", "__defaults__", None
        for (owner, name), method in self.methods.items():
            if foreign_method(owner, name) is not method:
                return f"the method `{name}` of {owner.__name__}", name, None
        for name, cell, content in self.cells:
            now = cell.cell_contents
            if now is not content and not _equal(now, content):
                return f"the variable `{name}`", name, now
        for names, name, value in self.named:
            if (now := names.get(name)) is not value and not _equal(now, value):
                what = "global variable" if "__name__" in names else "attribute"
                return f"the {what} `{name}`", name, now
        for name, value, content in self.contents:
            if frozen(value) != content:
                if type(value) is Asked:
                    return f"`{name}`", name, value.look()
                return f"the content of `{name}`", name, value
        return None

    def sameness(self) -> Callable[[], bool]:
        """A function that says, as quickly as can be, whether everything is the very same object."""
        cells, contents = [c for _, c, _ in self.cells], [v for _, _, v in self.cells]
        names, keys = [n for n, _, _ in self.named], [k for _, k, _ in self.named]
        values = [v for _, _, v in self.named]
        look: Any = dict.get
        if any(type(n) is not dict for n in names):  # a class's
            look = _look
        reason = self.reason
        parts, methods = list(map(_made_of, self.functions)), self.methods

        def unchanged_code() -> bool:
            now = _same_parts(self.functions, parts)
            return now and all(foreign_method(*at) is was for at, was in methods.items())

        def same_content() -> bool:
            if not unchanged_code():
                return False
            return all(map(is_, map(_content_of, cells), contents)) or reason() is None

        def same() -> bool:
            if unchanged_code() and all(map(is_, map(_content_of, cells), contents)):
                return all(map(is_, map(look, names, keys), values)) or reason() is None
            return reason() is None

        if self.contents:
            return lambda: reason() is None
        return same if names else same_content

    def spots(self) -> list[tuple[Spot, Any]]:
        """The places of closures, globals and attributes that can hold a number, with what was there."""
        cells = [(Spot(cell, None), value) for _, cell, value in self.cells]
        return cells + [(Spot(d, n), value) for d, n, value in self.named if type(d) is dict]

    def leave_out(self, keys: set[Any]) -> None:
        """Do not ask any more what is there: a record takes it as an input."""
        self.cells = [place for place in self.cells if (id(place[1]), None) not in keys]
        self.named = [place for place in self.named if (id(place[0]), place[1]) not in keys]

    def forget(self) -> None:
        """Hold nothing of what the function reads: it reads by itself."""
        self.cells, self.named, self.contents, self.generators = [], [], [], []
        self.modules, self.optimizers, self.functions, self._functions = [], [], [], []
        self._given, self._arguments, self.methods = [], ((), ()), {}

    def plain_again(self) -> None:
        """Numbers in place of symbols that a function left in what it reaches by name."""
        for names, _, _ in self.named:
            if isinstance(names, dict):
                plain_again(names)
        for _, cell, _ in self.cells:
            if type(cell.cell_contents) is Symbol:
                cell.cell_contents = cell.cell_contents.value
        for _, value, _ in self.contents:
            if isinstance(value, (list, dict)):
                plain_again(value)

    @property
    def lines(self) -> Lines:
        """The lines of the functions that were read."""
        return Lines(self.functions, self.where)

    def containers(self) -> list[Any]:
        """Lists, dictionaries and tuples that the function finds by name."""
        places = [value for _, _, value in (*self.cells, *self.named)]
        tuples = [value for value in places if type(value) is tuple and value]
        return [value for _, value, _ in self.contents if type(value) is not Asked] + tuples

    def settle(self, tape: Any) -> None:
        """After a recording: refuse what a replay would not do, or would do otherwise."""
        changed = self._changed()
        if changed is not None and tensors_in(changed[2]):
            what = f"a tensor that is kept in `{changed[1]}` after the call"
            tape.refuse(what, "escape", self.lines.storing(changed[1]))
        elif changed is not None:
            what = f"a change of {changed[0]}, a Python value,"
            tape.refuse(what, "attribute", self.lines.storing(changed[1]))
        elif _draws() != self._draws or any(state_of(g) != at for _, g, at in self.generators):
            tape.refuse("a random number of Python or NumPy", "draw", self.lines.drawing())
        elif _modes() != self._modes:
            where = self.lines.naming(MODES)
            tape.refuse("a mode that is left on after the call", "mode", where)
        elif frozen(self._arguments[0], DEEP) != self._arguments[1]:
            tape.refuse(CHANGED, "attribute", self.lines.changing_arguments())


def foreign_method(kind: type, name: str) -> Any:
    """What somebody has put in the place of a method of the library's; None where it is our own.

    Our own may be another one for a while: compiling and the doctor wrap methods.
    """
    found = getattr(kind, name, None)
    home = getattr(getattr(found, "fget", found), "__module__", None) or ""
    return None if home.partition(".")[0] in _OURS else found


def _same_parts(functions: list[Any], parts: list[Any]) -> bool:
    return all(
        all(map(is_, now, was)) for now, was in zip(map(_made_of, functions), parts, strict=True)
    )


def _draws() -> Any:
    """Where the random numbers of Python and of NumPy are."""
    drawn = sys.modules.get("numpy.random.mtrand")
    state = None if drawn is None else drawn._rand.get_state(legacy=False)["state"]
    return random.getstate(), state and (state["pos"], int(state["key"][0]))


def _modes() -> Any:
    """What a function can switch on and leave on."""
    return modes.grad, modes.inference, modes.lower, get_default_dtype()


def _objects_in(value: Any, found: list[Any]) -> None:
    """What among the arguments is neither a tensor nor a plain value."""
    if isinstance(value, (tuple, list)):
        for part in value:
            _objects_in(part, found)
    elif isinstance(value, dict):
        for part in value.values():
            _objects_in(part, found)
    elif names := fields_of_dataclass(value):
        found.append(type(value))
        for name in names:
            _objects_in(getattr(value, name), found)
    elif type(value) not in SIMPLE and not isinstance(value, (Tensor, np.ndarray, np.generic)):
        found.append(value)


def _look(names: Any, key: str) -> Any:
    return names.get(key)


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and type(a) in SIMPLE and frozen(a) == frozen(b)
