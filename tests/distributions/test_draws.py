"""The same draws as PyTorch for the same seed, and the generators left in the same state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tautograd

from .cases import CASES, WISHART, Case
from .comparing import (
    DTYPES,
    array,
    assert_alike,
    both,
    default_dtype,
    is_error,
    lost_digits,
    outcome,
    seed,
)

SHAPES = ((), (5,), (20, 3))

# What is drawn with nothing but additions, products and quotients after the generator: to the bit.
EXACT = {
    *("Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Exponential"),
    *("FisherSnedecor", "Gamma", "HalfCauchy", "HalfNormal", "Independent", "MixtureSameFamily"),
    *("Multinomial", "NegativeBinomial", "Normal", "OneHotCategorical", "Poisson", "StudentT"),
    *("OneHotCategoricalStraightThrough", "Uniform"),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", ["sample", "rsample"])
@pytest.mark.parametrize("case", [*CASES, *WISHART], ids=repr)
def test_draws(case: Case, method: str, dtype: str) -> None:
    for shape in SHAPES:
        seed(3)

        def draw(engine: Any, shape: Any = shape) -> Any:
            with default_dtype(dtype):
                return getattr(case.build(engine, dtype)[0], method)(shape)

        theirs, ours = both(draw)
        states = [engine.get_rng_state().numpy() for engine in (torch, tautograd)]
        np.testing.assert_array_equal(*states)
        if is_error(theirs):
            assert ours == theirs
        elif case.name in EXACT:
            assert (ours.dtype.is_floating_point) == theirs.dtype.is_floating_point
            np.testing.assert_array_equal(array(ours), array(theirs))
        elif (
            case.name == "LKJCholesky"
        ):  # diagonals are roots of what is left of 1: squares are rounded
            assert_alike(ours * ours.abs(), theirs * theirs.abs(), _lost(case, shape, dtype))
        else:
            assert_alike(ours, theirs, _lost(case, shape, dtype))


def _lost(case: Case, shape: Any, dtype: str) -> float:
    """Elementary functions differ in the last place, and a draw may magnify that.

    The draws of two precisions are not the same numbers, so what rounding does is seen elsewhere:
    by moving PyTorch's parameters by a unit in the last place and back to the same seed.
    """
    moved = Case(case.name, case.make, **{k: _nudged(v) for k, v in case.arguments.items()})

    def draw(one: Case) -> Any:
        seed(3)
        with default_dtype(dtype):
            return array(outcome(lambda: one.build(torch, dtype)[0].sample(shape)))

    # In units of the type: the nudge is of one single-precision unit.
    apart = np.abs(draw(moved).astype(np.float64) - draw(case))
    return float(apart[np.isfinite(apart)].max(initial=0.0) / np.finfo(np.float32).eps)


def _nudged(value: Any) -> Any:
    if isinstance(value, float | np.ndarray | np.floating):
        return value * (1 + np.finfo(np.float32).eps)
    return value


def test_lost_digits_are_seen() -> None:
    """The measure of what rounding does: 1 - cos² at a small angle loses nearly all."""
    x = np.array([1e-3, 1.0])
    single, double = (1 - np.cos(x.astype(kind)) ** 2 for kind in ("float32", "float64"))
    assert lost_digits(single, double) > 0.1
    assert lost_digits(double.astype(np.float32), double) <= 1
