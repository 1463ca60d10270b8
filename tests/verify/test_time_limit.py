"""`verify(..., seconds=)`: the limit is kept to a run, by a clock that moves as the runs say."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from tautograd import verify
from tautograd._verify.subject import time_limit


@pytest.fixture
def hours(monkeypatch):
    """A clock that only moves when somebody says so. It is no list, which would be put back after a run."""
    hours = SimpleNamespace(passed=0.0, calls=0)
    monkeypatch.setattr(time_limit, "clock", lambda: hours.passed)
    return hours


def _slow(torch, hours, forward, backward):
    """Something whose runs take long by that clock."""

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            hours.passed += forward
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            hours.passed += backward
            return g * ctx.saved_tensors[0].cos()

    return lambda x: Slow.apply(x).sum()


@pytest.mark.parametrize("seconds", [1.0, 25.0, 45.0, 100.0, 400.0, 1000.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_run_is_begun_that_does_not_end_in_time(torch, hours, seconds, dtype):
    x = torch.tensor([0.3, 0.7], dtype=getattr(torch, dtype), requires_grad=True)
    report = verify(_slow(torch, hours, 10.0, 20.0), x, seconds=seconds)
    # The first run has nobody to tell how long it takes.
    assert hours.passed <= max(seconds, 10.0)
    assert report.verdict in ("correct", "unclear")
    assert any("to end within" in note for note in report.notes)
    if seconds >= 400:
        assert report.checks[0].reference == "central differences"
    if seconds <= 25:
        assert report.verdict == "unclear"


def test_with_time_enough_nothing_is_left_out(torch, hours):
    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    function = _slow(torch, hours, 1.0, 2.0)
    limited, free = verify(function, x, seconds=1e6), verify(function, x)
    assert [c.reference for c in limited.checks] == [c.reference for c in free.checks]
    assert limited.confirmed is not None
    assert limited.verdict == free.verdict == "correct"


def test_a_wrong_gradient_found_before_the_end_is_told(torch, hours):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            hours.passed += 1
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    report = verify(lambda x: Twice.apply(x).sum(), x, seconds=500)
    assert report.verdict == "wrong"
    assert hours.passed <= 500


def test_the_limit_holds_in_a_thread_that_no_signal_reaches(torch):
    def slow(x):
        time.sleep(0.02)
        return x.sin().sum()

    x = torch.linspace(0, 1, 40, dtype=torch.float64).requires_grad_()
    found = []

    def work():
        began = time.monotonic()
        report = verify(slow, x, seconds=0.3)
        found.append((time.monotonic() - began, report))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    took, report = found[0]
    assert took < 3.0  # loaded machines sleep long; the whole takes more than a hundred runs
    assert any("to end within 0.3 s" in note for note in report.notes)


def test_confirming_and_trying_inputs_are_inside_of_the_limit(torch, hours):
    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)

    def counted(x):
        hours.passed += 1
        return x.sin()

    verify(counted, x, confirm=False)
    needed = hours.passed
    hours.passed = 0.0
    report = verify(counted, x, seconds=needed + 2.0, confirm=True, try_inputs=True)
    assert hours.passed <= needed + 2.0
    assert report.verdict == "correct"
    assert report.tried is None


def test_the_runs_of_a_large_model_are_few(torch, hours):
    class Large(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.w = torch.nn.Parameter(torch.randn(2048, 2048) * 0.02)

        def forward(self, x):
            hours.calls += 1
            return (self.w @ x).tanh().mean()

    model = Large()
    report = verify(model, torch.linspace(0.1, 1, 2048), confirm=False)
    assert report.verdict == "correct"
    assert hours.calls <= 12
