"""Steps that are done for a part of the batch at a time: the same as eager, on one thread and on more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._compile.program.ir import Block, Call, Product
from tautograd._compile.program.passes import shards, sorting

from .compare import lockstep, training
from .test_programs import NATIVE, check

F = torch.nn.functional
nn = torch.nn
# Sums over the batch in another order, of some hundred numbers, which the steps take along.
SUMS = 2.0**12


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small programs are done in parts, too, however little of them can be."""
    monkeypatch.setattr(shards, "WORTH_IT", 0)
    monkeypatch.setattr(shards, "COVERED", 0)
    monkeypatch.setattr(sorting, "SMALL", 100)
    monkeypatch.setattr(sorting.Sorting, "saves_memory", lambda self, slots: True)


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """So many, as many as there are processors or not."""
    from tautograd._compile import native

    monkeypatch.setattr(native, "processors", lambda: 8)
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


class Attention(nn.Module):
    """A layer of a language model: queries, keys and values of all heads lie side by side."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        n, t, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n, t, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(n, t, width))


class Language(nn.Module):
    """Embeddings, attention, and scores by the embedding's own weights."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(11, 16), nn.Embedding(8, 16)
        self.layers = nn.Sequential(Attention(), nn.GELU(), nn.Dropout(0.2), Attention())

    def forward(self, ids: Any) -> Any:
        x = self.layers(self.words(ids) + self.places(torch.arange(ids.shape[1])))
        return (x @ self.words.weight.T).flatten(0, 1)


class Channels(nn.Module):
    """What is in parts lies in the middle of its array: the whole batch for each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 5, 4))

    def forward(self, x: Any) -> Any:
        return torch.einsum("nci,coi->cno", x.view(len(x), 6, 4), self.weight).sum(0)


class Last(nn.Module):
    """The last output of a recurrent network."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Any) -> Any:
        return self.network(x)[0][:, -1]


def _classified(model: Callable[[], Any], *shape: int, classes: int = 5) -> Any:
    def make() -> Any:
        torch.manual_seed(0)
        module = model()
        x, y = torch.randn(12, *shape), torch.arange(12) % classes
        optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
        return training(module, optimizer, lambda: F.cross_entropy(module(x), y))

    return make


def _language() -> Any:
    torch.manual_seed(0)
    module = Language()
    ids, targets = torch.randint(0, 11, (12, 8)), torch.randint(0, 11, (96,))
    targets[5:9] = -100
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    return training(module, optimizer, lambda: F.cross_entropy(module(ids), targets))


def _clipped() -> Any:
    """Gradients of two losses are added up, clipped and noted; another loss takes part of the batch."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 3))
    x, y = torch.randn(12, 8), torch.randn(12, 3)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)

    def step() -> Any:
        optimizer.zero_grad()
        outputs = module(x)
        F.mse_loss(outputs, y).backward()
        F.l1_loss(module(x[:5]), y[:5]).backward()
        norm = nn.utils.clip_grad_norm_(module.parameters(), 0.5)
        optimizer.step()
        return outputs.detach(), norm

    return step, lambda: [[p, p.grad] for p in module.parameters()]


MODELS = {
    "perceptron": _classified(
        lambda: nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5)), 8
    ),
    "mixed over the batch": _classified(
        lambda: nn.Sequential(
            nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 5), nn.Softmax(0)
        ),
        8,
    ),
    "dropout": _classified(
        lambda: nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.3), nn.Linear(32, 5)), 8
    ),
    "channels first": _classified(Channels, 24),
    "convolution": _classified(
        lambda: nn.Sequential(nn.Conv2d(2, 5, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(45, 5)),
        *(2, 8, 8),
    ),
    "recurrent": _classified(
        lambda: nn.Sequential(
            nn.Flatten(), nn.Unflatten(1, (6, 4)), Last(nn.GRU(4, 5, batch_first=True))
        ),
        24,
    ),
    "language": _language,
    "clipped": _clipped,
}


def _blocks(compiled: Any) -> list[Block]:
    program = compiled._last.replay_of.program
    return [i for i in program.instructions if isinstance(i, Block)]


@pytest.mark.parametrize("name", MODELS)
def test_steps_in_parts(name: str, everywhere: None, threads: int) -> None:
    compiled = lockstep(MODELS[name], 6, backend="llvm", bound=SUMS)
    assert compiled.records == 1
    for block in _blocks(compiled):
        assert block.slots == threads
        assert block.count % threads == 0


def test_most_of_a_language_model_is_done_in_parts(everywhere: None) -> None:
    compiled = lockstep(_language, 3, backend="llvm", bound=SUMS)
    (block,) = _blocks(compiled)
    program = compiled._last.replay_of.program
    assert not [i for i in program.instructions if isinstance(i, Product)]
    assert len([i for i in block.body if isinstance(i, Product)]) > 20
    assert [i for i in program.instructions if isinstance(i, Call)], "random numbers are drawn"
    assert any(n.adds for n in block.body if isinstance(n, Product)), "gradients of weights"


def test_any_number_of_threads_gives_the_same_bits(everywhere: None) -> None:
    """What is added up by whom was settled when the step was recorded."""
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(2)
            step, state = _language()
            compiled = torch.compile(step, backend="llvm")
            for _ in range(3):
                compiled()
            torch.set_num_threads(threads)
            for _ in range(5):
                compiled()
            found.append([p.detach().numpy().copy() for p, _ in _flat(state())])
    finally:
        torch.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def _flat(state: Any) -> list[Any]:
    return [pair for pair in state if isinstance(pair, (list, tuple))]


def test_memory_is_that_of_the_parts_in_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def scratch() -> int:
        module = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8)))
        x = torch.randn(8192, 64)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01)

        def step() -> Any:
            optimizer.zero_grad()
            loss = module(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        compiled = torch.compile(step, backend="llvm")
        for _ in range(3):
            compiled()
        memory = compiled.explain().to_dict()["memory"]
        return memory["scratch"]  # type: ignore[no-any-return]

    in_parts = scratch()
    monkeypatch.setattr(shards, "WORTH_IT", 1 << 60)
    assert in_parts < 0.7 * scratch()


def test_an_index_out_of_range_is_told_with_its_line(everywhere: None, threads: int) -> None:
    torch.manual_seed(0)
    table = nn.Embedding(10, 16)
    layer = nn.Linear(16, 3)

    def step(ids: Any) -> Any:
        loss = layer(table(ids)).square().mean()
        loss.backward()
        return loss

    compiled = torch.compile(step, backend="llvm")
    for _ in range(3):
        compiled(torch.arange(12) % 10)
    assert _blocks(compiled)
    for place in range(12):
        ids = torch.arange(12) % 10
        ids[place] = 10
        with pytest.raises(IndexError, match="out of range"):
            compiled(ids)


def test_after_an_error_all_examples_are_as_they_would_be(everywhere: None) -> None:
    """A state of each example is written before, and there is work enough to take a copy of it."""

    def make() -> Any:
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(4)))
        state = torch.zeros(2048, 16)

        def follow(x: Any, index: Any) -> Any:
            with torch.no_grad():
                state.add_(model(x)[:, :16])
                return state.gather(1, index)

        return follow, state

    (plain, expected), (other, state) = make(), make()
    compiled = torch.compile(other, backend="llvm")
    x, index = torch.randn(2048, 64), torch.zeros(2048, 1, dtype=torch.int64)
    for wrong in (0, 0, 0, 0, 16, 0):
        index[0] = wrong
        for function in (plain, compiled):
            if wrong:
                with pytest.raises(RuntimeError, match="out of bounds"):
                    function(x, index)
            else:
                function(x, index)
        torch.testing.assert_close(state, expected)
    assert _blocks(compiled)


def test_what_another_part_reads_is_not_written_over(
    everywhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads may do their parts in any order: here the last comes first."""
    from tautograd._compile import native
    from tautograd._compile.run import blocks

    monkeypatch.setattr(native, "processors", lambda: 8)
    monkeypatch.setattr(blocks, "at_once", lambda runs: [run() for run in runs[::-1]])
    weight = torch.randn(64, 64)

    def following(x: Any, steps: Any) -> Any:
        sums = torch.cumsum(steps, 0)  # one more than there are examples, in the same memory
        y = torch.tanh((x * sums[1:, None]) @ weight)
        return torch.sort(sums[:-1] * y[:, 0]).values

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        compiled = torch.compile(following, backend="llvm")
        arguments = torch.randn(12, 64), torch.randn(13)
        for _ in range(3):
            found = compiled(*arguments)
    finally:
        torch.set_num_threads(before)
    assert _blocks(compiled)
    torch.testing.assert_close(found, following(*arguments))


def test_a_thread_goes_on_when_the_main_one_has_ended(
    everywhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python starts no more threads then."""
    from tautograd._compile import native
    from tautograd._ops import thread_pool as pool

    def cannot(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(native, "processors", lambda: 8)
    monkeypatch.setattr(pool, "_pool", pool._Pool())
    monkeypatch.setattr(threading.Thread, "start", cannot)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        compiled = lockstep(MODELS["clipped"], 4, backend="llvm", bound=SUMS)
    finally:
        torch.set_num_threads(before)
    assert [block.slots for block in _blocks(compiled)] == [2]


def test_random_programs_in_parts(everywhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_count", _smallest)
    for seed in range(20):
        check(seed, "llvm", NATIVE)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(50))
def test_many_random_programs_in_parts(
    part: int, everywhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "_count", _smallest)
    for seed in range(5000 + part * 20, 5000 + part * 20 + 20):
        check(seed, "llvm", NATIVE)


def _smallest(examples: int, slots: int) -> int | None:
    """As many parts as can be, but few."""
    return next((n for n in (2, 3, 5, 7) if examples % n == 0), None)
