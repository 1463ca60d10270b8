"""Divergences between two distributions of one family."""

from __future__ import annotations

from typing import Any

import tautograd as torch
from tautograd import Tensor, inf
from tautograd.nn.functional import softplus

from .._continuous.beta import Beta
from .._continuous.cauchy import Cauchy
from .._continuous.continuous_bernoulli import ContinuousBernoulli
from .._continuous.exponential import Exponential
from .._continuous.gamma import Gamma
from .._continuous.laplace import Laplace
from .._continuous.normal import Normal
from .._continuous.uniform import Uniform
from .._derived.gumbel import Gumbel
from .._derived.half_normal import HalfNormal
from .._derived.independent import Independent
from .._derived.pareto import Pareto
from .._derived.transformed_distribution import TransformedDistribution
from .._discrete.bernoulli import Bernoulli
from .._discrete.binomial import Binomial
from .._discrete.categorical import Categorical
from .._discrete.geometric import Geometric
from .._discrete.one_hot_categorical import OneHotCategorical
from .._discrete.poisson import Poisson
from .._multivariate.dirichlet import Dirichlet
from ..exp_family import ExponentialFamily
from ..utils import _sum_rightmost
from ..utils import euler_constant as _gamma
from ._registry import kl_divergence, register_kl


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Any, q: Any) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = ones.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros = zeros.masked_fill(q.probs == 1, inf).masked_fill(p.probs == 1, 0)
    return ones + zeros  # type: ignore[no-any-return]


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Any, q: Any) -> Tensor:
    p_total = p.concentration1 + p.concentration0
    q_total = q.concentration1 + q.concentration0
    of_q = q.concentration1.lgamma() + q.concentration0.lgamma() + p_total.lgamma()
    of_p = p.concentration1.lgamma() + p.concentration0.lgamma() + q_total.lgamma()
    first = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    second = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    total = (q_total - p_total) * torch.digamma(p_total)
    return of_q - of_p + first + second + total  # type: ignore[no-any-return]


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * one).masked_fill(p.total_count > q.total_count, inf)  # type: ignore[no-any-return]


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    return terms.sum(-1)  # type: ignore[no-any-return]


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    apart = p.mean * (p.logits - q.logits)
    of_p = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    of_q = -q._cont_bern_log_norm() - torch.log1p(-q.probs)
    return apart + of_p + of_q  # type: ignore[no-any-return]


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Any, q: Any) -> Tensor:
    p_total, q_total = p.concentration.sum(-1), q.concentration.sum(-1)
    of_totals = p_total.lgamma() - q_total.lgamma()
    of_parts = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    slopes = p.concentration.digamma() - p_total.digamma().unsqueeze(-1)
    return of_totals - of_parts + ((p.concentration - q.concentration) * slopes).sum(-1)  # type: ignore[no-any-return]


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1  # type: ignore[no-any-return]


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Tensor:
    """A Bregman divergence: A(θq) - A(θp) - ⟨θq - θp, ∇A(θp)⟩."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    of_p = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    of_q = q._natural_params
    normalizer = p._log_normalizer(*of_p)
    slopes = torch.autograd.grad(normalizer.sum(), of_p, create_graph=True)
    result = q._log_normalizer(*of_q) - normalizer
    for mine, other, slope in zip(of_p, of_q, slopes, strict=True):
        result = result - _sum_rightmost((other - mine) * slope, len(q.event_shape))
    return result  # type: ignore[no-any-return]


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Any, q: Any) -> Tensor:
    of_rates = q.concentration * (p.rate / q.rate).log()
    of_shapes = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    slope = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    mean = (q.rate - p.rate) * (p.concentration / p.rate)
    return of_rates + of_shapes + slope + mean  # type: ignore[no-any-return]


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Any, q: Any) -> Tensor:
    ratio, q_loc, p_loc = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    of_scales = -ratio.log() - q_loc + p_loc
    of_tail = torch.exp(q_loc + (1 + ratio).lgamma() - p_loc)
    return of_scales + ratio * _gamma + of_tail - (1 + _gamma)  # type: ignore[no-any-return]


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits  # type: ignore[no-any-return]


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Any, q: Any) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    tail = ratio * torch.exp(-apart / p.scale)
    return -ratio.log() + apart / q.scale + tail - 1  # type: ignore[no-any-return]


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    apart = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + apart - 1 - ratio.log())  # type: ignore[no-any-return]


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: Any, q: Any) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)  # type: ignore[no-any-return]


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: Any, q: Any) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)  # type: ignore[no-any-return]


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Any, q: Any) -> Tensor:
    of_scales = q.alpha * (p.scale / q.scale).log()
    ratio = q.alpha / p.alpha
    result = of_scales + -ratio.log() + ratio - 1
    return result.masked_fill(p.support.lower_bound < q.support.lower_bound, inf)  # type: ignore[no-any-return]


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)  # type: ignore[no-any-return]


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: Any, q: Any) -> Tensor:
    """A common transform changes nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), inf)  # type: ignore[no-any-return]


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Any, q: Any) -> Tensor:
    """Chyzak and Nielsen (2019)."""
    above = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return above - (4 * p.scale * q.scale).log()  # type: ignore[no-any-return]
