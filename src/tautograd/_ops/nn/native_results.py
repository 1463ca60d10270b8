"""Norms and dropout by PyTorch's inner names, which also give what was computed on the way.

`native_layer_norm`, `native_group_norm` and `native_batch_norm` give the mean and one over the deviation beside the
result, `native_dropout` the mask. A gradient that arrives at those of a group norm is lost in PyTorch; here, as in its
other norms, they take none.
"""

from __future__ import annotations

from typing import Any

from ..._arrays.dtypes import LEGACY_NAMES
from ..._autograd.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from .. import nn_families as _library  # noqa: F401  (declares what is called here)
from ..declare.guarding import by_signature
from ..declare.public import FUNCTIONS, NN_FUNCTIONAL


def _moments(x: Tensor, dims: list[int], eps: float, shape: Any) -> tuple[Tensor, Tensor]:
    """Mean and one over the deviation, over some dimensions; of half precision in its own."""
    with no_grad():
        wide = x.detach().float() if x.dtype.is_half else x.detach()
        var, mean = FUNCTIONS["var_mean"](wide, dims, correction=0, keepdim=True)
        return (
            mean.reshape(shape).to(x.dtype),
            FUNCTIONS["rsqrt"](var + eps).reshape(shape).to(x.dtype),
        )


@by_signature
def native_layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, the means and one over the deviations."""
    out = NN_FUNCTIONAL["layer_norm"](input, normalized_shape, weight, bias, eps)
    count = len(normalized_shape) if isinstance(normalized_shape, tuple | list) else 1
    kept = input.shape[: input.ndim - count]
    dims = list(range(input.ndim - count, input.ndim))
    return out, *_moments(input, dims, eps, (*kept, *(1,) * count))


@by_signature
def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm`, the means and one over the deviations of each group."""
    out = NN_FUNCTIONAL["group_norm"](input, group, weight, bias, eps)
    return out, *_moments(input.reshape(N, group, C // group * HxW), [2], eps, (N, group))


@by_signature
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`batch_norm`, and the means and one over the deviations of the batch; nothing of it in evaluation."""
    dims = [d for d in range(input.ndim) if d != 1]
    out = NN_FUNCTIONAL["batch_norm"](
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if training:
        return out, *_moments(input, dims, eps, (input.shape[1],))
    return out, input.detach().new_empty(0), input.detach().new_empty(0)


@by_signature
def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`dropout`, and which elements it kept."""
    if not input.numel():
        return input.clone(), input.detach().clone()  # whose dtype is the input's, in PyTorch too
    if train is False:
        return input.clone(), FUNCTIONS["ones_like"](input.detach()).bool()
    if not (input.is_floating_point() or input.is_complex()):
        name = LEGACY_NAMES[input.dtype]
        raise RuntimeError(f"result type Float can't be cast to the desired output type {name}")
    if p == 1:
        return input * 0, FUNCTIONS["zeros_like"](input.detach()).bool()
    kept = FUNCTIONS["zeros_like"](input.detach()).bool().bernoulli_(1 - p)
    return input * kept * (1 / (1 - p)), kept
