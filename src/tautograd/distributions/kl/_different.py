"""Divergences between distributions of two families that have a closed form.

Most are -H(p) - E_p log q, with the entropy of p and the moments that log q needs.
"""

from __future__ import annotations

import math
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
from .._discrete.poisson import Poisson
from ..utils import euler_constant as _gamma
from ._registry import register_kl


def _x_log_x(x: Tensor) -> Tensor:
    return torch.special.xlogy(x, x)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Any, q: Any) -> Any:
    norm = q._cont_bern_log_norm()
    result = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - norm
    if isinstance(p, Beta):
        return result
    outside = torch.max(
        torch.ge(p.high, q.support.upper_bound), torch.le(p.low, q.support.lower_bound)
    )
    return torch.where(outside, torch.ones_like(result) * inf, result)


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p: Any, q: Any) -> Any:
    mean = p.concentration1 / (p.concentration1 + p.concentration0)
    return -p.entropy() - q.rate.log() + q.rate * mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Any, q: Any) -> Any:
    total = p.concentration1 + p.concentration0
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    mean_log = (q.concentration - 1) * (p.concentration1.digamma() - total.digamma())
    return -p.entropy() + normalizer - mean_log + q.rate * p.concentration1 / total


@register_kl(Beta, Normal)
def _kl_beta_normal(p: Any, q: Any) -> Any:
    total = p.concentration1 + p.concentration0
    mean = p.concentration1 / total
    var = q.scale.pow(2)
    second = (mean * (1 - mean) / (total + 1) + mean.pow(2)) * 0.5
    apart = second - q.loc * mean + q.loc.pow(2) * 0.5
    return -p.entropy() + 0.5 * (var * 2 * math.pi).log() + apart / var


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Any, q: Any) -> Any:
    result = -p.entropy() + (q.high - q.low).log()
    outside = (q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)
    return result.masked_fill(outside, inf)


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p: Any, q: Any) -> Any:
    standard = torch.square(q.loc / q.scale)
    normalizer = 0.5 * (math.log(2.0 * math.pi) + standard) + torch.log(q.scale)
    mean = p.mean
    above = p.variance + torch.square(mean) - 2.0 * q.loc * mean
    return -p.entropy() + normalizer + above / (2.0 * torch.square(q.scale))


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: Any, q: Any) -> Any:
    result = -p.entropy() + (q.high - q.low).log()
    outside = torch.max(
        torch.ge(q.low, p.support.lower_bound), torch.le(q.high, p.support.upper_bound)
    )
    return torch.where(outside, torch.ones_like(result) * inf, result)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    of_rates = -q.concentration * torch.log(ratio)
    of_shape = q.concentration.lgamma() + q.concentration * _gamma
    return of_rates + ratio + of_shape - (1 + _gamma)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Any, q: Any) -> Any:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    tail = torch.exp(ratio) * product / (product + 1)
    return product.log() - 1 - ratio + tail + product.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p: Any, q: Any) -> Any:
    var, square = q.scale.pow(2), p.rate.pow(2)
    normalizer = 0.5 * torch.log(square * var * 2 * math.pi)
    apart = square.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return normalizer - 1 + apart / var


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Any, q: Any) -> Any:
    a, product, ratio = p.concentration, p.rate * q.scale, q.loc / q.scale
    entropy = (a - 1) * a.digamma() - a.lgamma() - a
    mean = product.log() + a / product
    tail = torch.exp(ratio) * (1 + product.reciprocal()).pow(-a) - ratio
    return entropy + mean + tail


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p: Any, q: Any) -> Any:
    a, var, square = p.concentration, q.scale.pow(2), p.rate.pow(2)
    normalizer = 0.5 * torch.log(square * var * 2 * math.pi) - a - a.lgamma()
    second = 0.5 * (a.pow(2) + a) / square
    apart = second - q.loc * a / p.rate + 0.5 * q.loc.pow(2)
    return normalizer + (a - 1) * a.digamma() + apart / var


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    normalizer = (ratio / math.sqrt(2 * math.pi)).log()
    spread = (math.pi * ratio * 0.5).pow(2) / 3
    apart = ((p.loc + p.scale * _gamma - q.loc) / q.scale).pow(2) * 0.5
    return -normalizer + spread + apart - (_gamma + 1)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p: Any, q: Any) -> Any:
    var = q.scale.pow(2)
    ratio = p.scale.pow(2) / var
    normalizer = 0.5 * torch.log(2 * ratio / math.pi)
    apart = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -normalizer + ratio + apart / var - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Any, q: Any) -> Any:
    mean, loc, ratio = p.loc / q.scale, q.loc / q.scale, (p.scale / q.scale).pow(2)
    tail = torch.exp(-mean + 0.5 * ratio + loc)
    return -(ratio.log() * 0.5) + (mean - loc) + tail - (0.5 * (1 + math.log(2 * math.pi)))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Any, q: Any) -> Any:
    apart = p.loc - q.loc
    standard = apart / p.scale
    peak = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * standard.pow(2))
    side = apart * torch.erf(math.sqrt(0.5) * standard)
    log_ratio = torch.log(p.scale / q.scale)
    return -log_ratio + (peak + side) / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Any, q: Any) -> Any:
    product = p.scale * q.rate
    mean = p.alpha * product / (p.alpha - 1)
    result = (p.alpha / product).log() - p.alpha.reciprocal() + mean - 1
    return result.masked_fill(p.alpha <= 1, inf)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Any, q: Any) -> Any:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    mean = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result = p.alpha.log() - mean_log + normalizer + (1 - q.concentration) * mean_log + mean - 1
    return result.masked_fill(p.alpha <= 1, inf)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Any, q: Any) -> Any:
    var, unit = 2 * q.scale.pow(2), p.scale / (p.alpha - 1)
    normalizer = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    spread = p.alpha * unit.pow(2) / (p.alpha - 2)
    apart = (p.alpha * unit - q.loc).pow(2)
    result = normalizer - p.alpha.reciprocal() + (spread + apart) / var - 1
    return result.masked_fill(p.alpha <= 2, inf)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Any, q: Any) -> Any:
    width = p.high - p.low
    logs = _x_log_x(p.high) - _x_log_x(p.low) - width
    rests = _x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width
    of_ones = (q.concentration1 - 1) * logs / width
    of_zeros = (q.concentration0 - 1) * rests / width
    total = (q.concentration1 + q.concentration0).lgamma()
    log_beta = q.concentration1.lgamma() + q.concentration0.lgamma() - total
    result = of_zeros + log_beta - torch.log(width) - of_ones
    outside = (p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)
    return result.masked_fill(outside, inf)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p: Any, q: Any) -> Any:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return result.masked_fill(p.low < q.support.lower_bound, inf)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Any, q: Any) -> Any:
    width = p.high - p.low
    logs = _x_log_x(p.high) - _x_log_x(p.low) - width
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    mean_log = (1 - q.concentration) * logs / width
    result = -width.log() + normalizer + mean_log + q.rate * (p.high + p.low) / 2
    return result.masked_fill(p.low < q.support.lower_bound, inf)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Any, q: Any) -> Any:
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    tails = ratio * (torch.exp(-high) - torch.exp(-low))
    return ratio.log() + 0.5 * (high + low) - tails


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p: Any, q: Any) -> Any:
    width = p.high - p.low
    normalizer = (math.sqrt(math.pi * 2) * q.scale / width).log()
    apart = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return normalizer + 0.5 * (width.pow(2) / 12 + apart) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Any, q: Any) -> Any:
    width = p.high - p.low
    normalizer = (q.alpha * q.scale.pow(q.alpha) * width).log()
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = mean_log * (q.alpha + 1) - normalizer
    return result.masked_fill(p.low < q.support.lower_bound, inf)
