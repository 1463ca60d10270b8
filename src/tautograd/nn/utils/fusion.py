"""Folds a batch normalisation with fixed statistics into the layer before it.

With scale s = γ / √(σ² + ε), s (W x + b - μ) + β is again a layer of the same kind, with weight s W
and bias s (b - μ) + β.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import tautograd as torch

from ..._tensor.tensor import Tensor
from ..parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

Layer = TypeVar("Layer")


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _check_statistics(bn: Any) -> None:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Layer, bn: Any, transpose: bool = False) -> Layer:
    """A convolution and the batch normalisation after it, as one convolution."""
    _check(conv, bn)
    _check_statistics(bn)
    fused: Any = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    found: Layer = fused
    return found


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of the fused convolution."""
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    bias = torch.zeros_like(bn_rm) if conv_b is None else conv_b
    gain = torch.ones_like(bn_rm) if bn_w is None else bn_w
    shift = torch.zeros_like(bn_rm) if bn_b is None else bn_b
    per_unit = torch.rsqrt(bn_rv + bn_eps)
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1  # the dimension of output channels
    weight = (conv_w * (gain * per_unit).reshape(shape)).to(dtype=conv_w.dtype)
    fused_bias = ((bias - bn_rm) * per_unit * gain + shift).to(dtype=bias_dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(fused_bias, bias.requires_grad)


def fuse_linear_bn_eval(linear: Layer, bn: Any) -> Layer:
    """A linear layer and the batch normalisation after it, as one linear layer."""
    fused: Any = copy.deepcopy(linear)
    _check(fused, bn)
    if bn.num_features not in (fused.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={fused.out_features} and bn.num_features={bn.num_features}"
        )
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    found: Layer = fused
    return found


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of the fused linear layer."""
    bias_dtype = linear_w.dtype if linear_b is None else linear_b.dtype
    bias = torch.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_w.dtype)
    fused_bias = ((bias - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(fused_bias, bias.requires_grad)
