"""Recorders: functions written from records when they are first called."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import tautograd as tg
from tautograd._autograd.modes import shared
from tautograd._autograd.recorder import source_of
from tautograd._ops.declare.record import INTERNAL, REGISTRY, renamed

RECORDS = {**REGISTRY, **INTERNAL}


def test_nothing_is_written_before_it_is_called() -> None:
    """Importing the package costs no compilation; one operation costs its own."""
    program = """
import sys
import tautograd as tg
assert "tautograd._autograd.recorder" not in sys.modules
x = tg.ones(2, requires_grad=True)
x.exp()
from tautograd._autograd.recorder import _CODES
print(len(_CODES))
"""
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert 1 <= int(found.stdout) <= 3


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_every_record_has_a_text_that_compiles(name: str) -> None:
    text = source_of(RECORDS[name])
    compile(text, name, "exec")
    walks = text.count("frame.f_back is not None")
    assert walks == (RECORDS[name].vjp is not None)


def test_the_text_is_found_by_debuggers() -> None:
    tg.ones(2).sinh()
    op = REGISTRY["sinh"]
    assert inspect.getsource(op.apply) == source_of(op)
    assert op.apply.__code__.co_name == "sinh"


def test_records_that_say_the_same_share_a_text_but_no_code() -> None:
    x = tg.ones(2)
    x.sinh(), x.cosh()
    one, other = REGISTRY["sinh"], REGISTRY["cosh"]
    assert source_of(one) == source_of(other)
    assert one.apply.__code__ is not other.apply.__code__
    assert one.apply.__code__.co_filename == other.apply.__code__.co_filename


def test_a_function_keeps_its_identity_and_is_written_anew_for_other_rules() -> None:
    """Whoever holds an operation's function (a method of Tensor) sees the rules that hold now."""
    op = REGISTRY["mul"]
    x = tg.ones(2, requires_grad=True)
    held = tg.Tensor.__mul__
    assert held(x, x).grad_fn.saved[0] is not None
    vjp, jvp = {n: op.vjp[i].source for i, n in enumerate(op.inputs)}, op.jvp
    jvp = {n: jvp[i].source for i, n in enumerate(op.inputs)} if isinstance(jvp, tuple) else jvp
    op.set_rules({"x": lambda g: g * 5, "y": lambda g: g * 7}, None)
    try:
        for product in (held(x, x), tg.mul(x, x)):
            assert product.grad_fn.saved == ()
            x.grad = None
            product.sum().backward()
            assert x.grad.tolist() == [12.0, 12.0]
    finally:
        op.set_rules(vjp, jvp)
    x.grad = None
    held(x, x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert tg.Tensor.__mul__ is held


def test_a_renamed_record_has_a_function_of_its_own() -> None:
    twin = renamed(REGISTRY["exp"], "OtherBackward0")
    x = tg.ones(2, requires_grad=True)
    assert twin.apply((x,)).grad_fn.name() == "OtherBackward0"
    assert x.exp().grad_fn.name() == "ExpBackward0"


def test_a_node_knows_the_line_whoever_calls() -> None:
    """An operator remembers the code that called last; another one is not taken for it."""
    x = tg.ones(2, requires_grad=True)

    def first():
        return x * x

    def second():
        return x * x

    for _ in range(3):
        for function in (first, second):
            site = function().grad_fn.created_at
            assert site.function == function.__name__
            assert site.text == "return x * x"


def test_what_is_saved_follows_who_wants_a_gradient() -> None:
    """A node saves what the rules of its inputs with an edge name: nothing more, and nothing if nothing."""
    x, y = tg.ones(2, requires_grad=True), tg.full((2,), 3.0)
    assert [s is not None for s in tg.mul(x, y).grad_fn.saved] == [False, True, False]
    assert [s is not None for s in (x * y).grad_fn.saved] == [False, True, False]
    assert [s is not None for s in (y * x).grad_fn.saved] == [True, False, False]
    assert [s is not None for s in (x * x).grad_fn.saved] == [True, True, False]
    total = tg.addmm(tg.ones(2, 2, requires_grad=True), tg.ones(2, 2), tg.ones(2, 2))
    total.sum().backward()
    total.sum().backward()  # nothing was saved, so nothing was freed


THREADS = """
import threading
import tautograd as tg
from tautograd._autograd.modes import shared

x = tg.ones(3, requires_grad=True)


def run(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def leaves_recording_off():
    tg.set_grad_enabled(False)
    assert not shared.ordinary
    assert (x * 2).grad_fn is None


def goes_backward():
    tg.is_grad_enabled()
    (x * x).sum().backward()


for work in (leaves_recording_off, goes_backward, tg.is_grad_enabled):
    run(work)
    assert shared.ordinary, work
    assert shared.unusual == 0 and shared.threads <= 1

started, stop = threading.Event(), threading.Event()


def stays():
    with tg.no_grad():
        started.set()
        stop.wait()


tg.is_grad_enabled()
thread = threading.Thread(target=stays)
thread.start()
started.wait()
assert not shared.ordinary
assert (x * x).grad_fn is not None
stop.set()
thread.join()
assert shared.ordinary
print("fine")
"""


def test_what_holds_for_all_threads_holds_again_when_others_are_gone() -> None:
    """Also when a thread ended with recording off: its modes end with it."""
    command = [sys.executable, "-c", THREADS]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.stdout == "fine\n", found.stderr


def test_a_hook_that_leaves_other_modes_behind() -> None:
    """A backward pass puts back what it found, whatever a hook has done."""
    unusual = shared.unusual
    for grad in (True, False):
        x = tg.ones(2, requires_grad=True)
        y = x * x
        y.register_hook(lambda g, grad=grad: tg.set_grad_enabled(grad) and None)
        y.sum().backward()
        assert shared.unusual == unusual
        assert tg.is_grad_enabled()
        assert (x * x).grad_fn is not None
        with tg.no_grad():
            assert (x * x).grad_fn is None
