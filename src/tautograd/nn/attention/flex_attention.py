"""`flex_attention`: attention with user-defined scores, evaluated eagerly.

softmax(score_mod(q kᵀ · scale, b, h, i, j)) v, with minus infinity where the block mask is false. There
is no kernel to compile; gradients are those of the formula, on the CPU too, where PyTorch has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tautograd as torch

from ..._ops.declare.python_surface import speak
from ..._tensor.tensor import Tensor
from .block_mask import (
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    everywhere,
    noop_mask,
    or_masks,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]


class AuxRequest(NamedTuple):
    """Which further outputs to return: the scores' log-sum-exp, the largest score."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The further outputs requested."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention of `(batch, heads, length, features)`, with scores modified by `score_mod`."""
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if enable_gqa and key.shape[1] != query.shape[1]:
        each = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(each, 1), value.repeat_interleave(each, 1)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    # Scores are computed in single precision at least; the result has the dtype of the query.
    working = torch.float64 if query.dtype is torch.float64 else torch.float32
    scores = (query.to(working) @ key.to(working).transpose(-2, -1)) * factor
    sizes = tuple(scores.shape)
    if score_mod is not None:
        scores = everywhere(score_mod, sizes, scores)
    if block_mask is not None and block_mask.mask_mod is not noop_mask:
        mask = everywhere(block_mask.mask_mod, sizes)
        scores = torch.where(mask, scores, float("-inf"))
    largest = scores.max(-1, keepdim=True).values
    empty = torch.isneginf(largest)  # a query with nothing to attend to gets zeros
    weights = torch.exp(scores - torch.where(empty, 0.0, largest.detach()))
    total = weights.sum(-1, keepdim=True)
    weights = weights / torch.where(empty, 1.0, total)
    out = weights.to(query.dtype) @ value.to(query.dtype)
    if not return_lse and return_aux is None:
        return out
    lse = (total.log() + torch.where(empty, 0.0, largest.detach())).squeeze(-1)
    if return_aux is None:
        return out, lse
    return out, AuxOutput(
        lse if return_aux.lse else None, largest.squeeze(-1) if return_aux.max_scores else None
    )


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Any, enable_gqa: bool) -> None:
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.shape[-1]} and E={key.shape[-1]}."
        )
    heads, others = query.shape[1], key.shape[1]
    if not enable_gqa and heads != others:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and "
            f"Hkv={others}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and heads % others:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={others}."
        )
    lengths = (query.shape[-2], key.shape[-2])
    if mask is not None and lengths != tuple(mask.shape[-2:]):
        smaller = lengths[0] > mask.shape[-2] or lengths[1] > mask.shape[-1]
        raise ValueError(
            f"block_mask was created for block_mask.shape={mask.shape} but got q_len={lengths[0]} and "
            f"kv_len={lengths[1]}. As the block mask was created for a "
            f"{'smaller' if smaller else 'larger'} length than you're using it for, you "
            f"{'likely need to' if smaller else 'can'} create a new block mask."
        )


_DEFAULT_SPARSE_BLOCK_SIZE = 128  # the name that libraries use


speak(globals(), __all__)
