"""A custom Function that is right for what arrives and wrong elsewhere; results that claim no gradient."""

from __future__ import annotations

from importlib import import_module

import pytest

from tautograd import verify
from tests.both import ENGINES


def exchanging(torch, share):
    """An identity whose backward exchanges the first two entries, or scales by `share` besides."""

    class Exchanging(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return share * torch.cat([g[1:2], g[:1], g[2:]])

    return Exchanging


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_that_only_ones_make_right_is_found(engine):
    torch = import_module(engine)
    F = exchanging(torch, 1.0)
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    report = verify(lambda x: F.apply(x).sum(), x, confirm=False)
    assert report.verdict == "wrong"
    assert [s.operation for s in report.suspects] == ["Exchanging"]
    assert "another than what arrives here" in report.suspects[0].note


@pytest.mark.parametrize("engine", ENGINES)
def test_a_factor_that_is_made_up_for_elsewhere_is_not_accused(engine):
    torch = import_module(engine)

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return 0.5 * g

    class Twice(Half):
        @staticmethod
        def backward(ctx, g):
            return 2.0 * g

    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    report = verify(lambda x: Twice.apply(Half.apply(x).sin()).sum(), x, confirm=False)
    assert report.verdict == "correct"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_result_that_requires_no_gradient_is_not_compared(engine):
    torch = import_module(engine)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    report = verify(lambda x: (x.sin(), x.detach() * 2), x, confirm=False)
    assert report.verdict == "correct"
    assert report.notes == ["Not compared, for it does not require a gradient: output[1]."]
