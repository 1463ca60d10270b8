"""Losses that are likelihoods or divergences, composed of operations as PyTorch composes them."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ...._arrays.checks import require_all
from ...._autograd.grad_mode import no_grad
from ...._tensor.tensor import Tensor
from ...._user_code.sites import warning_level
from ...declare.public import FUNCTIONS
from .reduction import (
    REDUCTIONS,
    UNREAD_MEAN,
    chosen_reduction,
    function,
    functional,
    legacy_reduction,
    loss,
    numbered_reduction,
    reduced,
    require_pair,
)


def _divergence(input: Any, target: Any, log_target: bool) -> Any:
    require_pair("kl_div", input, target)
    for value in (input, target):
        kind = value._data.dtype.kind
        if kind == "c":
            raise RuntimeError("kl_div: Complex inputs not supported.")
        if kind in "biu":
            raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        return target.exp() * (target - input)
    return FUNCTIONS["xlogy"](target, target) - target * input


@functional
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from a target."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=warning_level(),
        )
    by_batch = reduction == "batchmean"
    reduction = "sum" if by_batch else chosen_reduction(reduction)
    loss: Any = reduced(_divergence(input, target, log_target), reduction)
    if by_batch and input.dim() != 0:
        loss = loss / input.size()[0]
    return loss  # type: ignore[no-any-return]


def _kl_div(
    input: Any, target: Any, reduction: int = UNREAD_MEAN, *, log_target: bool = False
) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from a target."""
    found: Tensor = reduced(_divergence(input, target, log_target), numbered_reduction(reduction))
    return found


_kl_div.__name__ = _kl_div.__qualname__ = "kl_div"
function(_kl_div)


def _poisson(input: Any, target: Any, log_input: bool, full: bool, eps: Any) -> Any:
    require_pair("poisson_nll_loss", input, target)
    if isinstance(eps, Tensor):
        eps = eps.item()  # a number to PyTorch, which takes no part in promotion
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0).to(loss.dtype)  # PyTorch adds in place
    return loss


@loss(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, "
    "bool? size_average=None, float eps=1e-8, bool? reduce=None, str reduction='mean')"
)
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: str
) -> Tensor:
    """Minus the log-likelihood of counts, given (the logarithm of) their rate."""
    found: Tensor = reduced(_poisson(input, target, log_input, full, eps), reduction)
    return found


def _poisson_nll_loss(
    input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """Minus the log-likelihood of counts, given (the logarithm of) their rate."""
    loss = _poisson(input, target, log_input, full, eps)
    found: Tensor = reduced(loss, numbered_reduction(reduction))
    return found


_poisson_nll_loss.__name__ = _poisson_nll_loss.__qualname__ = "poisson_nll_loss"
function(_poisson_nll_loss)


@functional
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of targets, normal around `input` with variance `var`."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * FUNCTIONS["ones_like"](input)
    else:  # NaN is no negative entry
        require_all(
            var._data,
            lambda x: np.logical_not(x < 0),
            lambda _: ValueError("var has negative entry/entries"),
        )
    if var.size() != input.size():
        shape, given = tuple(input._data.shape), tuple(var._data.shape)
        if shape[:-1] == given:
            var = var.unsqueeze(-1)
        elif not (shape[:-1] == given[:-1] and given[-1] == 1) and not _broadcasts(given, shape):
            raise ValueError("var is of incorrect size")
    if reduction not in REDUCTIONS:
        raise ValueError(reduction + " is not valid")
    bounded: Any = var.clone()  # at least eps, with the gradient of the variance itself
    with no_grad():
        bounded.clamp_(min=eps)
    loss: Any = 0.5 * (bounded.log() + (input - target) ** 2 / bounded)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    found: Tensor = reduced(loss, reduction)
    return found


def _broadcasts(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a variance of this shape stretches along dimensions of size 1 only."""
    return len(given) == len(shape) and all(m in (1, n) for m, n in zip(given, shape, strict=True))
