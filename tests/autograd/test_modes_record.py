"""The modes of a thread: one record, which contexts, hooks and threads put back as it was."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import tautograd as tg
import tautograd.nn.functional as F
from tautograd._autograd.modes import Modes, change, modes, put, shared


def test_modes_are_one_record_that_cannot_be_changed() -> None:
    assert modes.now == Modes()
    assert modes.now.recording
    for name in Modes._fields:
        with pytest.raises(AttributeError):
            setattr(modes.now, name, None)
        if name != "recording":
            with pytest.raises(AttributeError):
                setattr(modes, name, None)


def test_the_same_modes_are_the_same_object() -> None:
    """A compiled function asks by identity whether a thread's modes are what they were."""
    before = modes.now
    with tg.no_grad(), tg.autocast("cpu"):
        inside = modes.now
        with tg.enable_grad():
            assert modes.now is not inside
        assert modes.now is inside
    assert modes.now is before
    with tg.no_grad(), tg.autocast("cpu"):
        assert modes.now is inside


@pytest.mark.parametrize("first", ["grad", "inference", "hooks", "level", "anomaly"])
@pytest.mark.parametrize("second", ["grad", "inference", "hooks", "level", "anomaly"])
def test_contexts_that_are_left_in_the_order_they_were_entered(first: str, second: str) -> None:
    """Each puts back what it changed, and nothing else."""
    fields = {
        "grad": ("grad", False), "inference": ("inference", True), "hooks": ("saved_hooks", ((1, 2),)),
        "level": ("forward_level", 1), "anomaly": ("anomaly", True),
    }  # fmt: skip
    (one, value), (other, value2) = fields[first], fields[second]
    start = modes.now
    try:
        was = getattr(change(**{one: value}), one)
        was2 = getattr(change(**{other: value2}), other)
        assert modes.special == ({first, second} != {"grad"})
        assert not shared.ordinary
        change(**{one: was})
        assert getattr(modes, other) == (value2 if first != second else was)
        change(**{other: was2 if first != second else was})
        assert modes.now is start
        assert not modes.special
    finally:
        put(start)


def test_a_pass_records_nothing_that_a_hook_does_whoever_has_it() -> None:
    """Hooks of tensors, of nodes and of leaves, each alone the first code of the user's in its pass."""
    seen: list[bool] = []

    def look(*args):
        seen.append(tg.is_grad_enabled())

    def of_leaf(x):
        x.register_hook(look)

    def of_post(x):
        x.register_post_accumulate_grad_hook(look)

    def of_node(x):
        (y := x * x).grad_fn.register_hook(look)
        return y

    def of_result(x):
        (y := x * x).register_hook(look)
        return y

    for plant in (of_leaf, of_post, of_node, of_result):
        x = tg.ones(2, requires_grad=True)
        y = plant(x)
        y = x * x if y is None else y
        y.sum().backward()
        assert seen == [False], plant
        seen.clear()
        assert tg.is_grad_enabled()
        assert modes.run is None


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


class Noted:
    """Stands where a compiled function's calls are noted (`modes.deferred`), and lets them through."""

    follows = False

    def __init__(self) -> None:
        self.names: list[str] = []

    def _without(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        change(deferred=None)
        try:
            return function(*args, **kwargs)
        finally:
            change(deferred=self)

    def operation(self, op: Any, inputs: Any, parameters: Any, compute: Any) -> Any:
        self.names.append(op.name)
        return self._without(op.apply, inputs, parameters, compute)

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        self.names.append(function.__name__)
        return self._without(function, *args, **kwargs)


SHORTCUTS: dict[str, Any] = {
    "operator": (lambda x, w: x * x, ["mul"]),
    "number": (lambda x, w: x + 1.0, ["add"]),
    "power": (lambda x, w: x**2, ["pow_scalar"]),
    "unary": (lambda x, w: x.exp(), ["exp"]),
    "view": (lambda x, w: x.t(), ["t"]),
    "product": (lambda x, w: x @ w.t(), ["t", "mm"]),
    "linear": (F.linear, ["t", "mm"]),
    "linear with a bias": (lambda x, w: F.linear(x, w, w[0, :1].expand(4)), None),
    "tall linear": (lambda x, w: F.linear(x[None], w), None),
    "update": (lambda x, w: x.detach().clone().add_(1.0), ["detach", "clone", "add_"]),
    "updating operator": (lambda x, w: _updated(x.detach().clone()), ["detach", "clone", "add_"]),
    "several": (lambda x, w: x.unbind(), ["unbind"]),
    "backward": (lambda x, w: (x * x).sum().backward(), ["mul", "sum", "backward"]),
}


def _updated(x: Any) -> Any:
    x += 1.0
    return x


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", SHORTCUTS)
def test_no_short_way_passes_by_who_notes_calls(name: str, grad: bool) -> None:
    run, expected = SHORTCUTS[name]
    if name == "backward" and not grad:
        return
    x = tg.randn(3, 4, requires_grad=True)
    w = tg.randn(4, 4, requires_grad=True)
    with tg.set_grad_enabled(grad):
        for _ in range(2):  # the second time with recorders that are written
            noted = Noted()
            before = modes.now
            change(deferred=noted)
            try:
                assert modes.special
                assert not shared.ordinary
                found = run(x, w)
            finally:
                change(deferred=None)
            assert modes.now is before
            assert noted.names == expected if expected else len(noted.names) >= 2
            plain = run(x, w)
            if isinstance(plain, tg.Tensor):
                tg.testing.assert_close(found, plain)
                assert type(found.grad_fn) is type(plain.grad_fn)


def test_hooks_on_saved_tensors_that_a_hook_has_left_in_force_end_with_the_pass() -> None:
    x = tg.ones(2, requires_grad=True)
    unusual = shared.unusual
    for how in ("backward", "inputs", "create_graph"):
        y = x * x
        entered = tg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
        y.register_hook(lambda g, entered=entered: entered.__enter__())
        if how == "create_graph":
            tg.autograd.grad(y.sum(), x, create_graph=True)
        else:
            y.sum().backward(inputs=[x] if how == "inputs" else None)
        assert modes.saved_hooks == ()
        assert shared.unusual == unusual
        assert not modes.special
