"""How much may be pruned, and along which dimension: checks, and fractions turned into counts."""

from __future__ import annotations

import numbers
from typing import Any

import tautograd as torch

from ..._tensor.tensor import Tensor


def check_amount(amount: Any) -> None:
    """An amount is a fraction in [0, 1] (a float) or a count (an int)."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    value: Any = amount
    if value < 0 or (value > 1 and not isinstance(amount, numbers.Integral)):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def count_to_prune(amount: Any, size: int) -> Any:
    """How many of `size` units an amount is; a float is a fraction of them, rounded."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * size)


def check_count(count: Any, size: int) -> None:
    """No more can be pruned than exists."""
    if count > size:
        raise ValueError(
            f"amount={count} should be smaller than the number of parameters to prune={size}"
        )


def check_channels(t: Tensor, dim: int) -> None:
    """Channels are slices along `dim` of a tensor that has at least two dimensions."""
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def channel_norms(t: Tensor, n: Any, dim: int) -> Tensor:
    """The n-norm of each slice along `dim`."""
    kept = range(t.dim())[dim]
    return torch.norm(t, p=n, dim=[d for d in range(t.dim()) if d != kept])


def check_scores(scores: Tensor, shape: Any, of_what: str) -> None:
    """Scores rank elements one by one, so they need the shape of what is pruned."""
    if scores.shape != shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {of_what}, got {scores.shape} vs {shape}"
        )
