"""What is known of an operation from running its samples: the same checks that the tests make."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the checks live in tests/
os.environ["OMP_NUM_THREADS"] = "1"  # cores are shared by processes, see `op_table`

from tautograd._ops.declare.record import Op
from tests.ops.arrays import DTYPES
from tests.ops.cases import TAUTOGRAD, Call, record, samples_of
from tests.ops.gradient_checks import (
    first_order_problems,
    forward_mode_problems,
    second_order_problems,
)
from tests.ops.measure import measure
from tests.ops.rules import calls_of, refuses_derivative
from tests.ops.test_agreement import compare_case

KINDS = {
    "f": ("float16", "bfloat16", "float32", "float64"),
    "c": ("complex64", "complex128"),
    "i": ("int8", "int16", "int32", "int64", "uint8"),
    "b": ("bool",),
}
NOTHING = "–"
REFUSED = "refused"


@dataclass(frozen=True)
class Evidence:
    """A row of the table."""

    name: str
    record: str
    node: str
    dtypes: str
    inputs: tuple[str, ...]
    first: str
    second: str
    forward: str
    agreement: str
    cases: int  # compared with PyTorch


def evidence_for(record_name: str) -> Evidence:
    op = record(record_name)
    return Evidence(
        name=op.public_name,
        record=op.name,
        node=op.node_name,
        dtypes=accepted_dtypes(op),
        inputs=differentiable_inputs(op),
        first=verdict(op, first_order_problems),
        second=verdict(op, second_order_problems),
        forward=verdict(op, forward_mode_problems),
        agreement=agreement(op),
        cases=len(samples_of(op.name)) * len(DTYPES),
    )


def differentiable_inputs(op: Op) -> tuple[str, ...]:
    if op.vjp is None:
        return ()
    if op.joint:
        return op.inputs
    return tuple(name for name, rule in zip(op.inputs, op.vjp, strict=True) if rule is not None)


def accepted_dtypes(op: Op) -> str:
    """The dtypes in which some sample runs, whole kinds as one letter."""

    def runs(dtype: str) -> bool:
        calls = (Call(TAUTOGRAD, op, sample, dtype, False) for sample in samples_of(op.name))
        return any(measure(call, 0).error is None for call in calls)

    able = {dtype for dtype in DTYPES if runs(dtype)}
    parts: list[str] = []
    for letter, members in KINDS.items():
        parts += [letter] if able.issuperset(members) else [m for m in members if m in able]
    return " ".join(parts)


def verdict(op: Op, problems: Callable[[Any], Iterable[str]]) -> str:
    """Whether a rule agrees with differences of the forward on every sample where these can tell."""
    if not op.differentiable:
        return NOTHING
    if refuses_derivative(op.name):
        return REFUSED
    calls = [
        call
        for dtype in ("float64", "complex128")
        for call in calls_of(op.name, dtype)
        if call.checkable()
    ]
    return share(
        sum(holds(lambda call=call: not any(problems(call))) for call in calls), len(calls)
    )


def agreement(op: Op) -> str:
    """How many samples, in how many dtypes, give what PyTorch gives."""
    cases = [(sample, dtype) for sample in samples_of(op.name) for dtype in DTYPES]
    return share(
        sum(holds(lambda case=case: compare_case(op, *case) is None) for case in cases), len(cases)
    )


def holds(check: Callable[[], bool]) -> bool:
    """A check that could not be made does not hold: the table shows it, the build goes on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return check()
    except Exception:
        return False


def share(good: int, total: int) -> str:
    if total == 0:
        return NOTHING
    return f"✓ {total}" if good == total else f"**{good} of {total}**"
