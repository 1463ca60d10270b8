"""An audit finds machine code that is wrong although the program that it was made from is right."""

from __future__ import annotations

import random

import pytest

import tautograd as torch
from tautograd._compile.api import AuditError
from tautograd._compile.native.disk_cache.lowered import made
from tautograd._compile.native.entry import Native
from tautograd._compile.native.llvm import jit
from tautograd._compile.run.numeric_audit import Aside

from .planted import STEPS, faults, recorded, wrong_modules

pytestmark = pytest.mark.skipif(bool(jit.why_not()), reason="no compiler")


def _all_found(name: str, most: int, seed: int) -> None:
    found = faults(name, most, seed)
    kinds = {key.partition(":")[0] for key in found}
    assert kinds
    for kind in kinds:
        assert found[f"{kind}: found"] == found[f"{kind}: planted"], (seed, found)


def test_faults_in_machine_code_are_found() -> None:
    _all_found("mlp", 12, random.SystemRandom().randrange(1 << 30))


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_many_faults_in_machine_code_are_found(name: str) -> None:
    _all_found(name, 60, random.SystemRandom().randrange(1 << 30))


@pytest.mark.parametrize("name", STEPS)
def test_right_machine_code_passes(name: str) -> None:
    compiled, args = recorded(name, random.SystemRandom().randrange(1 << 30))
    aside = Aside(compiled._last, [tensor._data for tensor in args], ())
    assert aside.steps is not None
    assert aside.steps.wrong is None
    assert aside.steps.kernels > 5
    assert not aside.why


def grad_of(tensor: torch.Tensor) -> torch.Tensor:
    assert tensor.grad is not None
    return tensor.grad


def test_a_call_says_which_line_and_goes_on_as_written() -> None:
    """The call whose audit finds it leaves what the function itself leaves; later ones run as written."""
    torch.manual_seed(0)
    w = torch.ones(40, requires_grad=True)

    def step(x: torch.Tensor) -> torch.Tensor:
        loss = (w * x - 3).square().sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.01 * grad_of(w))
            grad_of(w).zero_()
        return loss

    compiled = torch.compile(step, sound=False)
    x = torch.linspace(0, 1, 40)
    for _ in range(3):
        compiled(x)
    entry = compiled._last
    entry.audits.audit_due = entry.audits.due = entry.calls
    (part,) = (p for p in entry.replay_of.stretches[0] if p.native is not None)
    true = part.native
    wrong = wrong_modules(true.lowered.make(), random.Random(0), 1000)
    module = next(module for kind, module in wrong if kind == "operation")
    part.native = Native(made(module, None, true.lowered.make))
    before = w.detach().clone()
    with pytest.raises(AuditError, match=r"rounding explains .*\n.*line \d+, in step"):
        compiled(x)
    after = w.detach().clone()
    with torch.no_grad():
        w.copy_(before)
    step(x)
    assert torch.equal(w, after)
    assert "machine code is wrong" in str(compiled.explain())
    step(x)
    expected = step(x)
    with torch.no_grad():
        w.copy_(before)
    for _ in range(3):
        found = compiled(x)
    assert torch.equal(found, expected)
