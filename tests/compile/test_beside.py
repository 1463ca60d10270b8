"""Machine code made by a process beside: until it is there calls run as written, and they are right in any case."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn
from tautograd._compile.native.disk_cache import beside
from tautograd._compile.native.llvm import jit
from tautograd._compile.run import sizes as sizes_module
from tautograd._compile.run.ledger import Ledger

pytestmark = pytest.mark.skipif(bool(jit.why_not()), reason="no compiler")
LENGTHS = (5, 9, 12, 7, 21)
LONGEST = 120.0  # seconds


@pytest.fixture(autouse=True)
def free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A cache of this test's own, two processors, and steps that are worth a program however short they are."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(beside, "processors", lambda: 2)
    monkeypatch.setattr(beside, "_quota", lambda: 2.0)
    monkeypatch.setattr(sizes_module, "TRUST", 1e6)
    monkeypatch.setattr(Ledger, "allows", lambda self, key, entries: False)
    yield
    for helper in list(beside._running):
        helper.stop()


def _step() -> Any:
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def _calls(count: int) -> list[Any]:
    rng = random.Random(1)
    torch.manual_seed(4)
    return [torch.randn(rng.choice(LENGTHS), 6) for _ in range(count)]


def _awaiting(compiled: Any) -> Any:
    for x in _calls(40):
        compiled(x)
        if compiled._sizes.awaited is not None:
            return compiled._sizes.helper
    raise AssertionError(compiled._sizes.why)


def test_calls_run_as_written_until_the_code_is_there() -> None:
    plain, compiled = _step(), torch.compile(_step(), audit="never")
    ends = time.monotonic() + LONGEST
    seen = set()
    while compiled._sizes.template is None or len(seen) < len(LENGTHS):
        assert time.monotonic() < ends, compiled._sizes.in_words()
        for x in _calls(20):
            assert abs(compiled(x).item() - plain(x).item()) < 1e-5
        if compiled._sizes.awaited is not None:
            assert "compiled, in a process beside" in str(compiled.explain())
            time.sleep(0.1)
        if compiled._sizes.template is not None:
            seen = set(compiled._sizes.template.tried)
    for x in _calls(60):
        assert abs(compiled(x).item() - plain(x).item()) < 1e-5
    assert all(s.why or s.lowered.cached for s in compiled._sizes.template.stretches)
    assert sum(entry.calls for entry in compiled._alive()) > 20


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_process_that_is_killed_is_done_without() -> None:
    compiled = torch.compile(_step(), audit="never")
    helper = _awaiting(compiled)
    os.kill(helper._process.pid, signal.SIGKILL)
    ends = time.monotonic() + LONGEST
    while compiled._sizes.template is None:
        assert time.monotonic() < ends
        compiled(torch.randn(7, 6))
        time.sleep(0.01)
        if helper.is_done and compiled._sizes.awaited is not None:
            compiled._ledger.gone[0] += 100.0  # seconds of calls, a part of which pays for it
    x = torch.randn(11, 6)
    assert torch.isfinite(compiled(x))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_neither_waits_for_it_nor_ends_it() -> None:
    compiled = torch.compile(_step(), audit="never")
    helper = _awaiting(compiled)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for x in _calls(8):
                compiled(x)
            code = 0 if not beside._running and compiled._sizes.awaited is None else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert helper in beside._running
    helper.stop()


def test_it_ends_with_the_program() -> None:
    body = (
        "import sys; sys.path.insert(0, '.')\n"
        "import tests.compile.test_beside as t, pytest\n"
        "from tautograd._compile.run import sizes\n"
        "t.beside.processors = lambda: 2\nsizes.TRUST = 1e6\n"
        "helper = t._awaiting(t.torch.compile(t._step()))\nprint(helper._process.pid, flush=True)\n"
    )
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", body],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )
    assert found.returncode == 0, found.stderr
    assert not found.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(found.stdout), 0)


def test_without_a_second_processor_the_caller_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "processors", lambda: 1)
    compiled = torch.compile(_step(), audit="never")
    for x in _calls(40):
        compiled(x)
    assert compiled._sizes.template is not None
    assert compiled._sizes.awaited is None


def test_one_processor_of_a_group_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    for text, enough in (("100000 100000", False), ("max 100000", True), ("200000 100000", True)):
        (tmp_path / "cpu.max").write_text(text)
        monkeypatch.setattr(beside, "_QUOTA", tmp_path / "cpu.max")
        beside._quota.cache_clear()
        assert (beside._quota() >= beside.LEAST_QUOTA) is enough
    beside._quota.cache_clear()


def test_sizes_that_never_come_back_are_not_sampled() -> None:
    compiled = torch.compile(_step())
    for n in range(2, 60):
        compiled(torch.randn(n, 6))
    assert not compiled._sizes.samples
    assert compiled._sizes.template is None


def test_a_loop_over_a_size_is_seen_before_a_sample_is_taken() -> None:
    cell = nn.Linear(6, 6)

    def step(x: Any) -> Any:
        state = x[0]
        for row in x:
            state = torch.tanh(cell(state) + row)
        return state.sum()

    compiled = torch.compile(step)
    for x in _calls(40):
        compiled(x)
    assert not compiled._sizes.samples
    assert compiled._ledger.recording == 0
    assert "another number of operations" in str(compiled.explain())
