"""The figures of a report belong together: the largest error, what was allowed for it, the order."""

from __future__ import annotations

import numpy as np
import pytest

from tautograd import verify
from tautograd._verify.numerics.compare import farthest_first
from tautograd._verify.report.report import Check


def wrong_swish(torch):
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            s = torch.sigmoid(x)
            return g * (s + x * s)

    return Swish.apply


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_error_is_that_of_the_first_wrong_entry(torch, dtype):
    x = torch.randn(3, 4, dtype=getattr(torch, dtype))
    report = verify(wrong_swish(torch), x, locate=False, confirm=False)
    check = report.checks[0]
    first = report.entries[0]
    assert check.error == pytest.approx(abs(first.expected - first.got), rel=1e-12)
    assert check.tolerance == first.error
    count = check.note.split()[0]
    off = [abs(entry.expected - entry.got) for entry in report.entries[: int(count)]]
    assert off == sorted(off, reverse=True)


def test_linearity_is_told_in_parts_of_the_gradient(torch):
    x = torch.randn(3, 4, dtype=torch.float64)
    report = verify(lambda x: 1e6 * torch.tanh(x), x, confirm=False)
    (check,) = [check for check in report.checks if check.reference == "linearity"]
    assert check.tolerance == pytest.approx(1e-4, rel=0.02)
    assert check.error < 1e-14
    assert "parts of the largest gradient" in check.note


def test_measure_prefers_the_wrong_then_what_is_beyond():
    gap, tolerance = np.array([5.0, 2.0, 3.0]), np.array([10.0, 1.0, 2.0])
    check = Check("a", "b")
    assert check.measure(gap, tolerance) == 2
    assert (check.error, check.tolerance, check.worst) == (3.0, 2.0, 2.0)
    assert check.measure(gap, tolerance, wrong=np.array([False, True, False])) == 1
    assert (check.error, check.tolerance) == (2.0, 1.0)
    assert check.measure(gap, 10 * tolerance) == 0
    assert (check.error, check.tolerance) == (5.0, 100.0)
    check.measure(gap, tolerance, seen=np.array([True, False, False]))
    assert (check.error, check.tolerance, check.worst) == (5.0, 10.0, 0.5)


def test_what_is_no_number_is_farthest():
    assert list(farthest_first(np.array([1.0, np.nan, 3.0]))) == [1, 2, 0]
