"""Divergences of every registered pair, and how a pair is found."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import tautograd
from tests.both import same

from .cases import CASES, Case
from .comparing import DTYPES, array, assert_alike, default_dtype, is_error, lost_digits, outcome

NAMES = sorted({case.name for case in CASES})
BY_NAME = {name: [case for case in CASES if case.name == name] for name in NAMES}


def _registered(engine: Any) -> set[tuple[str, str]]:
    return {(p.__name__, q.__name__) for p, q in engine.distributions.kl._KL_REGISTRY}


def test_the_same_pairs_are_registered() -> None:
    assert _registered(tautograd) == _registered(torch)


SHAPES = {case: case.build(torch, "float32")[0] for case in CASES}


def _pairs(one: str, other: str) -> list[tuple[Case, Case]]:
    """Cases of the two families that have one shape."""

    def fit(p: Case, q: Case) -> bool:
        a, b = SHAPES[p], SHAPES[q]
        return (a.batch_shape, a.event_shape) == (b.batch_shape, b.event_shape)

    return [pair for pair in itertools.product(BY_NAME[one], BY_NAME[other]) if fit(*pair)]


@pytest.mark.parametrize("one", NAMES)
def test_every_pair_of_families(one: str) -> None:
    for other in NAMES:
        for p, q in _pairs(one, other)[:4]:
            _compare(p, q)


def _compare(p: Case, q: Case) -> None:
    def divergence(engine: Any, dtype: str) -> Any:
        with default_dtype(dtype):
            (mine, a), (its, b) = (c.build(engine, dtype, grad=True) for c in (p, q))
            result = engine.distributions.kl_divergence(mine, its)
            if not result.requires_grad or not np.isfinite(array(result)).all():
                return [result]
            slopes = engine.autograd.grad(result.sum(), [*a, *b], allow_unused=True)
            return [result, *(s for s in slopes if s is not None)]

    single, double = (outcome(lambda k=k: divergence(torch, k)) for k in DTYPES)
    if is_error(single):
        assert outcome(lambda: divergence(tautograd, "float32")) == single
        return
    lost = max(lost_digits(array(s), array(d)) for s, d in zip(single, double, strict=True))
    for dtype, wanted in zip(DTYPES, (single, double), strict=True):
        found = outcome(lambda dtype=dtype: divergence(tautograd, dtype))
        about = f"KL({p} || {q})"
        assert not is_error(found), (about, found)
        assert_alike(found[0], wanted[0], lost, about)
        # PyTorch's trigamma, the slope of digamma, is good to nine digits.
        assert_alike(found[1:], wanted[1:], lost, about, rtol=1e-8)


@same
def test_exponential_families_by_their_normalizers(torch: Any) -> Any:
    D, formula = torch.distributions, torch.distributions.kl._kl_expfamily_expfamily
    t = torch.tensor
    pairs = [
        (D.Normal(t([0.5, 1.0]), 1.0), D.Normal(t([0.0, 2.0]), 2.0)),
        (D.Gamma(t([0.5, 3.0]), 1.0), D.Gamma(t([1.0, 2.0]), 2.0)),
        (D.Bernoulli(t([0.2, 0.6])), D.Bernoulli(t([0.5, 0.9]))),
        (D.Dirichlet(t([[0.2, 0.6]])), D.Dirichlet(t([[0.5, 0.9]]))),
        (D.Exponential(t([2.0])), D.Exponential(t([3.0]))),
        (D.Poisson(t([2.0])), D.Poisson(t([3.0]))),
        (D.Beta(t([2.0]), 1.0), D.Beta(t([3.0]), 4.0)),
    ]
    entropies = [D.ExponentialFamily.entropy(p) for p, _ in pairs[:3]]
    with pytest.raises(NotImplementedError, match="different exponential families"):
        formula(pairs[0][0], pairs[1][0])
    return [formula(p, q) for p, q in pairs], entropies


@same
def test_the_nearest_classes_are_found(torch: Any) -> Any:
    D = torch.distributions
    kl = D.kl

    class Base(D.Normal):
        pass

    class Derived(Base):
        pass

    registered, found = dict(kl._KL_REGISTRY), []
    try:
        D.register_kl(Base, Derived)(lambda p, q: torch.tensor(1.0))
        D.register_kl(Derived, Base)(lambda p, q: torch.tensor(2.0))
        found.append(D.kl_divergence(Base(0.0, 1.0), Derived(0.0, 1.0)))
        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Derived, Derived\)"):
            found.append(D.kl_divergence(Derived(0.0, 1.0), Derived(0.0, 1.0)))
        D.register_kl(Derived, Derived)(lambda p, q: torch.tensor(3.0))
        found.append(D.kl_divergence(Derived(0.0, 1.0), Derived(0.0, 1.0)))
        with pytest.raises(TypeError):
            D.register_kl("Normal", D.Normal)
        with pytest.raises(NotImplementedError, match="No KL"):
            D.kl_divergence(D.VonMises(torch.zeros(1), torch.ones(1)), Base(0.0, 1.0))
    finally:
        kl._KL_REGISTRY.clear()
        kl._KL_REGISTRY.update(registered)
        kl._KL_MEMOIZE.clear()
    return found


@same
def test_certain_outcomes(torch: Any) -> Any:
    """Where a probability is 0 or 1, and where supports do not fit."""
    D, t = torch.distributions, torch.tensor
    zero_one, half = t([0.0, 1.0, 0.5, 0.0]), t([0.5, 0.0, 1.0, 0.0])
    return [
        D.kl_divergence(D.Bernoulli(zero_one), D.Bernoulli(half)),
        D.kl_divergence(D.Categorical(t([[0.0, 1.0]])), D.Categorical(t([[1.0, 0.0]]))),
        D.kl_divergence(D.Uniform(t([0.0, 2.0]), 3.0), D.Uniform(t([1.0, 1.0]), 4.0)),
        D.kl_divergence(D.Pareto(t([0.5, 2.0]), 3.0), D.Pareto(t([1.0, 1.0]), 4.0)),
        D.kl_divergence(D.Binomial(t([3.0]), t([0.4])), D.Binomial(t([2.0]), t([0.4]))),
        D.kl_divergence(D.Beta(t([3.0]), 1.0), D.Uniform(t([0.5]), t([2.0]))),
        D.kl_divergence(D.Uniform(t([-0.5]), t([0.5])), D.Beta(t([3.0]), 1.0)),
    ]
