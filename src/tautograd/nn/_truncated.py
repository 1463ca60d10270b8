"""Draws from a normal distribution cut off on both sides, by rejection.

If much of the distribution lies between the bounds, normal numbers are drawn and those outside
are redrawn. If little does, candidates are uniform between the bounds, and each is accepted with
the probability of its density relative to the highest one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tautograd as torch

from .._tensor.arguments import type_name
from .._tensor.tensor import Tensor

# The share of a normal distribution between the bounds above which it is sampled directly.
_SHARE = 0.3


def fill_truncated(
    tensor: Tensor, mean: Any, std: Any, a: float, b: float, generator: Any
) -> Tensor:
    """Fill a tensor in place, without recording."""
    if tensor.is_meta:
        return tensor
    for position, (name, value) in enumerate((("mean", mean), ("std", std)), 1):
        # Python would compare and divide these.
        if isinstance(value, np.ndarray) or (isinstance(value, Tensor) and value.ndim):
            raise TypeError(
                f"normal_(): argument '{name}' (position {position}) must be float, not "
                f"{type_name(value)}"
            )
    bounds = a - 2 * std, b + 2 * std  # which fails, of what has no numbers, before a division does
    if any(isinstance(bound, Tensor) and bound.layout != torch.strided for bound in bounds):
        raise RuntimeError("trunc_normal_(): bounds must be numbers or dense tensors")
    if type(std) in (int, float, bool) and not std:  # tensors and NumPy's numbers divide by zero
        raise ZeroDivisionError("float division by zero: std is 0")
    share = _below((b - mean) / std) - _below((a - mean) / std)
    fill = _redrawn_normal if share > _SHARE else _kept_uniform
    return fill(tensor, mean, std, a, b, generator)


def _below(x: float) -> float:
    """The CDF of the standard normal distribution at x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redrawn_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    low, high = (tensor.new_tensor(bound).item() for bound in (a, b))  # as the dtype rounds them
    if tensor.is_complex():
        _ = tensor.new_empty(0) < low  # raises before anything is written
    found = tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (found < low) | (found > high)
        if not outside.any():
            break
        again = torch.empty_like(found).normal_(mean, std, generator=generator)
        found = torch.where(outside, again, found)
    return tensor if found is tensor else tensor.copy_(found)


def _kept_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    mode = max(a, min(mean, b))
    highest = -0.5 * ((mode - mean) / std) ** 2
    candidates, drawn = torch.empty_like(tensor), torch.empty_like(tensor)

    def rejected() -> Tensor:
        """Which candidates are rejected; overwrites them with their log densities."""
        candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(highest)
        return drawn.uniform_(generator=generator).log_().gt(candidates)

    tensor.uniform_(a, b, generator=generator)
    candidates.copy_(tensor)
    pending = rejected()
    found = tensor
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        found = torch.where(pending, candidates, found)
        pending = torch.where(pending, rejected(), pending)
    return tensor if found is tensor else tensor.copy_(found)
