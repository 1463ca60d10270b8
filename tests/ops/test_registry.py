"""What every record must have, before any number is compared."""

from __future__ import annotations

import pytest

from tautograd._ops.declare.record import LINEAR, MULTILINEAR

from .arrays import DTYPES
from .cases import RECORDS, TAUTOGRAD, TORCH, Call, function, record, samples_of
from .measure import measure
from .programs import PROGRAMS
from .reporting import Problems
from .rules import calls_of, only_refuses, refuses_derivative, why_silent

DIFFERENTIABLE = [name for name in RECORDS if record(name).differentiable]


@pytest.mark.parametrize("name", RECORDS)
def test_has_samples(name: str) -> None:
    """A record has samples that run, or is heard while the gradients of others are computed."""
    heard = any(calls_of(name, d) for d in ("float64", "complex128", "int64", "bool"))
    assert heard, why_silent(name)


@pytest.mark.parametrize("name", [n for n in RECORDS if samples_of(n)])
def test_samples_run_on_pytorch(name: str) -> None:
    """A sample that PyTorch refuses in every dtype tests nothing."""
    problems = Problems(name)
    for i, sample in enumerate(samples_of(name)):
        outcomes = [measure(Call(TORCH, record(name), sample, d, False), 0) for d in DTYPES]
        if all(outcome.error is not None for outcome in outcomes):
            problems.add(f"sample{i} {sample}", f"PyTorch: {outcomes[0].error}")
    problems.fail_if_any()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_has_both_rules(name: str) -> None:
    op = record(name)
    if refuses_derivative(name):
        return
    assert op.jvp is not None, "a VJP without a JVP"
    if isinstance(op.vjp, tuple) and isinstance(op.jvp, tuple):
        have = [(v is None, j is None) for v, j in zip(op.vjp, op.jvp, strict=True)]
        assert all(v == j for v, j in have), "VJP and JVP cover different inputs"
    else:
        assert op.jvp in (LINEAR, MULTILINEAR) or not isinstance(op.jvp, str)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_samples_reach_every_rule(name: str) -> None:
    op = record(name)
    if op.joint or op.variadic:
        return
    calls = [c for dtype in ("float64", "complex128") for c in calls_of(name, dtype)]
    reached = {slot for call in calls for slot in call.slots()}
    reached |= {i for i, rule in enumerate(op.vjp) if rule and only_refuses(rule.rule)}
    missed = [n for i, n in enumerate(op.inputs) if op.vjp[i] is not None and i not in reached]
    assert not missed, f"no sample gives {missed} a gradient"


@pytest.mark.parametrize("name", [n for n in RECORDS if samples_of(n) and n not in PROGRAMS])
def test_public_function_exists(name: str) -> None:
    public = record(name).public_name
    for engine in (TORCH, TAUTOGRAD):
        try:
            function(engine, public)
        except AttributeError as error:
            hint = "a record whose function is elsewhere says where: public='nn.functional.glu'"
            pytest.fail(f"{engine.name} has no {public} ({hint}): {error}", pytrace=False)
