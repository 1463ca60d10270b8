"""How many roundings a program has on its longest way, and that sums in other orders stay within what follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tautograd._compile.dynamic.roundings import LAMBDA, UNITS, apart, roundings
from tautograd._compile.dynamic.size import Size, Ways
from tautograd._compile.program.ir import Map, Product, Reduce, View

F = np.dtype(np.float32)
EPS = float(np.finfo(np.float32).eps)


def _view(buffer: int, *shape: Any) -> View:
    return View(buffer, 0, shape, (0,) * len(shape), F)


def test_the_longest_way_counts() -> None:
    n = Size.symbol("n", Ways({"n": 37}))
    program = [
        Product(_view(0, n, 8), _view(1, 8, 16), _view(2, n, 16)),
        Map("tanh", (_view(2, n, 16),), _view(3, n, 16), (F, F)),
        Map("add", (_view(3, n, 16), _view(0, n, 16)), _view(4, n, 16), (F, F, F)),
        Reduce("add", _view(4, n, 16), (0,), _view(5, 1, 16), F),
        Reduce("maximum", _view(4, n, 16), (0,), _view(6, 1, 16), F),
    ]
    for size in (5, 60):
        found = roundings(program, lambda value, size=size: size if type(value) is Size else value)
        assert found[2] == 9
        assert found[4] == 9 + 2 * UNITS
        assert found[5] == found[4] + size  # a sum over all examples rounds once for each
        assert found[6] == found[4]  # the largest number is one of them


@pytest.mark.parametrize("count", [3, 17, 256, 5000])
def test_sums_in_other_orders_are_within_the_bound_and_not_far_below_it(count: int) -> None:
    rng = np.random.default_rng(count)
    worst = 0.0
    for _ in range(30):
        terms = rng.random((count, 50), np.float32)  # of one sign: nothing cancels
        orders = [
            np.add.accumulate(terms[rng.permutation(count)], dtype=np.float32)[-1] for _ in range(2)
        ]
        off, size = np.abs(orders[0] - orders[1]).max(), orders[1].max()
        assert off <= apart(EPS, count, size, 0.0)
        worst = max(worst, off / size)
    assert worst < EPS * count
    assert worst > EPS * count / 500 or count < 100


@pytest.mark.parametrize("count", [17, 256, 5000])
def test_a_sum_that_is_zero_but_for_rounding_is_within_the_other_part(count: int) -> None:
    """Of terms that cancel, against the sum of as many that do not."""
    rng = np.random.default_rng(count)
    for _ in range(30):
        terms = rng.standard_normal((count, 50)).astype(np.float32)
        both = np.concatenate([terms, -terms])
        orders = [
            np.add.accumulate(both[rng.permutation(len(both))], dtype=np.float32)[-1]
            for _ in range(2)
        ]
        largest = float(np.abs(terms).sum(0).max())
        assert np.abs(orders[0] - orders[1]).max() <= apart(EPS, 2 * count, 0.0, largest)


def test_what_is_no_rounding_is_beyond_the_bound() -> None:
    """A coefficient that is wrong by one in a sum of a few hundred terms, with fewer roundings than eps allows."""
    for ways in (50, 2000):
        assert apart(EPS, ways, 1.0, 0.0) < 1 / 300
    assert apart(EPS, 4000, 0.0, 1.0) < 1e-4
    assert LAMBDA >= 5
