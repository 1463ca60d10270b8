"""Pairs whose divergence is infinite: p has draws where q has none."""

from __future__ import annotations

from typing import Any

import tautograd as torch
from tautograd import Tensor, inf

from .._continuous.beta import Beta
from .._continuous.continuous_bernoulli import ContinuousBernoulli
from .._continuous.exponential import Exponential
from .._continuous.gamma import Gamma
from .._continuous.laplace import Laplace
from .._continuous.normal import Normal
from .._continuous.uniform import Uniform
from .._derived.gumbel import Gumbel
from .._derived.pareto import Pareto
from .._discrete.bernoulli import Bernoulli
from .._discrete.binomial import Binomial
from .._discrete.poisson import Poisson
from ._registry import register_kl

# The whole line against what begins at 0 or at a bound; and so on, from larger to smaller.
_ABOVE_ZERO = (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
_PAIRS: dict[Any, tuple[str, tuple[Any, ...]]] = {
    Beta: ("concentration1", (Pareto,)),
    ContinuousBernoulli: ("probs", (Pareto,)),
    Exponential: ("rate", _BOUNDED),
    Gamma: ("concentration", _BOUNDED),
    Gumbel: ("loc", _ABOVE_ZERO),
    Laplace: ("loc", _ABOVE_ZERO),
    Normal: ("loc", _ABOVE_ZERO),
    Pareto: ("scale", (Beta, ContinuousBernoulli, Uniform)),
    Poisson: ("rate", (Bernoulli, Binomial)),
}


def _infinite_like(parameter: str) -> Any:
    def infinite(p: Any, q: Any) -> Tensor:
        return torch.full_like(getattr(p, parameter), inf)

    return infinite


for _kind, (_parameter, _others) in _PAIRS.items():
    _formula = _infinite_like(_parameter)
    for _other in _others:
        register_kl(_kind, _other)(_formula)
