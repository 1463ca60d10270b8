"""A replay that comes to an error: it is the function's own error, and leaves what the function leaves."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn
from tautograd.nn import functional as F

from .compare import assert_same, bits, seen_of

GOOD = torch.tensor([0, 1, 2, 1])
BAD = torch.tensor([0, 1, 7, 1])


class Model(nn.Module):
    """An embedding, running statistics, numbers drawn, and a choice by an index at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 6)
        self.norm = nn.BatchNorm1d(6)
        self.drop = nn.Dropout(0.4)
        self.out = nn.Linear(6, 3)

    def forward(self, index: Any) -> Any:
        return self.out(self.drop(self.norm(self.table(index))))


def first(step: Any, index: Any, target: Any, extra: Any) -> Any:
    step.optimizer.zero_grad()
    loss = F.cross_entropy(step.model(index), target)
    loss.backward()
    step.optimizer.step()
    step.schedule.step()
    return loss


def cleared_late(step: Any, index: Any, target: Any, extra: Any) -> Any:
    loss = F.cross_entropy(step.model(index), target)
    step.optimizer.zero_grad()
    loss.backward()
    step.optimizer.step()
    return loss


def never_cleared(step: Any, index: Any, target: Any, extra: Any) -> Any:
    loss = F.cross_entropy(step.model(index), target)
    loss.backward()
    return loss


def in_zeros(step: Any, index: Any, target: Any, extra: Any) -> Any:
    step.optimizer.zero_grad(set_to_none=False)
    extra.mul_(2)
    F.cross_entropy(step.model(index) + extra, target).backward()
    step.optimizer.step()


def twice(step: Any, index: Any, target: Any, extra: Any) -> Any:
    """The second half stops when the first one has changed all parameters."""
    cleared_late(step, torch.zeros_like(index), torch.zeros_like(target), extra)
    return first(step, index, target, extra)


def caught(step: Any, index: Any, target: Any, extra: Any) -> Any:
    try:
        return first(step, index, target, extra)
    except IndexError:
        extra += 1
        return extra * 2


def settings(step: Any, index: Any, target: Any, extra: Any) -> Any:
    for group in step.optimizer.param_groups:
        group["lr"] = 0.05
    return first(step, index, target, extra)


def factorised(step: Any, index: Any, target: Any, extra: Any) -> Any:
    extra.add_(1)
    drawn = F.dropout(extra, 0.5)
    root = torch.linalg.cholesky(torch.diag(3.0 - index.float()))
    step.optimizer.zero_grad()
    (step.model.out.weight.sum() * root.sum() + drawn.sum()).backward()
    step.optimizer.step()
    return root


def decided(step: Any, index: Any, target: Any, extra: Any) -> Any:
    """With `fallback=True` in parts: the second one stops."""
    step.optimizer.zero_grad()
    extra.add_(1)
    if F.dropout(extra, 0.5).sum() > -1:
        extra.mul_(2)
    F.cross_entropy(step.model(index), target).backward()
    step.optimizer.step()


ROWS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        first,
        cleared_late,
        never_cleared,
        in_zeros,
        twice,
        caught,
        settings,
        factorised,
        decided,
    )
}


class Step:
    def __init__(self, body: Any) -> None:
        torch.manual_seed(3)
        self.model = Model()
        self.optimizer = torch.optim.NAdam(self.model.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9)
        self.body = body

    def __call__(self, index: Any, target: Any, extra: Any) -> Any:
        return self.body(self, index, target, extra)

    def seen(self) -> Any:
        states = self.optimizer.state.values()
        grads = [p.grad for p in self.model.parameters()]
        return [
            seen_of(self.model, self.optimizer),
            [g is None or g._version for g in grads],
            [[t._version for t in state.values()] for state in states],
            [group["lr"] for group in self.optimizer.param_groups],
            self.schedule.last_epoch,
            torch.get_rng_state(),
        ]


@pytest.mark.filterwarnings("ignore:.*(is split into parts|lr_scheduler)")
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("name", ROWS)
def test_an_error_is_the_functions_own_and_leaves_what_it_leaves(name: str, backend: str) -> None:
    target = torch.tensor([0, 2, 1, 0])
    wrong = torch.tensor([0, 2, 4, 0])
    calls = [(GOOD, target)] * 4 + [(BAD, target), (GOOD, target), (GOOD, wrong)]
    calls += [(GOOD, target)] * 2 + [(BAD, target), (GOOD, target)]
    plain, other = Step(ROWS[name]), Step(ROWS[name])
    compiled = torch.compile(other, backend=backend, fallback=name == "decided")
    errors = 0
    for number, (index, at) in enumerate(calls):
        outcomes = []
        for step, run in ((plain, plain), (other, compiled)):
            torch.manual_seed(number)
            extra = torch.ones(4, 3)
            error = None
            try:
                result = run(index, at, extra)
            except (IndexError, RuntimeError) as caught:
                error = type(caught), str(caught)
                result = _place(caught)
                errors += 1
            outcomes.append(bits([error, result, step.seen(), extra, extra._version]))
        bound = 0.0 if backend == "numpy" else 4096.0
        assert_same(outcomes[1], outcomes[0], bound, f"call {number}")
    assert errors or name == "caught"
    assert compiled.records


def _place(error: BaseException) -> Any:
    """The innermost line of this file."""
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == __file__]
    return lines[-1].name, lines[-1].line


def test_what_is_too_much_to_copy_is_not_but_steps_do_not_count() -> None:
    """A large memory that is written before: counts are put back, gradients are none, and the line is said."""
    table = nn.Embedding(5, 2)
    large = torch.zeros(200_000)
    optimizer = torch.optim.Adam(table.parameters(), lr=0.1)

    def run(index: Any) -> Any:
        optimizer.zero_grad()
        large.add_(1)
        loss = table(index).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(run, backend="llvm", audit="never")
    for _ in range(4):
        compiled(GOOD)
    with pytest.raises(IndexError, match=r"loss = table\(index\)"):
        compiled(BAD)
    assert table.weight.grad is None
    assert optimizer.state[table.weight]["step"].item() == 4
    compiled(GOOD)
    assert optimizer.state[table.weight]["step"].item() == 5


def test_in_blocks_too_the_error_is_that_of_the_line() -> None:
    """Where a step runs example by example."""
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten())
    head = nn.Linear(8 * 24 * 24, 3)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)

    def run(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(head(model(x)), y)
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(run, backend="llvm", sound=False)  # else a note names the line
    x = torch.randn(16, 1, 28, 28)
    for _ in range(3):
        compiled(x, torch.arange(16) % 3)
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(IndexError) as found:
        compiled(x, torch.arange(16) % 4)
    assert _place(found.value)[1] == "loss = F.cross_entropy(head(model(x)), y)"
    assert_same(bits(list(model.parameters())), bits([b.requires_grad_() for b in before]))
    assert all(p.grad is None for p in model.parameters())
