"""Recorders as machine code: what they give, hold and let go is what Python's would, also when something fails."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tautograd as tg
from tautograd._compile.native.llvm.jit import why_not
from tautograd._compile.native.python_code import install, layout
from tautograd._compile.native.python_code.bind import translated
from tautograd._ops.declare.code_holders import back_to_python, in_machine_code
from tautograd._ops.declare.record import REGISTRY
from tautograd._ops.declare.subclasses import looks_for_others
from tests.planted_rules import planted

pytestmark = pytest.mark.skipif(
    why_not() is not None or not layout.agrees(), reason="no machine code here"
)
MANY = 2000
T = tg.Tensor


def _ones(*shape: int, grad: bool = True, dtype: Any = tg.float32) -> Any:
    return tg.ones(shape, dtype=dtype, requires_grad=grad)


def _fails(call: Callable[[], Any], kind: type[BaseException]) -> Callable[[], Any]:
    def run() -> Any:
        with pytest.raises(kind):
            call()

    return run


class _Own:
    def __radd__(self, other: Any) -> str:
        return "mine"


def _cases() -> dict[str, Callable[[], Any]]:
    """Situations that a recorder can be in."""
    a, b, n = _ones(4, 3), _ones(4, 3), _ones(4, 3, grad=False)
    row, scalar, wide = _ones(3), _ones(), _ones(4, 3, dtype=tg.float64)
    whole, half = tg.arange(4), tg.ones(3, dtype=tg.float16)
    turned, part = _ones(3, 4).T, a[1:]
    parameter = tg.nn.Parameter(tg.ones(4, 3))
    made = a * 2.0
    layer = tg.nn.Linear(3, 2)

    def without(call: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            with tg.no_grad():
                return call()

        return run

    return {
        "both": lambda: a + b,
        "one": lambda: a * n,
        "other": lambda: n - a,
        "none": lambda: n + n,
        "itself": lambda: a * a,
        "number": lambda: a * 3.0,
        "whole number": lambda: a + 3,
        "a large number": _fails(lambda: a + 2**70, OverflowError),
        "a number first": lambda: 3.0 - a,
        "broadcast": lambda: a + row,
        "scalars": lambda: scalar / scalar,
        "promoted": lambda: a + wide,
        "integers": lambda: whole + whole,
        "half": lambda: half + half,
        "by columns": lambda: turned + turned,
        "a view": lambda: part + part,
        "a parameter": lambda: parameter * a,
        "with history": lambda: made - a,
        "power": lambda: a**2,
        "power of a parameter": lambda: parameter**3,
        "strange power": lambda: a ** tg.ones(3),
        "linear": lambda: layer(a),
        "function": lambda: (a.sum(), a.exp(), a.mean(0), tg.cat([a, b]), a.t(), a.reshape(-1)),
        "several": lambda: a.max(0),
        "not recorded": without(lambda: a + b),
        "product": lambda: a @ row,
        "someone else's": lambda: a + _Own(),
        "shapes": _fails(lambda: a + _ones(5), RuntimeError),
        "no number": _fails(lambda: a + "x", TypeError),
        "no tensor": _fails(lambda: T.__add__(3, a), TypeError),  # type: ignore[operator, arg-type]
        "too few": _fails(lambda: T.__add__(a), TypeError),  # type: ignore[call-arg]
        "backward": lambda: (a * 3.0).sum().backward(),
        "backward of scalars": lambda: (scalar * scalar).backward() or scalar.grad,
        "gradients": lambda: tg.autograd.grad((a * b).sum(), (a, b)),
        "twice": lambda: tg.autograd.grad(
            tg.autograd.grad((a**3).sum(), a, create_graph=True)[0].sum(), a
        ),
        "backward again": _fails(_again, RuntimeError),
    }


def _again() -> None:
    y = (_ones(3) ** 2).sum()
    y.backward()
    y.backward()


def _recorders() -> list[Any]:
    """Every recorder that the cases have written."""
    for call in _cases().values():
        with contextlib.suppress(Exception):
            call()
    return [f for op in REGISTRY.values() for f in op._written if "node_class" in f.__globals__]


@pytest.fixture(scope="module", autouse=True)
def installed() -> Iterator[None]:
    before = set(in_machine_code)
    for function in _recorders():
        if function not in in_machine_code and function.__globals__["kind"] != "record":
            install.install(function)
    yield
    for function in set(in_machine_code) - before:
        back_to_python(function)


def test_what_is_used_here_is_machine_code() -> None:
    kinds = {(f.__globals__["op"].name, f.__globals__["kind"]) for f in in_machine_code}
    expected = {("exp", "apply"), ("mul", "apply")}
    if not looks_for_others:  # then operators look for a class of the program's, and go on to these
        expected |= {("add", "operator"), ("mul", "operator"), ("pow_scalar", "power")}
    assert expected <= kinds
    assert type(REGISTRY["exp"].apply).__name__ == "builtin_function_or_method"


@pytest.mark.parametrize("name", list(_cases()))
def test_nothing_is_left_or_lost(name: str) -> None:
    """Over many calls, no object's count changes, and no block of memory stays."""
    call = _cases()[name]
    seen = [None, True, False, (), 0, 1, np.dtype(np.float32), np.ndarray, T, list, *_held(call)]
    for left in (
        2,
        1,
        0,
    ):  # other functions may become machine code meanwhile: a leak is one each time
        gc.collect()
        counts, blocks = [sys.getrefcount(x) for x in seen], sys.getallocatedblocks()
        for _ in range(MANY):
            call()
        gc.collect()
        after = [sys.getrefcount(x) for x in seen]
        grown = [x for x, m, n in zip(seen, counts, after, strict=True) if abs(n - m) > MANY // 10]
        more = sys.getallocatedblocks() - blocks
        if not grown and more < MANY // 10:
            return
        assert left, (more, grown)
        time.sleep(0.5)


def _held(call: Any) -> list[Any]:
    """The tensors of a case, with what they are made of."""
    found: list[Any] = []
    stack = [call]
    while stack:
        function = stack.pop()
        for cell in function.__closure__ or ():
            value = cell.cell_contents
            if isinstance(value, T):
                found += [value, value._data, value._version_box, value._node]
            elif hasattr(value, "__closure__"):
                stack.append(value)
    return found


def test_memory_that_runs_out_at_any_place() -> None:
    """Wherever an allocation fails, the result is whole or there is none, and nothing is left."""
    testcapi = pytest.importorskip("_testcapi")
    limit, no_limit = testcapi.set_nomemory, testcapi.remove_mem_hooks
    a, b = _ones(4, 3), _ones(4, 3)
    calls = (lambda: a + b, lambda: a**2, lambda: (a * 2.0).sum().backward())
    for call in calls:
        call()
        gc.collect()
        held = (a, b, a._data, b._data, a._version_box, None)
        counts = [sys.getrefcount(x) for x in held]
        failed = 0
        for first in range(60):
            for last in (first + 1, first + 5, first + 40):
                try:
                    try:
                        limit(first, last)
                        call()
                    finally:
                        no_limit()
                except (MemoryError, RuntimeError, SystemError):
                    # A public function says it in PyTorch's words; and NumPy, without memory, returns results
                    # of sums with an error beside them, with or without machine code.
                    failed += 1
        assert failed
        a.grad = None
        gc.collect()
        for thing, old in zip(held, counts, strict=True):
            assert abs(sys.getrefcount(thing) - old) < 20, thing
    assert (a + b).sum().item() == 24


class _Stops:
    """A forward that raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), ZeroDivisionError("here")])
def test_an_error_of_a_forward_comes_through(error: BaseException, monkeypatch: Any) -> None:
    op = REGISTRY["exp"]
    monkeypatch.setattr(op, "forward", _Stops(error))
    a = _ones(3)
    counts = sys.getrefcount(a)
    for _ in range(50):
        with pytest.raises(type(error)):
            op.apply((a,))
    error.__traceback__ = error.__context__ = None
    assert abs(sys.getrefcount(a) - counts) < 5


def test_a_hook_that_stops_the_walk() -> None:
    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    x = _ones(3)
    for _ in range(50):
        y = x * 2.0
        y.register_hook(stop)
        with pytest.raises(KeyboardInterrupt):
            y.sum().backward()
    assert x.grad is None
    (x * 2.0).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_graphs_are_freed_and_seen_by_the_collector() -> None:
    x = _ones(3)
    y = (x + x) * x
    node = weakref.ref(y.grad_fn)
    edges = gc.get_referents(y)
    assert any(e is y.grad_fn for e in edges)
    assert gc.is_tracked(y)
    assert gc.is_tracked(y.grad_fn)
    del y, edges
    assert node() is None
    z = x + x
    z.own = [z]  # a ring
    gone = weakref.ref(z)
    del z
    gc.collect()
    assert gone() is None


def test_lines_are_those_of_the_program() -> None:
    x = _ones(2)
    y = x + x
    line = sys._getframe().f_lineno - 1
    assert (y.grad_fn.created_at.line, y.grad_fn.created_at.file) == (line, __file__)


def test_threads_at_once() -> None:
    results: list[float] = []

    def work() -> None:
        x = _ones(5)
        for _ in range(300):
            ((x + x) * x**2).sum().backward()
        results.append(float(x.grad.sum()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [9000.0] * 4


def _translated(text: str, restarts: bool = True, **names: Any) -> Any:
    """The machine code of the one function that a text defines, and the function as Python has it."""
    exec(compile(text, "<translated>", "exec"), names)
    function = next(
        f for f in names.values() if isinstance(f, FunctionType) and f.__module__ is None
    )
    code = translated(text, function, restarts=restarts)
    assert code is not None
    return code.builtin(function)


def test_a_class_that_is_changed_is_looked_at_anew() -> None:
    """What a place knows of an attribute holds for a version of the type, not for the type."""

    class Point:
        __slots__ = ("place",)

    class Shown:
        def __get__(self, held: Any, owner: Any = None) -> str:
            return "shown"

    ask = _translated("def ask(x):\n    return x.place\n")
    point = Point()
    point.place = 3
    assert [ask(point), ask(point)] == [3, 3]
    Point.place = Shown()  # type: ignore[assignment]
    assert ask(point) == "shown"
    with pytest.raises(AttributeError):
        ask(3)


def test_rules_that_change_make_a_recorder_pythons_again() -> None:
    op = REGISTRY["sinh"]
    x = _ones(2)
    x.sinh()
    install.install(op._written[0])
    builtin = op.apply
    with planted(op, {"x": lambda g: g * 7.0}, {"x": lambda t: t * 7.0}):
        assert op.apply is not builtin
        x.sinh().sum().backward()
        assert x.grad.tolist() == [7, 7]


_SCRIPT = """
import tautograd as tg, time
from tautograd._ops.declare.code_holders import in_machine_code
x = tg.ones(3, requires_grad=True)
names = lambda: {f.__globals__["op"].name for f in in_machine_code}
x + x
assert not names()
until = time.monotonic() + 60
while "add" not in names() and time.monotonic() < until:
    for _ in range(5000):
        y = x + x
    time.sleep(0.05)
assert "add" in names(), names()
class Mine(tg.Tensor): pass
m = tg.ones(3).as_subclass(Mine)
assert type(m + x) is Mine and type(x + m) is Mine
class Sees(tg.overrides.TorchFunctionMode):
    seen = 0
    def __torch_function__(self, function, types, args=(), kwargs=None):
        Sees.seen += 1
        return function(*args, **(kwargs or {}))
with Sees():
    x + x
assert Sees.seen == 1
(x + x).sum().backward()
print(x.grad.tolist())
"""


def _run(script: str, **environment: str) -> str:
    """What a program prints where nothing else is said of recorders."""
    usual = {name: value for name, value in os.environ.items() if name != "TAUT_RECORDERS"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        env={**usual, **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_that_calls_often_gets_it_and_a_subclass_takes_it_back() -> None:
    assert _run(_SCRIPT) == "[2.0, 2.0, 2.0]\n"


def test_a_program_can_do_without() -> None:
    script = (
        "import tautograd as tg, sys\nx = tg.ones(3, requires_grad=True)\n"
        "for _ in range(9000): x + x\n"
        "print('tautograd._compile.native.python_code' in sys.modules)"
    )
    assert _run(script, TAUT_KERNELS="0") == _run(script, TAUT_RECORDERS="python") == "False\n"


def test_a_child_goes_on_when_its_parent_was_at_it() -> None:
    script = (
        "import os, tautograd as tg\nx = tg.ones(3, requires_grad=True)\n"
        "for _ in range(6000): x + x\n"
        "child = os.fork()\n"
        "for _ in range(9000): y = x * 2.0 + x\n"
        "y.sum().backward()\n"
        "assert x.grad.tolist() == [3, 3, 3]\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
    )
    if hasattr(os, "fork"):
        _run(script)
