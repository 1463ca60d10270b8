"""The guards around public functions have their code written at the first call, and are the same ones after it."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading

import pytest

import tautograd
from tautograd._ops.declare.guarding import FIRST_CALL, guarded

PROGRAM = """
import tautograd
from tautograd._ops.declare import guarding
from tautograd._ops.declare.guarding import FIRST_CALL
guards = [guard for found in guarding._waiting.values() for guard, _, _ in found]
print(len(guards), sum(guard.__code__.co_name == FIRST_CALL for guard in guards))
"""


def test_importing_writes_few():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    guards, waiting = map(int, done.stdout.split())
    assert guards > 300
    assert waiting > 0.85 * guards


def test_what_is_python_in_pytorch_has_its_code_at_once():
    code = tautograd.nn.functional.gelu.__code__
    assert code.co_name != FIRST_CALL
    assert tautograd.nn.init.normal_.__code__.co_varnames[:2] == ("tensor", "mean")


def test_a_guard_is_itself_after_its_first_call():
    def sample(input, dim=2, *rest, keepdim=False, **others):
        if dim < 0:
            raise ValueError("what the program says")
        return input, dim, rest, keepdim, others

    guard = guarded(sample, "sample")
    signature = inspect.signature(guard)
    assert guard.__code__.co_name == FIRST_CALL
    with pytest.raises(ValueError, match="what the program says"):
        guard(1, -1)
    assert guard.__code__.co_name != FIRST_CALL
    assert inspect.signature(guard) == signature
    assert guard(1) == (1, 2, (), False, {})
    assert guard(1, 3, 4, keepdim=True, more=5) == (1, 3, (4,), True, {"more": 5})


def test_first_calls_from_several_threads():
    found: list[object] = []
    start = threading.Barrier(8)

    def call() -> None:
        start.wait()
        found.append(tautograd.cartesian_prod(tautograd.arange(2), tautograd.arange(2)).tolist())

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[[0, 0], [0, 1], [1, 0], [1, 1]]] * 8
