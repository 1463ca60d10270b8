"""What every record must have, before any number is compared."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
import torch

from tautograd._ops.record import LINEAR, MULTILINEAR

from .arrays import DTYPES
from .cases import RECORDS, TAUTOGRAD, TORCH, Call, function, record, samples_of
from .measure import measure
from .programs import PROGRAMS
from .reporting import Problems
from .rules import calls_of, refuses_derivative, why_silent

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
    missed = [n for i, n in enumerate(op.inputs) if op.vjp[i] is not None and i not in reached]
    assert not missed, f"no sample gives {missed} a gradient"


@pytest.mark.parametrize("name", [n for n in RECORDS if samples_of(n) and n not in PROGRAMS])
def test_public_function_exists(name: str) -> None:
    public = record(name).public_name
    for engine in (TORCH, TAUTOGRAD):
        try:
            function(engine, public)
        except AttributeError as error:
            pytest.fail(f"{engine.name} has no {public}: {error}", pytrace=False)


# --- signatures ----------------------------------------------------------------------------------

# Parameters that choose devices, layouts or implementations, which the CPU engine has no use for.
_IGNORED = frozenset(("out", "layout", "device", "pin_memory", "driver", "generator"))


# PyTorch's documentation calls a parameter what its argument parser does not accept.
_MISNAMED = {
    ("searchsorted", "values"): "input",
    ("triangular_solve", "b"): "input",
    ("cholesky_solve", "B"): "input",
    ("cholesky_solve", "L"): "input2",
    ("cholesky_inverse", "L"): "input",
    ("linalg.lstsq", "B"): "b",
    **{
        (f"linalg.{name}", "A"): "input"
        for name in (
            "cholesky_ex", "eig", "eigh", "householder_product", "lstsq", "matrix_exp", "pinv",
            "solve_triangular",
        )
    },
}  # fmt: skip


def documented(name: str) -> list[tuple[tuple[str, Any], ...]]:
    """The signatures PyTorch documents: one per overload, as (parameter, default) pairs."""
    fn = function(TORCH, name)
    last = name.rsplit(".", maxsplit=1)[-1]
    found = []
    for arguments in re.findall(rf"^\s*(?:\w+\.)*{last}\((.*?)\) *->", fn.__doc__ or "", re.M):
        try:
            signature = inspect.signature(_evaluated(arguments))
        except (SyntaxError, NameError, ValueError):
            continue
        found.append(_pairs(signature))
    return found


def _evaluated(arguments: str) -> Any:
    """A function with the documented parameters."""
    return eval(f"lambda {arguments}: None", {"torch": torch, **dict.fromkeys(("strided",))})


def _pairs(signature: inspect.Signature) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (p.name, p.default)
        for p in signature.parameters.values()
        if p.name not in _IGNORED and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    )


PUBLIC = sorted(
    {
        record(n).public_name
        for n in RECORDS
        if samples_of(n) and n not in PROGRAMS and not record(n).public_name.startswith("Tensor.")
    }
)


@pytest.mark.parametrize("name", PUBLIC)
def test_signature_agrees(name: str) -> None:
    """Names, order and defaults of parameters agree with PyTorch's first documented signature."""
    overloads = documented(name)
    ours = inspect.signature(function(TAUTOGRAD, name))
    flexible = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in ours.parameters.values())
    if not overloads or flexible:
        return
    have = dict(_pairs(ours))
    problems = Problems(name)
    for parameter, default in (p for overload in overloads for p in overload):
        parameter = _MISNAMED.get((name, parameter), parameter)
        if parameter not in have:
            problems.add(f"{ours}", f"no parameter {parameter!r}")
        elif len(overloads) == 1 and _differs(have[parameter], default):
            problems.add(f"{ours}", f"{parameter}={have[parameter]!r} for {default!r}")
    problems.fail_if_any()


def _differs(have: Any, want: Any) -> bool:
    """Two defaults that both say something, and not the same."""
    spoken = (bool, int, float, complex, str, tuple, list)
    return isinstance(have, spoken) and isinstance(want, spoken) and have != want
