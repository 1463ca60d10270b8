"""Attention of several heads at once: projections in, attention per head, projection out."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level
from ..reductions.softmaxes import softmax
from ..shape.joining import cat
from ..shape.padding import pad
from .attention_functions import scaled_dot_product_attention
from .dropouts import dropout
from .linear import linear
from .losses.reduction import functional


def canonical_mask(
    mask: Any, name: str, other: Any, other_name: str, target: Any, check_other: bool = True
) -> Any:
    """A mask as numbers to add: of a boolean one, minus infinity where it is true."""
    if mask is None:
        return None
    if mask._data.dtype != np.bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check_other and other is not None and mask.dtype != other:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both "
            "instead.",
            stacklevel=warning_level(),
        )
    if mask.is_floating_point():
        return mask
    zeros = np.zeros_like(mask._data, dtype=target.numpy)
    if modes.exporter is not None:  # as an operation, which a graph can repeat
        return make(zeros).masked_fill(mask, -np.inf)
    return make(np.where(mask._data, np.asarray(-np.inf, zeros.dtype), zeros))


def dtype_of(mask: Any) -> Any:
    if mask is not None and not isinstance(mask, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if mask is None else mask.dtype


# --- checks --------------------------------------------------------------------------------------


def _check_shapes(query: Any, key: Any, value: Any, padding: Any, mask: Any, heads: int) -> bool:
    """Whether there is a batch dimension; all others have to have it, or not, as well."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{query.dim()}-D query tensor"
        )
    batched = bool(query.dim() == 3)
    rank = query.dim()
    kind = f"For {'batched' if batched else 'unbatched'} ({rank}-D) `query`, expected"
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(
            f"{kind} `key` and `value` to be {rank}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != rank - 1:
        raise AssertionError(
            f"{kind} `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{padding.dim()}-D tensor instead"
        )
    if mask is not None:
        if mask.dim() not in (2, 3):
            raise AssertionError(
                f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor "
                "instead"
            )
        wanted = (heads, query.shape[0], key.shape[0])
        if not batched and mask.dim() == 3 and tuple(mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {mask.shape}")
    return batched


def _check_mask(mask: Any, rows: int, columns: int, batch: int, heads: int) -> Any:
    """A mask for each head of each example, or for all of them alike."""
    wanted = (rows, columns) if mask.dim() == 2 else (batch * heads, rows, columns)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}."
        )
    return mask if mask.dim() == 2 else mask.view(batch, heads, rows, columns)


def _check_padding(padding: Any, batch: int, columns: int) -> None:
    for dim, wanted in ((0, batch), (1, columns)):
        if padding.shape[dim] != wanted:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {wanted}, but got "
                f"{padding.shape[dim]}"
            )


def _check_static(name: str, static: Any, rows: int, width: int) -> None:
    for dim, wanted in ((0, rows), (2, width)):
        if static.size(dim) != wanted:
            raise AssertionError(
                f"expecting {name}.size({dim}) of {wanted}, but got {static.size(dim)}"
            )


# --- projections ---------------------------------------------------------------------------------


def _project(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> Any:
    """By one weight for all three: one product where they are the same tensor."""
    width = query.size(-1)
    if query is key and key is value:
        return linear(query, weight, bias).chunk(3, -1)
    if key is value:
        own, shared = weight.split([width, 2 * width])
        own_bias, shared_bias = (None, None) if bias is None else bias.split([width, 2 * width])
        return linear(query, own, own_bias), *linear(key, shared, shared_bias).chunk(2, -1)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    inputs = (query, key, value)
    return [linear(x, w, b) for x, w, b in zip(inputs, weight.chunk(3), biases, strict=True)]


def _project_each(inputs: Any, weights: Any, bias: Any) -> Any:
    """By a weight for each, as wide as it."""
    width = inputs[0].size(-1)
    for name, x, w in zip(("query", "key", "value"), inputs, weights, strict=True):
        wanted = (width, x.size(-1))
        if tuple(w.shape) != wanted:
            raise AssertionError(f"expecting {name} weights shape of {wanted}, but got {w.shape}")
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]


def _separate(x: Any, batch: int, heads: int, width: int) -> Any:
    """Rows, examples, features: as examples, heads, rows, features of the head."""
    return x.view(x.size(0), batch, heads, width).permute(1, 2, 0, 3)


@functional
def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of `num_heads` heads, and its weights if they are needed."""
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = _with_batch(query, key, value)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    rows, batch, width = query.shape
    columns = key.shape[0]
    padding = canonical_mask(
        key_padding_mask, "key_padding_mask", dtype_of(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        attn_mask = None  # the causal mask is made where it is used
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        is_causal = False
    if width != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
        )
    own = width // num_heads
    if own * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        for name, weight in zip("qkv", weights, strict=True):
            if weight is None:
                raise AssertionError(
                    f"use_separate_proj_weight is True but {name}_proj_weight is None"
                )
        q, k, v = _project_each((query, key, value), weights, in_proj_bias)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _check_mask(attn_mask, rows, columns, batch, num_heads)
    more = 0  # how many keys are added to those that masks know of
    if bias_k is not None and bias_v is not None:
        for name, static in (("key", static_k), ("value", static_v)):
            if static is not None:
                raise AssertionError(f"bias cannot be added to static {name}.")
        k = cat([k, bias_k.repeat(1, batch, 1)])
        v = cat([v, bias_v.repeat(1, batch, 1)])
        more += 1
    elif bias_k is not None or bias_v is not None:
        have, lack = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(f"{have} is set but {lack} is None")
    q = _separate(q, batch, num_heads, own)
    k, v = (
        _separate(x, batch, num_heads, own)
        if static is None
        else _static(name, static, batch, num_heads, own)
        for name, x, static in (("static_k", k, static_k), ("static_v", v, static_v))
    )
    if add_zero_attn:
        zeros = k.new_zeros((batch, num_heads, 1, own))
        k, v = cat([k, zeros], 2), cat([v, zeros], 2)
        more += 1
    mask = attn_mask if attn_mask is None or not more else pad(attn_mask, (0, more))
    if padding is not None:
        padding = pad(padding, (0, more)) if more else padding
        _check_padding(padding, batch, k.size(2))
        padding = padding.view(batch, 1, 1, k.size(2))
        mask = padding if mask is None else mask + padding
    drop = dropout_p if training else 0.0
    shares = None
    if need_weights:
        shares = _shares(q, k, mask, drop)
        out = shares @ v
    else:
        out = scaled_dot_product_attention(q, k, v, mask, drop, is_causal)
    tall = out.permute(2, 0, 1, 3).reshape(rows * batch, width)
    result = linear(tall, out_proj_weight, out_proj_bias)
    result = result.view(rows, batch, result.size(1))
    if shares is not None and average_attn_weights:
        shares = shares.mean(dim=1)
    if batched:
        return result, shares
    return result.squeeze(1), None if shares is None else shares.squeeze(0)


def _with_batch(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """A batch of one; what was the same tensor stays it."""
    q = query.unsqueeze(1)
    k = q if key is query else key.unsqueeze(1)
    return q, k, k if value is key else value.unsqueeze(1)


def _static(name: str, static: Any, batch: int, heads: int, width: int) -> Any:
    _check_static(name, static, batch * heads, width)
    return static.view(batch, heads, static.size(1), width)


def _shares(q: Any, k: Any, mask: Any, drop: float) -> Any:
    """What each query takes of each value."""
    scores = (q * math.sqrt(1.0 / float(q.shape[-1]))) @ k.transpose(-2, -1)
    if mask is not None:
        scores = mask + scores
    shares = softmax(scores, -1)
    return dropout(shares, drop) if drop > 0.0 else shares
