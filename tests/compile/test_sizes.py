"""Steps over many sizes, in any order: kernels are shared between their records, and every replay is audited.

With `audit="always"` each call is recorded anew and must become the same program, and each kernel is held against NumPy
within a bound derived for its numbers. So there is no tolerance here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch
import tautograd.nn.functional as F
from tautograd import nn
from tautograd._compile.native import functions
from tautograd._compile.native.llvm import jit
from tautograd._compile.run import compiled

pytestmark = pytest.mark.skipif(bool(jit.why_not()), reason="no compiler")

CLASSES = 5
Step = Callable[[Any, Any], Any]


def _training(model: nn.Module) -> Step:
    optimizer = torch.optim.SGD(model.parameters(), 0.05, 0.9)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


class Recurrent(nn.Module):
    """As many steps as the sequence is long."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.GRUCell(6, 9), nn.Linear(9, CLASSES)

    def forward(self, x: Any) -> Any:
        state = torch.zeros(x.shape[0], 9)
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
        return self.head(state)


class Attentive(nn.Module):
    """A mask and positions made for the length, and a decision by it."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Embedding(64, 6)
        self.layer = nn.TransformerEncoderLayer(6, 2, 12, 0.0, batch_first=True)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x: Any) -> Any:
        length = x.shape[1]
        mask = torch.full((length, length), float("-inf")).triu(1)
        seen = self.layer(x + self.places(torch.arange(length)), src_mask=mask)
        return self.head(seen.mean(1) if length > 7 else seen[:, -1])


class Convolved(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.filter, self.head = nn.Conv1d(6, 8, 3, padding=1), nn.Linear(8, CLASSES)

    def forward(self, x: Any) -> Any:
        return self.head(F.gelu(self.filter(x.transpose(1, 2))).amax(2))


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.head = nn.Linear(6, 20), nn.Linear(20, CLASSES)

    def forward(self, x: Any) -> Any:
        return self.head(F.softmax(self.inner(x), -1).sum(1))


@pytest.mark.parametrize("model", [Recurrent, Attentive, Convolved, Pooled])
def test_sizes_in_any_order(model: type[nn.Module]) -> None:
    rng = random.Random(seed := random.SystemRandom().randrange(1 << 30))
    torch.manual_seed(seed)
    step = torch.compile(_training(model()), dynamic=False, audit="always", sound=False)
    sizes = {(rng.randint(1, 20), rng.randint(1, 12)) for _ in range(7)}
    calls = [size for size in sizes for _ in range(4)]
    rng.shuffle(calls)
    for batch, length in calls:
        step(torch.randn(batch, length, 6), torch.randint(0, CLASSES, (batch,)))
    assert step.records == len(sizes), seed
    for entry in step._alive():
        assert entry.audits.audits >= 2, seed
        assert entry.audits.compared == "yes", seed


def test_another_length_brings_few_kernels() -> None:
    """Only what adds up all steps of a recurrence depends on their number: it has an operand for each."""
    step = torch.compile(_training(Recurrent()), dynamic=False, audit="never", sound=False)
    known: set[str] = set()
    for length in (9, 12, 23):
        for _ in range(2):
            step(torch.randn(10, length, 6), torch.randint(0, CLASSES, (10,)))
        programs = _programs(step._last)
        kernels = {f.name for native in programs for f in native.lowered.functions}
        assert all(functions.known(name) is not None for name in kernels)
        assert not known or 10 * len(kernels - known) <= len(kernels)
        known |= kernels


def _programs(entry: Any) -> list[Any]:
    parts = [part for parts in entry.replay_of.stretches for part in parts]
    return [part.native for part in parts if part.native is not None]


def test_sizes_in_turn_take_the_shortest_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the record of the last call was tried at once; for any other, all arguments were looked at anew."""
    looks = 0
    form = compiled.Form

    def looking(*args: Any) -> Any:
        nonlocal looks
        looks += 1
        return form(*args)

    monkeypatch.setattr(compiled, "Form", looking)
    scale = [2.0]
    plain = _scaled(scale)
    step = torch.compile(_scaled(scale), dynamic=False, audit="never", sound=False)
    given = [torch.randn(n, 3) for n in (2, 3, 4)]
    for _ in range(20):
        for x in given:
            assert torch.equal(step(x), plain(x))
    looks = 0
    for _ in range(5):
        for x in given:
            assert torch.equal(step(x), plain(x))
    assert looks == 0
    assert step._last is step._entries[form((given[-1],), {}).key][-1]
    scale[0] = 3.0  # seen by each of them
    for x in given:
        assert torch.equal(step(x), plain(x))
    assert looks == len(given)


def _scaled(scale: list[float]) -> Callable[[Any], Any]:
    return lambda x: x * scale[0]


def test_a_record_that_is_given_up_is_not_taken_in_turn() -> None:
    step = torch.compile(lambda x: x * 2, dynamic=False, audit="never", sound=False)
    given = [torch.ones(n) for n in (2, 3)]
    for _ in range(20):
        for x in given:
            step(x)
    first, second = (step._by_shapes[(x.shape,)] for x in given)
    calls = first.calls, second.calls
    step._drop(first)
    step(given[0])
    step.clear()
    step(given[1])
    assert (first.calls, second.calls) == calls
