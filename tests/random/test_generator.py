"""The generator itself: seeds, saved states and refusals, each against PyTorch."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

import tautograd._random as ours
from tautograd._random import engine

SEEDS = [0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 5, 2**63, 2**64 - 1, -1, -5, -(2**63)]


def states_equal(mine: ours.Generator, theirs: torch.Generator) -> bool:
    return np.array_equal(mine.get_state(), theirs.get_state().numpy())


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds(seed: int) -> None:
    mine, theirs = ours.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    assert mine.initial_seed() == theirs.initial_seed()
    assert states_equal(mine, theirs)


def test_a_new_generator_has_the_default_seed() -> None:
    assert ours.Generator().initial_seed() == torch.Generator().initial_seed()
    assert states_equal(ours.Generator(), torch.Generator())


def test_entropy_gives_new_seeds() -> None:
    generator = ours.Generator()
    first, second = generator.seed(), generator.seed()
    assert first != second
    assert generator.initial_seed() == second
    assert states_equal(generator, torch.Generator().manual_seed(second))


@pytest.mark.parametrize("words", [0, 1, 2, 623, 624, 625, 1248, 5000])
def test_words_and_positions(words: int) -> None:
    mine, theirs = ours.Generator().manual_seed(4), torch.Generator().manual_seed(4)
    found = mine.random32(words) % (2**28 - 1)
    expected = torch.empty(words, dtype=torch.int64).random_(0, 2**28 - 1, generator=theirs)
    assert np.array_equal(found, expected.numpy())
    assert states_equal(mine, theirs)


def test_wide_words_take_the_high_half_first() -> None:
    narrow, wide = ours.Generator().random32(10), ours.Generator().random64(5)
    assert [int(word) for word in wide] == [
        int(narrow[i]) << 32 | int(narrow[i + 1]) for i in range(0, 10, 2)
    ]


@pytest.mark.parametrize("drawn", [0, 1, 2, 15, 16, 700])
def test_states_travel_both_ways(drawn: int) -> None:
    """Odd counts below 16 leave half a pair of normals in the state."""
    theirs = torch.Generator().manual_seed(9)
    torch.randn(drawn, generator=theirs)
    mine = ours.Generator().set_state(theirs.get_state().numpy())
    assert states_equal(mine, theirs)
    assert mine.initial_seed() == 9

    back = torch.Generator()
    back.set_state(torch.from_numpy(mine.get_state()))
    expected = torch.randn(3, dtype=torch.float64, generator=back).numpy()
    assert np.array_equal(ours.normal(mine, 3, dtype=np.float64), expected)


def test_the_kept_float_normal_survives_a_round_trip() -> None:
    generator = ours.Generator()
    generator.next_float_normal = 0.25
    theirs = torch.Generator()
    theirs.set_state(torch.from_numpy(generator.get_state()))
    assert states_equal(generator, theirs)
    assert generator.clone_state().next_float_normal == 0.25


def test_clones_go_on_alone() -> None:
    generator = ours.Generator().manual_seed(3)
    ours.normal(generator, 3)
    clone = generator.clone_state()
    first = ours.normal(generator, 5)
    assert np.array_equal(ours.normal(clone, 5), first)


def test_seeding_drops_the_kept_normal() -> None:
    generator = ours.Generator().manual_seed(3)
    ours.normal(generator, 1)
    assert generator.next_double_normal is not None
    assert states_equal(generator.manual_seed(3), torch.Generator().manual_seed(3))


def empty(dtype: str = "float32") -> torch.Tensor:
    return torch.empty(3, dtype=getattr(torch, dtype))


def row(values: list[float]) -> tuple[np.ndarray, torch.Tensor]:
    array = np.array(values, np.float32)
    return array, torch.from_numpy(array)


G = ours.Generator()
REFUSALS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "seed above": (
        lambda: ours.Generator().manual_seed(2**64),
        lambda: torch.Generator().manual_seed(2**64),
    ),
    "seed below": (
        lambda: ours.Generator().manual_seed(-(2**63) - 1),
        lambda: torch.Generator().manual_seed(-(2**63) - 1),
    ),
    "seed float": (
        lambda: ours.Generator().manual_seed(1.5),
        lambda: torch.Generator().manual_seed(1.5),
    ),
    "seed bool": (
        lambda: ours.Generator().manual_seed(True),
        lambda: torch.Generator().manual_seed(True),
    ),
    "state size": (
        lambda: ours.Generator().set_state(np.zeros(10, np.uint8)),
        lambda: torch.Generator().set_state(torch.zeros(10, dtype=torch.uint8)),
    ),
    "state content": (
        lambda: ours.Generator().set_state(np.zeros(5056, np.uint8)),
        lambda: torch.Generator().set_state(torch.zeros(5056, dtype=torch.uint8)),
    ),
    "state type": (
        lambda: ours.Generator().set_state(np.zeros(5056)),
        lambda: torch.Generator().set_state(torch.zeros(5056)),
    ),
    "offset": (G.get_offset, lambda: torch.Generator().get_offset()),
    "uniform order": (lambda: ours.uniform(G, 3, 2, 1), lambda: empty().uniform_(2, 1)),
    "uniform width": (
        lambda: ours.uniform(G, 3, -3e38, 3e38),
        lambda: empty().uniform_(-3e38, 3e38),
    ),
    "uniform bound": (lambda: ours.uniform(G, 3, 0, 1e39), lambda: empty().uniform_(0, 1e39)),
    "uniform type": (
        lambda: ours.uniform(G, 3, dtype=np.int32),
        lambda: empty("int32").uniform_(),
    ),
    "normal std": (lambda: ours.normal(G, 3, 0, -1), lambda: empty().normal_(0, -1)),
    "normal type": (lambda: ours.normal(G, 3, dtype=np.int64), lambda: empty("int64").normal_()),
    "log_normal std": (lambda: ours.log_normal(G, 3, 0, 0), lambda: empty().log_normal_(0, 0)),
    "exponential rate": (
        lambda: ours.exponential(G, 3, -1.5),
        lambda: empty().exponential_(-1.5),
    ),
    "exponential type": (
        lambda: ours.exponential(G, 3, dtype=np.uint8),
        lambda: empty("uint8").exponential_(),
    ),
    "cauchy sigma": (lambda: ours.cauchy(G, 3, 0, 0), lambda: empty().cauchy_(0, 0)),
    "cauchy type": (lambda: ours.cauchy(G, 3, dtype=np.int8), lambda: empty("int8").cauchy_()),
    "geometric p": (lambda: ours.geometric(G, 3, 1.0), lambda: empty().geometric_(1.0)),
    "bernoulli p": (lambda: ours.bernoulli(G, 3, 1.5), lambda: empty().bernoulli_(1.5)),
    "randint order": (lambda: ours.randint(G, 2, 3, 3), lambda: torch.randint(3, 3, (2,))),
    "randint high": (
        lambda: ours.randint(G, 2, 0, 300, np.uint8),
        lambda: torch.randint(0, 300, (2,), dtype=torch.uint8),
    ),
    "randint low": (
        lambda: ours.randint(G, 2, -1, 3, np.uint8),
        lambda: torch.randint(-1, 3, (2,), dtype=torch.uint8),
    ),
    "randint half": (
        lambda: ours.randint(G, 2, 0, 2**30, np.float16),
        lambda: torch.randint(0, 2**30, (2,), dtype=torch.float16),
    ),
    "random type": (
        lambda: ours.random(G, 3, np.uint32),
        lambda: empty("uint32").random_(),
    ),
    "randperm size": (lambda: ours.randperm(G, -1), lambda: torch.randperm(-1)),
    "randperm byte": (
        lambda: ours.randperm(G, 257, np.uint8),
        lambda: torch.randperm(257, dtype=torch.uint8),
    ),
    "randperm half": (
        lambda: ours.randperm(G, 2050, np.float16),
        lambda: torch.randperm(2050, dtype=torch.float16),
    ),
    "multinomial zero": (
        lambda: ours.multinomial(G, row([0, 0])[0], 2, True),
        lambda: torch.multinomial(row([0, 0])[1], 2, True),
    ),
    "multinomial negative": (
        lambda: ours.multinomial(G, row([-1, 2])[0], 2, True),
        lambda: torch.multinomial(row([-1, 2])[1], 2, True),
    ),
    "multinomial infinite": (
        lambda: ours.multinomial(G, row([np.inf, 2])[0], 1),
        lambda: torch.multinomial(row([np.inf, 2])[1], 1),
    ),
    "multinomial many": (
        lambda: ours.multinomial(G, row([1, 2])[0], 3),
        lambda: torch.multinomial(row([1, 2])[1], 3),
    ),
    "multinomial none": (
        lambda: ours.multinomial(G, row([1, 2])[0], 0),
        lambda: torch.multinomial(row([1, 2])[1], 0),
    ),
    "poisson rate": (
        lambda: ours.poisson(G, row([-1])[0]),
        lambda: torch.poisson(row([-1])[1]),
    ),
    "binomial types": (
        lambda: ours.binomial(G, row([5])[0], np.array([0.5])),
        lambda: torch.binomial(row([5])[1], torch.tensor([0.5], dtype=torch.float64)),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    """The same kind of error with the same first line."""
    mine, theirs = REFUSALS[name]
    with pytest.raises(Exception) as expected:
        theirs()
    with pytest.raises(expected.type) as found:
        mine()
    assert str(found.value) == str(expected.value).splitlines()[0]


def test_a_refused_array_of_probabilities_names_them() -> None:
    with pytest.raises(RuntimeError, match="p to be in"):
        ours.bernoulli_from(G, np.array([0.5, 1.5]))


def test_foreign_devices_and_types_are_named() -> None:
    with pytest.raises(RuntimeError, match="device=mps"):
        ours.Generator("mps")
    with pytest.raises(TypeError, match="dtype"):
        ours.uniform(G, 3, dtype=np.longdouble)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("float32", -(2**40), -(2**39)),
        ("float32", 2**24 + 1, 2**24 + 9),
        ("float32", -(2**24) - 3, -(2**24) + 1),
        ("float16", 0, 65504),
        ("float64", 0, 2**53 + 5),
    ],
)
def test_integers_a_float_cannot_hold_warn(dtype: str, low: int, high: int) -> None:
    """The bounds move inward, to where no cast lands outside."""
    with pytest.warns(UserWarning, match="out of bounds"):
        found = ours.randint(ours.Generator(), 1000, low, high, dtype)
    target = torch.empty(1000, dtype=getattr(torch, dtype))
    with pytest.warns(UserWarning, match="out of bounds"):
        expected = target.random_(low, high, generator=torch.Generator())
    assert np.array_equal(found, expected.numpy())


def test_threads_that_draw_first_share_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stream of their own each, they would all draw the same numbers."""
    make = np.random.RandomState

    def slow(seed: int) -> np.random.RandomState:
        time.sleep(0.05)
        return make(seed)

    monkeypatch.setattr(np.random, "RandomState", slow)
    monkeypatch.setattr(engine, "_spare", [])
    generator = ours.Generator()
    with ThreadPoolExecutor(4) as pool:
        found = [int(words[0]) for words in pool.map(generator.random32, [1] * 4)]
    assert sorted(found) == sorted(ours.Generator().random32(4).tolist())


def test_generators_that_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes over what another has left behind starts from its own seed, with nothing of the other's."""
    made = []
    make = np.random.RandomState
    monkeypatch.setattr(np.random, "RandomState", lambda seed: made.append(seed) or make(seed))
    monkeypatch.setattr(engine, "_spare", [])
    for seed in range(20):
        mine, theirs = ours.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
        drawn = ours.normal(mine, (3 + seed % 5,), dtype="float32")
        expected = torch.empty(drawn.shape).normal_(generator=theirs).numpy()
        assert np.array_equal(drawn, expected)
        assert states_equal(mine, theirs)
        del mine
    assert len(made) == 1
    several = [ours.Generator().manual_seed(seed) for seed in range(5)]
    words = [int(g.random32(1)[0]) for g in several]
    assert len(made) == 5
    assert len(set(words)) == 5
