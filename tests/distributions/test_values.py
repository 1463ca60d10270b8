"""Densities, cumulative functions, quantiles, entropies, moments, and gradients through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from .cases import CASES, WISHART, Case
from .comparing import DTYPES, array, compare, outcome

ALL = [*CASES, *WISHART]
MOMENTS = ("mean", "mode", "variance", "stddev")
SUMS = ("entropy", "perplexity")


def values_of(case: Case, dtype: str = "float32") -> Any:
    """Draws of PyTorch's, as an array: where the densities are looked at."""
    torch.manual_seed(5)
    return array(outcome(lambda: case.build(torch, dtype)[0].sample((5,))))


def _as_value(engine: Any, case: Case, distribution: Any, values: Any, like: Any) -> Any:
    whole = values.dtype.kind in "iu"
    kind = engine.int64 if whole else like.dtype
    return engine.tensor(values, dtype=kind, requires_grad=not whole)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", ["log_prob", "cdf"])
@pytest.mark.parametrize("case", ALL, ids=repr)
def test_functions_of_a_value(case: Case, method: str, dtype: str) -> None:
    values = values_of(case)

    def call(engine: Any, distribution: Any, parameters: Any) -> Any:
        like = distribution.mean if case.name != "LKJCholesky" else distribution.concentration
        if case.name in ("LogisticNormal", "RelaxedBernoulli", "RelaxedOneHotCategorical"):
            like = parameters[0] if parameters else engine.zeros(())
        if case.name == "TransformedDistribution":
            like = parameters[0]
        value = _as_value(engine, case, distribution, values, like)
        result = getattr(distribution, method)(value)
        wanted = [p for p in (*parameters, value) if p.requires_grad]
        if not result.requires_grad:
            return [result]
        try:
            slopes = engine.autograd.grad(result.sum(), wanted, allow_unused=True)
        except (RuntimeError, NotImplementedError) as error:
            return [result, str(error).split("'")[0]]
        if (
            case.name == "Wishart"
        ):  # above the diagonal the triangle is not read: see the ops' tests
            slopes = [s.tril() if s is not None and s.dim() > 1 else s for s in slopes]
        return [result, *(s for s in slopes if s is not None), [s is None for s in slopes]]

    # PyTorch's incomplete gamma function has ten digits where its order is large: see differences.md.
    tenth = method == "cdf" and case.name == "Gamma"
    compare(case, dtype, call, rtol=1e-9 if tenth else 0.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ALL, ids=repr)
def test_quantiles(case: Case, dtype: str) -> None:
    def call(engine: Any, distribution: Any, parameters: Any) -> Any:
        shape = tuple(distribution.batch_shape) + tuple(distribution.event_shape)
        probabilities = np.random.default_rng(1).uniform(0.01, 0.99, (5, *shape))
        return distribution.icdf(engine.tensor(probabilities, dtype=getattr(engine, dtype)))

    compare(case, dtype, call)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ALL, ids=repr)
def test_moments_and_entropies(case: Case, dtype: str) -> None:
    for name in MOMENTS:
        compare(case, dtype, lambda e, d, p, name=name: getattr(d, name), f"{name} of {case}")
    for name in SUMS:
        compare(case, dtype, lambda e, d, p, name=name: getattr(d, name)(), f"{name} of {case}")


@pytest.mark.parametrize("expand", [True, False])
@pytest.mark.parametrize("case", ALL, ids=repr)
def test_enumerate_support(case: Case, expand: bool) -> None:
    compare(case, "float32", lambda e, d, p: d.enumerate_support(expand))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_gradients_through_draws(case: Case, dtype: str) -> None:
    """Of a weighted sum of draws, with respect to every parameter."""

    def call(engine: Any, distribution: Any, parameters: Any) -> Any:
        engine.manual_seed(7)
        drawn = distribution.rsample((4,))
        if not drawn.requires_grad:
            return [engine.tensor(drawn.requires_grad)]
        weights = np.random.default_rng(2).normal(size=tuple(drawn.shape))
        loss = (drawn * engine.tensor(weights, dtype=drawn.dtype)).sum()
        slopes = engine.autograd.grad(loss, parameters, allow_unused=True)
        return [*(s for s in slopes if s is not None), [s is None for s in slopes]]

    compare(case, dtype, call)
