"""Random numbers by kernels: the same bits as without them, and the same state of the generator afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tautograd
from tautograd._arrays import kernels

DRAWS = {
    "rand": tautograd.rand,
    "rand, float64": lambda n: tautograd.rand(n, dtype=tautograd.float64),
    "rand, bfloat16": lambda n: tautograd.rand(n, dtype=tautograd.bfloat16),
    "randn, float16": lambda n: tautograd.randn(n, dtype=tautograd.float16),
    "randn, float64": lambda n: tautograd.randn(n, dtype=tautograd.float64),
    "randperm": tautograd.randperm,
    "randperm, float32": lambda n: tautograd.randperm(n, dtype=tautograd.float32),
    "bernoulli": lambda n: tautograd.full((n,), 0.3).bernoulli(),
    "dropout": lambda n: tautograd.dropout(tautograd.ones(n), 0.3, True),
    "randint": lambda n: tautograd.randint(0, 100, (n,)),
}
SIZES = (1, 2, 15, 16, 17, 31, 100, 623, 624, 625, 1023, 1024, 5000, 70_001)


@pytest.fixture(autouse=True)
def _back() -> Iterator[None]:
    before = kernels.switch(True)
    yield
    kernels.switch(before)


def _drawn(draw: Any, on: bool) -> Any:
    kernels.switch(on)
    tautograd.manual_seed(7)
    return [draw(n) for n in SIZES], tautograd.get_rng_state()


@pytest.mark.parametrize("name", DRAWS)
def test_with_and_without_kernels(name: str) -> None:
    (first, state), (second, other) = (_drawn(DRAWS[name], on) for on in (True, False))
    assert all(map(tautograd.equal, first, second))
    assert tautograd.equal(state, other)


def test_normal_numbers_are_those_of_the_formula_in_numpy() -> None:
    """Where a step is fused, NumPy's way rounds twice: one unit in the last place, once in 2**29 steps."""
    first, second = (
        _drawn(lambda n: tautograd.empty(n).normal_(0.5, 2.0), on) for on in (True, False)
    )
    for a, b in zip(first[0], second[0], strict=True):
        assert (a != b).sum() <= 1
        assert tautograd.allclose(a, b, rtol=3e-7, atol=1e-7)
    assert tautograd.equal(first[1], second[1])


def test_a_kernel_is_made_when_enough_work_has_asked_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(kernels, "_found", {})
    monkeypatch.setattr(kernels, "_asked", {})
    monkeypatch.setattr(kernels, "_make", lambda name, dtype: asked.append(name))
    few = kernels.FEWEST // 4
    for _ in range(3):
        assert kernels.kernel_for_work("random_words", None, few) is None
    assert not asked
    kernels.kernel_for_work("random_words", None, few)
    assert asked == ["random_words"]
