"""A linear layer and the cross entropy of what it gives, in one function."""

from __future__ import annotations

from typing import Any

from ...declare.guarding import guarded
from ...declare.public import NN_FUNCTIONAL
from ...declare.subclasses import declared


def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    A weight of more than two dimensions has its classes in the first, its features in the last, and gives losses
    over those between. `options` says how PyTorch's kernel would save memory; the result is the same.
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    places = linear_weight.shape[:-1]
    flat = linear_weight.reshape(-1, linear_weight.shape[-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = NN_FUNCTIONAL["linear"](input, flat, bias).reshape(*input.shape[:-1], *places)
    if ignore_index is None:
        ignore_index = -100
    elif target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    return NN_FUNCTIONAL["cross_entropy"](
        logits, target, weight, ignore_index=ignore_index, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip


linear_cross_entropy = guarded(linear_cross_entropy, "nn.functional.linear_cross_entropy")
declared(linear_cross_entropy, "linear_cross_entropy")
