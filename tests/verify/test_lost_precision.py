"""Rounding that is no mistake, and mistakes that are not rounding: casts on the way to a result, and beside it."""

from __future__ import annotations

import pytest

import tautograd
from tests.both import ENGINES

from .catalogue import WRONG
from .catalogue.judging import outcome


def stored_by_index(torch, x):
    kept = torch.zeros(2, dtype=torch.bfloat16)
    kept[0] = x[1]
    kept[1:] = x[:1]
    return kept.double() * x


def stored_by_copy(torch, x):
    kept = torch.empty(2, dtype=torch.bfloat16)
    kept.copy_(x)
    return kept.double() * x


def stored_in_a_new_one(torch, x):
    kept = x.new_zeros(2, dtype=torch.float16)
    kept += x
    return kept.double() * x


@pytest.mark.parametrize("store", [stored_by_index, stored_by_copy, stored_in_a_new_one])
def test_a_result_that_is_written_into_a_coarser_tensor_is_rounded_not_wrong(torch, store):
    x = torch.tensor([0.3, 1.7], dtype=torch.float64)
    report = tautograd.verify(lambda x: store(torch, x), x, confirm=False)
    assert report.verdict == "correct", str(report)
    assert "loses the rest" in report.notes[-1]


@pytest.mark.parametrize("name", ENGINES)
def test_what_only_the_backward_rounds_is_wrong(name):
    result = outcome(WRONG["recomputed at another precision's point"], name)
    assert result.located, result.said
