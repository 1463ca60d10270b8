"""Machine code of Python functions is theirs as they are now: whatever is replaced between calls, both do the same."""

from __future__ import annotations

import random
import re
import sys
import textwrap
import traceback
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest

from tautograd._compile.native.llvm.jit import why_not
from tautograd._compile.native.python_code import layout
from tautograd._compile.native.python_code.bind import says, translated

pytestmark = pytest.mark.skipif(
    why_not() is not None or not layout.agrees(), reason="no machine code here"
)
_FILE = "<replaced>"

# Functions of the kinds that are translated, each with other texts that may take its place.
_TEXTS = {
    "attributes": (
        "def f(x, y=3):\n    x.first = y\n    return x.first, x.second",
        "def f(x, y=5):\n    return x.second, y",
    ),
    "names": (
        "def f(x, y=2):\n    if x.first is SOME:\n        return helper(x.first, LIMIT)\n    return helper(y, NUMBER)",
        "def f(x, y=2):\n    return NUMBER",
    ),
    "classes": (
        "def f(x, y=None):\n    made = Plain()\n    made.own = y\n    other = new(Plain)\n"
        "    return type(made) is Plain, isinstance(x, Plain), made.__dict__, other.__dict__",
        "def f(x, y=None):\n    return type(x) is Plain",
    ),
    "errors": (
        "def f(x, y=1):\n    total = 0\n    for i, one in enumerate(x.items):\n        if i > y:\n"
        "            raise ValueError(one)\n        total += helper(one, LIMIT)\n    return total",
        "def f(x, y=1):\n    a, b = x.items\n    return a, b",
    ),
    "unset": (
        "def f(x, y=1):\n    if x.first:\n        found = y\n    return found",
        "def f(x, y=1):\n    found, other = x.first\n    return missing",
    ),
    "finally": (
        "def f(x, y=1):\n    try:\n        x.second = helper(x.first, y)\n        return x.second\n"
        "    finally:\n        x.first = helper(y, LIMIT)",
        "def f(x, y=4):\n    with lock:\n        return helper(x.first, y)",
    ),
    "lists": (
        "def f(x, y=1):\n    return [helper(one, y) for one in x.items if one is not None], x.items[0]",
        "def f(x, y=1):\n    return (*x.items[1:],)"
        if False
        else "def f(x, y=1):\n    return x.items[-y]",
    ),
}


class _World:
    """What the functions name, and what may become of it. Made from a seed, it is always the same."""

    def __init__(self, name: str) -> None:
        self.texts = _TEXTS[name]
        self.names: dict[str, Any] = {}
        exec(textwrap.dedent(_NAMES), self.names)
        self.names["__name__"] = __name__
        self.function: Any = self.defined(self.texts[0])
        self.code, self.defaults = self.function.__code__, self.function.__defaults__

    def defined(self, text: str) -> Any:
        scope = dict(self.names)
        exec(compile(text, _FILE, "exec"), scope)
        made = scope["f"]
        return FunctionType(made.__code__, self.names, "f", made.__defaults__)

    def arguments(self, rng: random.Random) -> tuple[Any, dict[str, Any]]:
        first = _first(self)
        held = object.__new__(first["Held"])
        values = [None, 0, 1, 2.5, "x", first["SOME"], [1, 2], (3, 4), True]
        for name in ("first", "second"):
            if rng.random() < 0.8:
                try:
                    setattr(held, name, rng.choice(values))
                except Exception:  # another attribute stands there now
                    continue
        items = rng.choice([[1, 2], (1, 2, 3), [], [None, 1], [1, "x"], [5] * 4])
        object.__setattr__(held, "items", items)
        x = rng.choice([held] * 6 + [first["Plain"], None, SimpleNamespace(first=1, items=[2])])
        given = [x, *([rng.choice(values)] * rng.randint(0, 2))]
        named = {} if rng.random() < 0.8 else {"y": 7}
        return given[: rng.randint(1, 3)], named


_NAMES = """
    import threading
    lock = threading.RLock()
    new = object.__new__
    SOME = object()
    LIMIT, NUMBER = 4, 7
    class Held:
        __slots__ = ("first", "second", "items")
    class Other:
        __slots__ = ("first", "second", "third")
    class Plain:
        pass
    class Shown:
        def __get__(self, held, owner=None):
            return "shown"
        def __set__(self, held, value):
            raise AttributeError(f"not {value}")
    slots = {name: vars(Held)[name] for name in ("first", "second")}
    def helper(a, b):
        return [a, b]
    def other_helper(a, b):
        return a + b
"""


def _own_code(w: _World, rng: random.Random) -> None:
    made = w.defined(rng.choice(w.texts))
    w.function.__code__ = made.__code__


def _defaults(w: _World, rng: random.Random) -> None:
    w.function.__defaults__ = rng.choice([(rng.randint(0, 9),), ("y",), None, (1, 2)])


def _global(w: _World, rng: random.Random) -> None:
    name = rng.choice(["LIMIT", "NUMBER", "SOME", "helper", "Plain", "new", "lock", "missing"])
    values = [1, None, "text", w.names["other_helper"], w.names["Held"], object.__new__, object]
    if rng.random() < 0.2:
        w.names.pop(name, None)
    else:
        w.names[name] = rng.choice([*values, _first(w)[name]] if name in _first(w) else values)


def _first(w: _World) -> dict[str, Any]:
    found: dict[str, Any] = w.__dict__.setdefault("_at_first", dict(w.names))
    return found


def _class_attribute(w: _World, rng: random.Random) -> None:
    held, other = _first(w)["Held"], _first(w)["Other"]
    name = rng.choice(["first", "second"])
    slots = _first(w)["slots"]
    values = [slots[name], slots["second"], vars(other)["third"], _first(w)["Shown"](), 3, None]
    setattr(held, name, rng.choice(values))


def _class_behaviour(w: _World, rng: random.Random) -> None:
    kind = _first(w)[rng.choice(["Held", "Plain"])]
    name = rng.choice(["__getattribute__", "__setattr__", "__init__", "__new__", "__getattr__"])
    if name in vars(kind):
        delattr(kind, name)
        return
    ways: dict[str, Any] = {
        "__getattribute__": lambda self, key: (
            ("asked", key) if key == "first" else object.__getattribute__(self, key)
        ),
        "__setattr__": lambda self, key, value: object.__setattr__(self, key, [value]),
        "__init__": lambda self: object.__setattr__(self, "filled", 1),
        "__new__": lambda cls, *given: ("made", cls.__name__),
        "__getattr__": lambda self, key: ("instead", key),
    }
    setattr(kind, name, ways[name])


def _caches(w: _World, rng: random.Random) -> None:
    sys._clear_type_cache()


_CHANGES = (_own_code, _defaults, _global, _class_attribute, _class_behaviour, _caches)


def _outcome(call: Callable[..., Any], given: Any, named: dict[str, Any], x: Any) -> Any:
    try:
        found = repr(call(*given, **named))
    except Exception as error:
        trace = [
            (entry.name, entry.lineno)
            for entry in traceback.extract_tb(error.__traceback__)
            if entry.filename == _FILE and entry.name != "<listcomp>"  # (which Python 3.12 has no more)
        ]
        found = f"{type(error).__name__}: {error} {trace}"
    after = {name: _shown(x, name) for name in ("first", "second")}
    return found, after


def _shown(x: Any, name: str) -> str:
    try:
        return repr(getattr(x, name))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", list(_TEXTS))
def test_whatever_is_replaced(name: str, seed: int) -> None:
    """Two worlds go through the same, one with the function, one with its machine code."""
    worlds = _World(name), _World(name)
    codes = []
    for w in worlds:
        _first(w)
        code = translated(w.texts[0], w.function, restarts=False)
        assert code is not None
        codes.append(code.builtin(w.function))
    calls = worlds[0].function, codes[1]
    ways = [random.Random(seed), random.Random(seed)]
    ran = 0
    for _ in range(150):
        outcomes = []
        for w, call, rng in zip(worlds, calls, ways, strict=True):
            if rng.random() < 0.3:
                rng.choice(_CHANGES)(w, rng)
            if rng.random() < 0.1:  # and all is as it was
                _restore(w)
            given, named = w.arguments(rng)
            outcomes.append(_plain(_outcome(call, given, named, given[0])))
        assert outcomes[0] == outcomes[1]
        ran += worlds[1].function.__code__ is worlds[1].code
    assert ran


def _restore(w: _World) -> None:
    first = _first(w)
    for kind in (first["Held"], first["Plain"]):
        for name in ("__getattribute__", "__setattr__", "__init__", "__new__", "__getattr__"):
            if name in vars(kind):
                delattr(kind, name)
    for name, slot in first["slots"].items():
        setattr(first["Held"], name, slot)
    w.names.clear()
    w.names.update(first)
    w.function.__code__, w.function.__defaults__ = w.code, w.defaults


def _plain(outcome: Any) -> Any:
    """Without the addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(outcome))


def test_another_text_is_not_translated() -> None:
    """A file may have been replaced since it was imported."""
    scope: dict[str, Any] = {}
    exec(compile("def f(x):\n    return x\n", _FILE, "exec"), scope)
    assert says("def f(x):\n    return x\n", scope["f"])
    assert not says("def f(x):\n    return -x\n", scope["f"])


def test_a_closure_is_pythons() -> None:
    def around(x: int) -> Any:
        def f() -> int:
            return x

        return f

    assert translated("def f():\n    return x\n", around(3)) is None
