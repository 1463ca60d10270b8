"""NVTX ranges: what a profiler is told, and PyTorch's error where there is no GPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

import tautograd
from tautograd.cuda import nvtx


class Told:
    """In place of CuPy's binding."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def RangePush(self, message: str) -> None:
        self.lines.append(f"begin {message}")

    def RangePop(self) -> None:
        self.lines.append("end")

    def Mark(self, message: str) -> None:
        self.lines.append(f"mark {message}")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    found = Told()
    backend = SimpleNamespace(cupy=SimpleNamespace(cuda=SimpleNamespace(nvtx=found)))
    monkeypatch.setattr(nvtx, "cuda_backend", lambda: backend)
    return found


def test_ranges_and_marks(told: Told) -> None:
    assert nvtx.range_push("step") == 0
    assert nvtx.range_push("forward") == 1
    nvtx.mark("here")
    assert nvtx.range_pop() == 1
    assert nvtx.range_pop() == 0
    assert told.lines == ["begin step", "begin forward", "mark here", "end", "end"]


def test_a_range_ends_with_its_block_and_its_function(told: Told) -> None:
    with pytest.raises(KeyError), nvtx.range("layer {} of {n}", 1, n=3):
        raise KeyError

    @nvtx.range("whole")
    def f() -> int:
        return 1

    assert f() == f() == 1
    assert told.lines == ["begin layer 1 of 3", "end", *["begin whole", "end"] * 2]


@pytest.mark.parametrize(
    ("name", "args"), [("range_push", ("a",)), ("range_pop", ()), ("mark", ("a",))]
)
def test_without_a_gpu(name: str, args: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvtx, "cuda_backend", lambda: None)
    errors = []
    for engine in (tautograd, torch):
        with pytest.raises(RuntimeError) as caught:
            getattr(engine.cuda.nvtx, name)(*args)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
