"""Machine code of Python functions is theirs as they are now: whatever is replaced between calls, both do the same."""

from __future__ import annotations

import importlib
import random
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, SimpleNamespace
from typing import Any

import pytest

import tautograd as tg
from tautograd._compile.native.llvm.jit import why_not
from tautograd._compile.native.python_code import install, layout
from tautograd._compile.native.python_code.bind import says, translated
from tautograd._ops.declare.code_holders import back_to_python, holder, in_machine_code
from tautograd._ops.declare.record import REGISTRY, renamed
from tautograd._stand_ins import slots
from tests.planted_rules import declared

pytestmark = pytest.mark.skipif(
    why_not() is not None or not layout.agrees(), reason="no machine code here"
)
_FILE = "<replaced>"
T = tg.Tensor

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
        (
            "def f(x, y=None):\n    made = Plain()\n    made.own = y\n    other = new(Plain)\n"
            "    return type(made) is Plain, isinstance(x, Plain), made.__dict__, other.__dict__"
        ),
        "def f(x, y=None):\n    return type(x) is Plain",
    ),
    "errors": (
        (
            "def f(x, y=1):\n    total = 0\n    for i, one in enumerate(x.items):\n        if i > y:\n"
            "            raise ValueError(one)\n        total += helper(one, LIMIT)\n    return total"
        ),
        "def f(x, y=1):\n    a, b = x.items\n    return a, b",
    ),
    "unset": (
        "def f(x, y=1):\n    if x.first:\n        found = y\n    return found",
        "def f(x, y=1):\n    found, other = x.first\n    return missing",
    ),
    "finally": (
        (
            "def f(x, y=1):\n    try:\n        x.second = helper(x.first, y)\n        return x.second\n"
            "    finally:\n        x.first = helper(y, LIMIT)"
        ),
        "def f(x, y=4):\n    with lock:\n        return helper(x.first, y)",
    ),
    "caught": (
        (
            "def f(x, y=1):\n    seen = []\n    try:\n        seen.append(helper(x.first, LIMIT) + y)\n"
            "    except TypeError as error:\n        seen.append(str(error))\n        if y == 0:\n            raise\n"
            "        if y is None:\n            raise ValueError(f'{y!r} of {x.second}') from error\n"
            "    except (AttributeError, NameError) as error:\n        seen.append((type(error), len(x.items) / y))\n"
            "    else:\n        seen.append('fine')\n    finally:\n        seen.append(1)\n    return seen"
        ),
        "def f(x, y=4):\n    try:\n        return x.first + y\n    except Exception as e:\n        raise e from None",
    ),
    "caught in a loop": (
        (
            "def f(x, y=1):\n    total = []\n    for one in x.items:\n        try:\n            if one == y:\n"
            "                continue\n            total.append(LIMIT % one)\n        except ZeroDivisionError:\n"
            "            total.append(None)\n        if len(total) > 2:\n            break\n    assert total, x.items\n"
            "    return total"
        ),
        "def f(x, y=1):\n    for one in x.items:\n        return one\n    raise KeyError(y)",
    ),
    "iterators": (
        (
            "def f(x, y=1):\n    found = {}\n    for a, b in zip(x.items, (y, LIMIT, NUMBER)):\n"
            "        found[a] = b\n    x.first = found\n    x.first[y] -= 1\n    del found[1]\n"
            "    return found, all(b for b in found.values()), any(b is y for b in x.items)"
        ),
        "def f(x, y=1):\n    return [a for a in reversed(x.items) if a]",
    ),
    "numbers": (
        (
            "def f(x, y=2):\n    x.first = NUMBER / y + NUMBER // y - y ** 2 % 5\n    x.first *= 2\n"
            "    if 0 < x.first <= LIMIT * 8 != y:\n        return (again := x.items[y:]), again, ~len(again)\n"
            "    return NUMBER & 3 | y << 1, f'{x.first:.2f} and {y}'"
        ),
        "def f(x, y=2):\n    return -y",
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
            if entry.filename == _FILE
            and entry.name != "<listcomp>"  # (which Python 3.12 has no more)
        ]
        chain = [type(one).__name__ for one in (error.__cause__, error.__context__)]
        found = f"{type(error).__name__}: {error} {trace} {chain} {error.__suppress_context__}"
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


def _adds(x: Any) -> Any:
    return x + ADDED  # type: ignore[name-defined]  # noqa: F821


def test_functions_of_one_code_have_names_of_their_own() -> None:
    one, other = (
        FunctionType(_adds.__code__, {"ADDED": added, "__builtins__": {}}) for added in (1, 10)
    )
    codes = [install.of_source(function) for function in (one, other)]
    builtins = [code.builtin(f) for code, f in zip(codes, (one, other), strict=True) if code]
    assert [found(5) for found in builtins] == [6, 15]
    other.__globals__["ADDED"] = 20
    assert [found(5) for found in builtins] == [6, 25]
    shared = FunctionType(_adds.__code__, one.__globals__)
    assert install.of_source(shared) is codes[0]


def test_a_function_that_waits_for_its_first_call_is_left_alone() -> None:
    """Until then all functions of operations have one code, and each goes on to be another one."""
    waiting = renamed(REGISTRY["sin"], "WaitingBackward0").apply
    install._with_what_it_calls(waiting)
    assert (waiting.__code__, id(waiting.__globals__)) not in install._by_code


def test_a_closure_has_names_of_its_own() -> None:
    """One piece of machine code for all functions of one text, each with what its names stand for."""
    text = (
        "def around(x):\n    def put(value):\n        nonlocal x\n        x = value\n"
        "    def drop():\n        nonlocal x\n        del x\n"
        "    def f(more=1):\n        return x + more\n    return f, put, drop\n"
    )
    names: dict[str, Any] = {}
    exec(compile(text, _FILE, "exec"), names)
    one, two = names["around"](3), names["around"](40)
    code = translated(text, one[0], restarts=False, inside="exec")
    assert code is not None
    assert (
        translated(text, one[1], restarts=False, inside="exec") is None
    )  # it gives a name a value
    first, second = (code.builtin(one[0]), code.builtin(two[0]))
    assert (first(), second(), first(2), second(more=2)) == (4, 41, 5, 42)
    one[1](10)
    assert (first(), second()) == (11, 41)
    one[2]()
    with pytest.raises(NameError, match="'x'"):
        first()


# ---- recorders and the walk themselves

_OPS = ("mul", "exp", "add", "sum", "pow_scalar")
_WALK = [
    (importlib.import_module(f"{install.PACKAGE}.{place}"), name)
    for place, names in install.OFTEN.items()
    for name in names
]


def _functions_of(op: Any) -> list[Any]:
    return [f for f in op._written if "node_class" in f.__globals__]


def _as_machine_code() -> None:
    for name in _OPS:
        for function in _functions_of(REGISTRY[name]):
            if function.__globals__["kind"] != "record":
                install.install(function)


def _as_python() -> None:
    for name in _OPS:
        for function in REGISTRY[name]._written:
            back_to_python(function)
    for members in install._modules():
        for name, value in list(members.items()):
            function = getattr(value, "__self__", None)
            if isinstance(value, BuiltinFunctionType) and isinstance(function, FunctionType):
                members[name] = function


class _Watcher:
    """What a program may put in the place of others, each with what takes it away again."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.undo: list[Callable[[], None]] = []

    def rules(self, rng: random.Random) -> None:
        op = REGISTRY[rng.choice(("mul", "exp"))]
        factor = rng.choice((2.0, 5.0))
        own = declared(op)
        self.undo.append(lambda: op.set_rules(*own))
        op.set_rules({n: (lambda g: g * factor) for n in op.inputs}, own[1])

    def forward(self, rng: random.Random) -> None:
        op, own, by = REGISTRY["exp"], REGISTRY["exp"].forward, rng.choice((2.0, 3.0))

        def other(x: Any) -> Any:
            self.seen.append("forward")
            if by == 3.0:
                raise RuntimeError("not today")
            return own(x) * by

        self.undo.append(lambda: setattr(op, "forward", own))
        op.forward = other

    def walk(self, rng: random.Random) -> None:
        module, name = rng.choice(
            [(m, n) for m, n in _WALK if n in ("deliver", "accumulate_leaf", "fit", "make")]
        )
        held = [
            (members, key)
            for members in install._modules()
            for key, value in list(members.items())
            if value is vars(module)[name]
        ]
        own = vars(module)[name]

        def other(*args: Any, **kwargs: Any) -> Any:
            self.seen.append(name)
            return own(*args, **kwargs)

        def undo() -> None:
            for members, key in held:
                members[key] = own

        for members, key in held:
            members[key] = other
        self.undo.append(undo)

    def code(self, rng: random.Random) -> None:
        """Of a recorder: other code, given to it directly."""
        function = rng.choice(_functions_of(REGISTRY["mul"]))
        own = function.__code__

        def nothing(*args: Any) -> Any:
            return None

        if function.__globals__["kind"] == "operator" and holder(function) is function:
            function.__code__ = nothing.__code__
            self.undo.append(lambda: setattr(function, "__code__", own))

    def method(self, rng: random.Random) -> None:
        def make(own: Any) -> Any:
            def other(*args: Any) -> Any:
                self.seen.append("method")
                return own(*args)

            return other

        self.undo.append(slots.replace(T, rng.choice(("__mul__", "exp", "sum")), make))

    def attribute(self, rng: random.Random) -> None:
        slot = vars(T)["_data"]

        def get(tensor: Any) -> Any:
            self.seen.append("_data")
            return slot.__get__(tensor)

        T._data = property(get, slot.__set__)  # type: ignore[misc,assignment]
        self.undo.append(lambda: setattr(T, "_data", slot))

    def mode(self, rng: random.Random) -> None:
        way = rng.choice(
            (tg.no_grad, tg.enable_grad, tg.inference_mode, tg.autograd.detect_anomaly, self._hooks)
        )()
        way.__enter__()
        self.undo.append(lambda: way.__exit__(None, None, None))

    def _hooks(self) -> Any:
        def pack(x: Any) -> Any:
            self.seen.append("packed")
            return x

        return tg.autograd.graph.saved_tensors_hooks(pack, lambda x: x)

    def function_mode(self, rng: random.Random) -> None:
        seen = self.seen

        class Sees(tg.overrides.TorchFunctionMode):
            def __torch_function__(
                self, function: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append(getattr(function, "__name__", "?"))
                return function(*args, **(kwargs or {}))

        way = Sees()
        way.__enter__()
        self.undo.append(lambda: way.__exit__(None, None, None))

    def take_away(self) -> None:
        while self.undo:
            self.undo.pop()()


_REPLACED = ("rules", "forward", "walk", "code", "method", "attribute", "mode", "function_mode")


_STEPS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda x, y, z: z * y,
    lambda x, y, z: z.exp(),
    lambda x, y, z: z + 2,
    lambda x, y, z: z**2,
    lambda x, y, z: x * z,
    lambda x, y, z: z * 0.5,
)


def _program(rng: random.Random) -> Any:
    x = tg.tensor([1.0, 2.0, 0.5], requires_grad=True)
    y = tg.tensor([[1.0], [3.0]], requires_grad=True)
    z = x
    for _ in range(rng.randint(1, 4)):
        z = rng.choice(_STEPS)(x, y, z)
    if rng.random() < 0.1:
        z = z * tg.ones(7)
    loss = z.sum()
    loss.backward(create_graph=rng.random() < 0.2)
    if rng.random() < 0.2:
        loss.backward()
    name = None if loss.grad_fn is None else loss.grad_fn.next_functions[0][0].name()
    return [str(z), name, *(None if t.grad is None else t.grad.tolist() for t in (x, y))]


def _run_under_changes(seed: int, prepare: Callable[[], None]) -> list[Any]:
    rng, watcher, found = random.Random(seed), _Watcher(), []
    try:
        for _ in range(25):
            prepare()
            # What is replaced must not depend on which way it runs: so all choices are made beforehand.
            changes = [c for c in _REPLACED if rng.random() < 0.12]
            inner = random.Random(rng.random())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for change in changes:
                    getattr(watcher, change)(random.Random(inner.random()))
                try:
                    found.append(_program(inner))
                except Exception as error:
                    found.append((type(error).__name__, str(error)))
                finally:
                    watcher.take_away()
            found.append(tuple(watcher.seen))
            watcher.seen.clear()
    finally:
        watcher.take_away()
    return found


@pytest.mark.parametrize("seed", range(20))
def test_recorders_and_the_walk(seed: int) -> None:
    _as_python()
    try:
        python = _run_under_changes(seed, lambda: None)
        machine = _run_under_changes(seed, _as_machine_code)
        assert any(f in in_machine_code for name in _OPS for f in REGISTRY[name]._written)
        for i, (a, b) in enumerate(zip(python, machine, strict=True)):
            assert a == b, i
    finally:
        _as_python()
