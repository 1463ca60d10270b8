"""What a function reads from outside by name: closures, globals, settings of objects, contents of lists.

The functions that it calls by such names are read as well, as far as they are the user's own. Each value
that was there before the recording must be there again before a replay. What cannot be compared (an
iterator, a large NumPy array) cannot be recorded, nor can a value that the function changes itself.
"""

from __future__ import annotations

import dis
import functools
import random
import sys
import sysconfig
from collections.abc import Callable
from operator import attrgetter, is_
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .._autograd.sites import internal
from .._tensor.tensor import Tensor
from ..nn.modules.module import Module
from .nests import tensors_in

_content_of = attrgetter("cell_contents")

SIMPLE = (bool, int, float, complex, str, bytes, type(None))
SMALL = 4096  # bytes of a NumPy array that is compared at each call
DEPTH = 4
_STANDARD = sysconfig.get_path("stdlib")
_OWN = __name__.partition(".")[0]


class Variables:
    """Values by name, as they were."""

    def __init__(self, fn: Any) -> None:
        self.cells: list[tuple[str, Any, Any]] = []
        self.named: list[tuple[dict[str, Any], str, Any]] = []  # of globals and of objects
        self.contents: list[tuple[str, Any, Any]] = []  # lists, dictionaries, small arrays
        self.modules: list[Module] = []
        self.tensors: set[int] = set()
        self.refused: list[tuple[str, str]] = []
        self._seen: set[Any] = set()
        self._draws = _draws()
        self.where: Any = None  # the first line of the function, for errors that know no better one
        self._read(fn, DEPTH)

    # --- what is read ------------------------------------------------------------------------------

    def _read(self, fn: Any, depth: int) -> None:
        """A function, whatever it is wrapped in, with the object it is bound to."""
        while not isinstance(fn, (FunctionType, MethodType)):
            if isinstance(fn, Module):
                self.modules.append(fn)
                fn = type(fn).forward.__get__(fn)
            elif isinstance(fn, functools.partial):
                self._value("an argument of partial", (fn.args, fn.keywords), set(), depth)
                fn = fn.func
            elif hasattr(fn, "__wrapped__"):
                fn = fn.__wrapped__
            elif isinstance(vars(type(fn)).get("__call__"), FunctionType):
                fn = type(fn).__call__.__get__(fn)
            else:
                return
        bound = fn.__self__ if isinstance(fn, MethodType) else None
        code = fn.__code__
        scope: dict[str, Any] = getattr(fn, "__func__", fn).__globals__  # type: ignore[union-attr]
        if (code, id(bound)) in self._seen or not is_users(code.co_filename):
            return
        self._seen.add((code, id(bound)))
        self.where = self.where or (code, -1)
        variables, names = _names(code)
        if bound is not None:
            self._value("self", bound, names, depth)
        for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not filled yet; once it is, it is never empty again
                continue
            self.cells.append((name, cell, value))
            self._value(name, value, names, depth)
        for name in sorted(variables & scope.keys()):
            value = scope[name]
            self.named.append((scope, name, value))
            self._value(name, value, names, depth)

    def _value(self, name: str, value: Any, names: set[str], depth: int) -> None:
        """A value that the function can reach."""
        kind = type(value)
        if kind in SIMPLE or depth == 0:
            return
        if isinstance(value, Tensor):
            self.tensors.add(id(value))
        elif isinstance(value, np.ndarray):
            if value.nbytes > SMALL:
                self.refused.append(
                    (f"the NumPy array `{name}`, whose values may change,", "array")
                )
            else:
                self.contents.append((name, value, frozen(value)))
        elif isinstance(value, (list, dict, set, tuple)):
            if kind is not tuple:
                self.contents.append((name, value, frozen(value)))
            for part in value.values() if isinstance(value, dict) else value:
                self._value(name, part, names, depth - 1)
        elif hasattr(kind, "__next__"):
            self.refused.append(
                (f"`{name}`, which gives something else each time it is asked,", "iterator")
            )
        elif isinstance(value, (FunctionType, MethodType, functools.partial)):
            self._read(value, depth - 1)
        else:
            self._object(value, names, depth)

    def _object(self, value: Any, names: set[str], depth: int) -> None:
        """The attributes of an object, a class or a module of Python that the function names."""
        if isinstance(value, Module):
            self.modules.append(value)
        where = value if isinstance(value, (type, ModuleType)) else type(value)
        home = where.__name__ if isinstance(where, ModuleType) else where.__module__
        known = sys.modules.get(home)
        if home.partition(".")[0] == _OWN:
            return
        if known is None or not is_users(getattr(known, "__file__", None) or "<>"):
            return
        own = getattr(value, "__dict__", {})
        for name in sorted(names):
            if (id(value), name) in self._seen:
                continue
            self._seen.add((id(value), name))
            if name in own:
                if not isinstance(value, Module) and not isinstance(own[name], property):
                    self.named.append((own, name, own[name]))
                self._value(name, own[name], names, depth - 1)
            elif isinstance(method := getattr(type(value), name, None), FunctionType):
                self._read(method.__get__(value), depth - 1)

    # --- whether it is as it was -------------------------------------------------------------------

    def reason(self) -> str | None:
        """What has changed, or None."""
        for name, cell, content in self.cells:
            if cell.cell_contents is not content and not _equal(cell.cell_contents, content):
                return f"the variable `{name}`"
        for names, name, value in self.named:
            if (now := names.get(name)) is not value and not _equal(now, value):
                kind = "global variable" if "__name__" in names else "attribute"
                return f"the {kind} `{name}`"
        for name, value, content in self.contents:
            if frozen(value) != content:
                return f"the content of `{name}`"
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

        def same_content() -> bool:
            return all(map(is_, map(_content_of, cells), contents)) or reason() is None

        def same() -> bool:
            if all(map(is_, map(_content_of, cells), contents)):
                return all(map(is_, map(look, names, keys), values)) or reason() is None
            return reason() is None

        if self.contents:
            return lambda: reason() is None
        return same if names else same_content

    def settle(self, tape: Any) -> None:
        """After a recording: refuse what a replay would not do, or would do otherwise."""
        for name, value, content in self.contents:
            if isinstance(value, (list, dict)) and frozen(value) != content and tensors_in(value):
                tape.refuse(
                    f"a tensor that is kept in `{name}` after the call", "escape", self.where
                )
                return
        changed = self.reason()
        if changed is not None:
            tape.refuse(f"a change of {changed}, a Python value,", "attribute", self.where)
        elif _draws() != self._draws:
            tape.refuse("a random number of Python or NumPy", "draw", self.where)


def frozen(value: Any, depth: int = DEPTH) -> Any:
    """A value that compares equal as long as nothing in it has changed; other objects count as themselves."""
    kind = type(value)
    if kind in SIMPLE:
        return kind, value
    if isinstance(value, np.ndarray):
        return (
            kind,
            value.dtype,
            value.shape,
            value.tobytes() if value.nbytes <= SMALL else id(value),
        )
    if depth and isinstance(value, (tuple, list)):
        return kind, tuple(frozen(part, depth - 1) for part in value)
    if depth and isinstance(value, dict):
        return kind, tuple((k, frozen(part, depth - 1)) for k, part in value.items())
    if depth and isinstance(value, (set, frozenset)):
        return kind, frozenset(frozen(part, depth - 1) for part in value)
    return kind, id(value)


@functools.cache
def is_users(filename: str) -> bool:
    """Whether a file is the user's own: not of this package, of Python, or of an installed one."""
    if internal[filename] or filename.startswith("<frozen"):
        return False
    return not filename.startswith(_STANDARD) and "site-packages" not in filename


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """The names of globals and of attributes in a function, and in functions written inside it."""
    found: tuple[set[str], set[str]] = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL"):
            found[0].add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"):
            found[1].add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for names, inside in zip(found, _names(constant), strict=True):
                names |= inside
    return found


def _draws() -> Any:
    """Where the random numbers of Python and of NumPy are."""
    drawn = sys.modules.get("numpy.random.mtrand")
    state = None if drawn is None else drawn._rand.get_state(legacy=False)["state"]
    return random.getstate(), state and (state["pos"], int(state["key"][0]))


def _look(names: Any, key: str) -> Any:
    return names.get(key)


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and type(a) in SIMPLE and a == b
