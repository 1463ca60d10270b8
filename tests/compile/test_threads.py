"""Threads that compile, replay, record and drop programs at the same time: no crash, and the numbers of one thread."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._compile.record import tensor_data
from tautograd._compile.run.rounding import Rounding
from tautograd._tensor.tensor import Tensor
from tests.compile.threaded import in_threads

pytestmark = pytest.mark.usefixtures("often")


# --- what threads share ------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_one_function_for_64_threads(backend: str) -> None:
    function = torch.compile(lambda x, w: torch.tanh(x @ w).sum(), backend=backend)

    def work(i: int) -> bool:
        rng = np.random.default_rng(i)
        for _ in range(6):
            x = torch.tensor(rng.standard_normal((4, 3)))
            w = torch.tensor(rng.standard_normal((3, 2)), requires_grad=True)
            v = w.detach().clone().requires_grad_()
            first, second = function(x, w), function(x, w)
            second.backward()
            first.backward()
            (2 * torch.tanh(x @ v).sum()).backward()
            torch.testing.assert_close(w.grad, v.grad)
            torch.testing.assert_close(first, second)
        return True

    assert all(in_threads(64, work))


LEAVES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "eager": lambda leaf: lambda x: (leaf * x).sum().backward(),
    "compiled": lambda leaf: torch.compile(lambda x: (leaf * x).sum().backward()),
    "forward compiled": lambda leaf: _and_backward(torch.compile(lambda x: (leaf * x).sum())),
    "not contiguous": lambda leaf: lambda x: (leaf.view(3) * x.flip(0)).sum().backward(),
    "a graph of its own": lambda leaf: lambda x: (leaf * x).sum().backward(create_graph=False),
}


def _and_backward(function: Any) -> Any:
    return lambda x: function(x).backward()


@pytest.mark.parametrize("way", LEAVES)
def test_one_leaf_for_64_threads(way: str) -> None:
    """No addition is lost: whole numbers, so the sum is exact in any order."""
    leaf = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    add = LEAVES[way](leaf)
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)

    def work(i: int) -> None:
        for _ in range(20):
            add(x)

    in_threads(64, work)
    assert leaf.grad is not None
    assert sorted(leaf.grad.tolist()) == [1280.0, 2560.0, 3840.0]


def test_one_leaf_and_several_ways_to_it() -> None:
    """Eager backward passes, and programs that each have a gradient of their own to give it."""
    leaf = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    adds = [LEAVES["eager"](leaf), *(LEAVES["compiled"](leaf) for _ in range(3))]
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)

    def work(i: int) -> None:
        for _ in range(20):
            adds[i % 4](x)

    in_threads(32, work)
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [640.0, 1280.0, 1920.0]


def test_one_graph_that_many_threads_go_back_through() -> None:
    leaf = torch.ones(3, dtype=torch.float64, requires_grad=True)
    middle = leaf * 2
    loss = (middle + middle * 3).sum()
    in_threads(32, lambda i: [loss.backward(retain_graph=True) for _ in range(10)])
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [2560.0] * 3


def test_modes_stay_in_their_thread() -> None:
    function = torch.compile(lambda x: x * 2)
    leaf = torch.ones(2, requires_grad=True)

    def work(i: int) -> set[tuple[bool, bool]]:
        seen = set()
        for _ in range(60):
            if i % 2:
                with torch.no_grad():
                    seen.add((function(leaf).requires_grad, (leaf + 1).requires_grad))
            else:
                seen.add((function(leaf).requires_grad, (leaf + 1).requires_grad))
        return seen

    found = in_threads(16, work)
    assert all(seen == {(not i % 2, not i % 2)} for i, seen in enumerate(found))


@pytest.mark.filterwarnings("ignore:.*given other memory")
def test_memory_that_another_thread_swaps_is_in_no_record() -> None:
    """A record that read an argument's new memory would not follow the argument any more."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            double = torch.compile(lambda x: (x * 2).sum())
            x = torch.ones(64, dtype=torch.float64)
            stop = threading.Event()

            def swap(x: Any = x, stop: Any = stop) -> None:
                while not stop.is_set():
                    x.data = torch.ones(64, dtype=torch.float64)

            other = threading.Thread(target=swap)
            other.start()
            try:
                assert {double(x).item() for _ in range(60)} == {128.0}
            finally:
                stop.set()
                other.join()
    finally:
        sys.setswitchinterval(before)


def test_a_recording_is_its_own_threads_business() -> None:
    """Others see arrays, numbers and Python's own functions, from the first moment to the last."""
    stop = threading.Event()
    weight = torch.ones(4, dtype=torch.float64, requires_grad=True)
    seen: set[str] = set()

    def watching() -> None:
        while not stop.is_set():
            seen.add(type(weight._data).__name__)
            grad = weight.grad
            if grad is not None:
                seen.add(type(grad._data).__name__)
                seen.add(type((grad + 1)._data).__name__)
            seen.add(type(math.sin(0.5)).__name__)
            seen.add(json.dumps({"x": 0.5}))

    others = [threading.Thread(target=watching) for _ in range(3)]
    for other in others:
        other.start()
    for _ in range(25):

        def step(x: Any, scale: float) -> Any:
            weight.grad = None
            loss = (weight * x).sum() * math.sin(scale)
            loss.backward()
            return loss

        compiled = torch.compile(step)
        for i in range(4):
            compiled(torch.ones(4, dtype=torch.float64), 0.1 * i)
    stop.set()
    for other in others:
        other.join()
    assert seen == {"ndarray", "float", '{"x": 0.5}'}
    assert Tensor.__dict__["_data"] is tensor_data._data


# It may also be given up, and says so, when no recording ends before the next swap.
@pytest.mark.filterwarnings("ignore:.*given other memory while it runs")
def test_other_memory_for_an_argument_while_the_program_runs() -> None:
    """What was looked at is what is read, until the end."""
    function = torch.compile(lambda x: (x * 2).sum(), audit="never")
    x = torch.ones(1 << 16, dtype=torch.float64)
    for _ in range(3):
        function(x)
    stop = threading.Event()

    def swapping() -> None:
        while not stop.is_set():
            x.data = torch.ones(1 << 16, dtype=torch.float64)
            x.data = torch.ones(2, dtype=torch.float64)

    other = threading.Thread(target=swapping)
    other.start()
    found = {function(x).item() for _ in range(300)}
    stop.set()
    other.join()
    assert found <= {2.0 * (1 << 16), 4.0}


@pytest.mark.parametrize("audit", ["never", "always"])
def test_other_memory_just_after_the_record_was_chosen(
    audit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another thread may set it: a program for 4,096 elements must not read beyond two."""
    function = torch.compile(lambda x: (x * 2).sum(), audit=audit)
    x = torch.ones(4096, dtype=torch.float64)
    for _ in range(3):
        function(x)
    chosen = type(function)._matching

    def matching(self: Any, *args: Any) -> Any:
        found = chosen(self, *args)
        x.data = torch.ones(2, dtype=torch.float64)
        return found

    monkeypatch.setattr(type(function), "_matching", matching)
    monkeypatch.setattr(function._last, "quick", None)
    assert function(x).item() == 4.0


def test_memory_that_changes_during_an_audit_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the program and its check begin with are one copy, whatever another thread adds meanwhile."""
    leaf = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    x = torch.ones(3, dtype=torch.float64)
    step = torch.compile(lambda x: (leaf * x).sum().backward(), audit="always")
    for _ in range(3):
        step(x)
    begin = Rounding.__init__

    def and_an_addition(self: Any, *args: Any) -> None:
        begin(self, *args)
        assert leaf.grad is not None
        leaf.grad += 8

    monkeypatch.setattr(Rounding, "__init__", and_an_addition)
    step(x)
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [12.0] * 3


def test_the_number_of_threads_is_set_by_many_at_first() -> None:
    body = (
        "import sys, threading\nimport tautograd as torch\n"
        "sys.setswitchinterval(1e-6)\nimport tautograd._compile.native.llvm.thread_pool as t\n"
        "begin = threading.Barrier(32)\nfound = set()\n"
        "def work(i):\n    begin.wait(); torch.set_num_threads(1 + i % 3); found.add(id(t._runtime()))\n"
        "ts = [threading.Thread(target=work, args=(i,)) for i in range(32)]\n"
        "[x.start() for x in ts]; [x.join() for x in ts]\n"
        "torch.set_num_threads(2)\nprint(len(found), t._runtime().wanted() == min(2, t.processors()))\n"
    )
    found = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True)
    assert found.stdout == "1 True\n"


# --- the same thread, in between ---------------------------------------------------------------------------


def test_a_call_in_the_middle_of_a_call() -> None:
    """As by a signal's handler or a finaliser: the program's memory is in use, so it runs eagerly."""
    function = torch.compile(lambda x, c: (x * c).sum(), audit="never")
    plain = torch.compile(lambda x: (x * 2).sum(), audit="never")
    x = torch.ones(8, dtype=torch.float64, requires_grad=True)
    for c in (1.0, 2.0, 3.0, 4.0):
        function(x, c)
        plain(x)
    for compiled, args in ((function, (x, 5.0)), (plain, (x,))):
        entry = compiled._last
        assert entry is not None
        waiting = compiled(*args)
        before = entry.calls
        with entry.alone() as alone:
            assert alone
            expected = 8.0 * (args[1] if len(args) > 1 else 2.0)
            found = compiled(*args)
            assert (found.item(), entry.calls) == (expected, before)
            x.grad = None
            waiting.backward()  # which was in the program's memory
            assert x.grad is not None
            assert x.grad.tolist() == [expected / 8] * 8
        assert compiled(*args).item() == expected
        assert entry.calls == before + 1
