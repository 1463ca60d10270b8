"""Question 2: are the rules the derivatives of the forward? Independent of PyTorch.

Every differentiable record, in float64 and, where it takes complex numbers, complex128: first
order (VJP and JVP), the identity between the two, forward mode, and second order.
"""

from __future__ import annotations

from typing import Any

import pytest

from .cases import RECORDS, record
from .gradient_checks import first_order_problems, forward_mode_problems, second_order_problems
from .reporting import Problems
from .rules import calls_of, refuses_derivative, why_silent

DIFFERENTIABLE = [name for name in RECORDS if record(name).differentiable]
CHECKS = (first_order_problems, forward_mode_problems, second_order_problems)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_are_the_derivative(name: str, tally: Any) -> None:
    problems = Problems(name)
    if refuses_derivative(name):
        tally("records that refuse to be differentiated, as PyTorch's do")
        return
    checked = 0
    for dtype in ("float64", "complex128"):
        for call in calls_of(name, dtype):
            if not call.checkable():
                continue
            checked += 1
            for check in CHECKS:
                try:
                    for problem in check(call):
                        problems.add(call.label, problem, dtype)
                except Exception as error:
                    problems.add(
                        call.label, f"{check.__name__}: {type(error).__name__}: {error}", dtype
                    )
    if not checked:
        problems.add("samples", f"not reached: {why_silent(name)}")
    tally("calls checked numerically", checked)
    tally("differentiable records checked numerically")
    problems.fail_if_any()
