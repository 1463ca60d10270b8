"""Question 1: does every record agree with PyTorch?

One test per record: each of its samples (and the derived ones) in each dtype, on both engines; the
report lists every case that differs. See `compare` for what is compared and `tolerance` for how
closely.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.kernels import without_onednn

from .arrays import DIFFERENTIABLE, DTYPES
from .cases import RECORDS, TAUTOGRAD, TORCH, Call, cases_of, record
from .compare import disagreement
from .measure import measure, order_for
from .reporting import Problems
from .tolerance import Condition


def compare_case(
    op: Any, sample: Any, dtype: str, fns: tuple[Any, Any] = (None, None), words: bool = True
) -> str | None:
    """Run one sample in one dtype on both engines."""
    order = order_for(dtype)
    calls = [Call(e, op, sample, dtype, dtype in DIFFERENTIABLE) for e in (TORCH, TAUTOGRAD)]
    want, got = (measure(c, order, fn) for c, fn in zip(calls, fns, strict=True))
    condition = Condition(op, sample, dtype, fns[0])
    problem = disagreement(calls[1], want, got, condition, words)
    if problem is not None:  # PyTorch may contradict itself: see `tests.kernels`
        with without_onednn():
            want = measure(Call(TORCH, op, sample, dtype, dtype in DIFFERENTIABLE), order, fns[0])
        if disagreement(calls[1], want, got, condition, words) is None:
            return None
    return problem


@pytest.mark.parametrize("name", RECORDS)
def test_agrees_with_pytorch(name: str, tally: Any) -> None:
    op = record(name)
    problems = Problems(name)
    for label, sample in cases_of(name):
        for dtype in DTYPES:
            problems.add(f"{label} {sample}", compare_case(op, sample, dtype), dtype)
            tally("comparisons with PyTorch")
    tally("records compared with PyTorch")
    problems.fail_if_any()
