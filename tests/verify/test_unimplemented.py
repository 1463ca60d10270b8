"""Errors of the user's code are told with the user's line, not one of Python's or a library's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tautograd import verify
from tautograd._user_code.sites import raised_at


def halved(n):
    return n // 2


def test_an_operation_without_a_gradient_is_named_with_its_line(torch):
    with pytest.raises(RuntimeError, match="the function runs, but its gradient is not") as raised:
        verify(halved, torch.randn(3))
    said = str(raised.value)
    assert "derivative for aten::floor_divide is not implemented" in said
    assert f"{__file__}:{halved.__code__.co_firstlineno + 1} in halved: return n // 2" in said


def test_another_error_of_backward_stays_as_it_is(torch):
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("no such thing")

    with pytest.raises(RuntimeError, match=r"^no such thing"):
        verify(Failing.apply, torch.randn(3))


@pytest.mark.parametrize(
    "inside",
    [
        lambda: json.loads("{"),
        lambda: np.stack([np.zeros(2), np.zeros(3)]),
        lambda: exec("1 / 0"),
    ],
    ids=["standard library", "NumPy", "generated code"],
)
def test_the_line_is_the_users(inside):
    with pytest.raises(Exception) as raised:
        inside()
    assert raised_at(raised.value) == (__file__, inside.__code__.co_firstlineno, "<lambda>")


def test_an_error_that_was_never_raised_has_no_line():
    assert raised_at(ValueError()) is None
