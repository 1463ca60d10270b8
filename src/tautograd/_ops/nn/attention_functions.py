"""`scaled_dot_product_attention`: its arguments, as PyTorch takes and refuses them."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ... import _random
from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.result_layout import each, in_c_order
from ..._autograd.apply import apply
from ..._autograd.modes import modes
from ..._tensor.draws import draw
from ..._tensor.tensor import Tensor, make
from ..declare.elementwise_calls import check_broadcast
from ..declare.record import Op, renamed
from ..linalg.products.product_checks import SPELLED, require
from .attention import attention_op
from .losses.reduction import functional


@functional
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + attn_mask) @ value`, by default with scale 1 / sqrt(width).

    A boolean mask is true where a query may look; `is_causal` lets none look at later keys. With
    `enable_gqa` several heads of queries share one of keys and values.
    """
    _check(query, key, value, attn_mask, scale)
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")
    fused = _is_fused(query, key, value, attn_mask, dropout_p, enable_gqa)
    if is_causal and attn_mask is not None and not fused:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    if enable_gqa:
        key, value = _repeated(query, key, value)
    shape = query._data.shape
    if not shape[-2] or not value._data.size:
        return _of_nothing(query, key, value)
    _check_products(query, key, value)
    if attn_mask is not None:
        scores = (*shape[:-1], key._data.shape[-2])
        check_broadcast(scores, attn_mask._data.shape)
    width = shape[-1]
    if scale is None:
        scale = 1.0 / math.sqrt(width) if width else math.inf
    mask = _added(attn_mask, query)
    noise = None
    if dropout_p:
        if modes.vmap_levels or modes.way[0] is None:
            return _composed(query, key, value, mask, dropout_p, is_causal, scale)
        noise = _noise(query, key, mask, dropout_p)
    parameters = {"scale": scale, "causal": bool(is_causal), "noise": noise}
    op = attention_op if fused else _unfused(query, value)
    out: Tensor = apply(op, (query, key, value, mask), parameters)[0]
    return out


# --- what is refused ------------------------------------------------------------------------------


def _check(query: Any, key: Any, value: Any, mask: Any, scale: Any) -> None:
    require("scaled_dot_product_attention", query=query, key=key, value=value)
    if mask is not None:
        require("scaled_dot_product_attention", query=query, key=key, value=value, attn_mask=mask)
    if scale is not None and not isinstance(scale, (int, float)):
        raise TypeError(
            "scaled_dot_product_attention(): argument 'scale' must be float, not "
            f"{type(scale).__name__}"
        )
    kinds = [x.dtype for x in (query, key, value)]
    if not kinds[0] == kinds[1] == kinds[2]:
        q, k, v = (_spoken(x) for x in (query, key, value))
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{q} key.dtype: {k} and value.dtype: {v} instead."
        )
    ranks = [x._data.ndim for x in (query, key, value)]
    if min(ranks) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{ranks[0]} key.dim: {ranks[1]} and value.dim: {ranks[2]} instead."
        )
    if mask is not None:
        allowed = mask.dtype == kinds[0] or mask._data.dtype in (np.bool_, np.float32)
        if not allowed:
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                f"attn_mask.dtype: {_spoken(mask)} and  query.dtype: {_spoken(query)} instead."
            )


def _spoken(x: Tensor) -> str:
    name = LEGACY_NAMES[x.dtype]
    return SPELLED.get(name, name)


def _check_products(query: Tensor, key: Tensor, value: Tensor) -> None:
    """What the products of batches of matrices would refuse."""
    kind = query.dtype
    if not kind.is_floating_point:
        if kind.is_complex:
            name = LEGACY_NAMES[kind]
            raise NotImplementedError(
                f"\"softmax_lastdim_kernel_impl\" not implemented for '{name}'"
            )
        raise RuntimeError(f"expected scalar type Float but found {LEGACY_NAMES[kind]}")
    q, k, v = query._data.shape, key._data.shape, value._data.shape
    check_broadcast(q[:-2], k[:-2])
    batch = np.broadcast_shapes(q[:-2], k[:-2])
    for one, other in ((q, (*k[:-2], k[-1], k[-2])), ((*batch, q[-2], k[-2]), v)):
        check_broadcast(one[:-2], other[:-2])
        if one[-1] != other[-2]:
            lead = math.prod(np.broadcast_shapes(one[:-2], other[:-2]))
            if len(one) == len(other) == 2:
                raise RuntimeError(
                    f"mat1 and mat2 shapes cannot be multiplied ({one[-2]}x{one[-1]} and "
                    f"{other[-2]}x{other[-1]})"
                )
            raise RuntimeError(
                "Expected size for first two dimensions of batch2 tensor to be: "
                f"[{lead}, {one[-1]}] but got: [{lead}, {other[-2]}]."
            )


def _repeated(query: Tensor, key: Any, value: Any) -> tuple[Tensor, Tensor]:
    """Heads of keys and values, each as often as heads of queries share it."""
    heads, of_keys, of_values = (x.size(-3) for x in (query, key, value))
    if heads % of_keys or heads % of_values:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    if of_keys != heads:
        key = key.repeat_interleave(heads // of_keys, -3)
    if of_values != heads:
        value = value.repeat_interleave(heads // of_values, -3)
    return key, value


def _of_nothing(query: Any, key: Any, value: Any) -> Tensor:
    """Zeros, where there is no query or no value, whatever the other shapes are."""
    shape = (*query.shape[:-1], value.shape[-1])
    out: Tensor = query.new_zeros(shape) + (query.sum() + key.sum() + value.sum()) * 0
    return out


# --- which way PyTorch goes -----------------------------------------------------------------------


def _is_fused(
    query: Tensor, key: Tensor, value: Tensor, mask: Any, dropout_p: float, grouped: bool
) -> bool:
    """Whether PyTorch's fused kernel takes this: the node is named after it."""
    q, k, v = query._data, key._data, value._data
    if dropout_p or not (q.ndim == k.ndim == v.ndim == 4) or q.dtype.kind not in "fV":
        return False
    heads = q.shape[1] if not grouped else k.shape[1]
    if k.shape[:2] != v.shape[:2] or k.shape[:2] != (q.shape[0], heads):
        return False
    if not q.shape[-1] == k.shape[-1] == v.shape[-1] or 0 in (q.shape[2], k.shape[2]):
        return False
    if any(x.shape[-1] > 1 and x.strides[-1] != x.dtype.itemsize for x in (q, k, v)):
        return False
    if mask is None:
        return True
    if mask.requires_grad or mask._data.ndim not in (2, 4):
        return False
    whole = (*q.shape[:3], k.shape[2])
    sizes = mask._data.shape
    return all(a in (1, b) for a, b in zip(sizes, whole[-len(sizes) :], strict=True))


@functools.cache
def _named(node: str) -> Op:
    composed = renamed(attention_op, node)
    composed.layout = each(in_c_order)
    return composed


def _unfused(query: Tensor, value: Tensor) -> Op:
    """The record under the name of the last of the operations that PyTorch composes it of."""
    if query.dtype.is_half:
        return _named("ToCopyBackward0")
    matrices = query._data.ndim == value._data.ndim == 2
    return _named("MmBackward0" if matrices else "UnsafeViewBackward0")


# --- masks and noise ------------------------------------------------------------------------------


def _added(mask: Any, query: Tensor) -> Any:
    """A mask as numbers to add: minus infinity where a boolean one is false."""
    if mask is None or mask._data.dtype != np.bool_:
        return mask
    zero = np.zeros_like(mask._data, dtype=query._data.dtype)
    if modes.exporter is not None:  # as an operation, which a graph can repeat
        return make(zero).masked_fill(mask.logical_not(), -np.inf)
    return make(np.where(mask._data, zero, np.asarray(-np.inf, zero.dtype)))


def _noise(query: Tensor, key: Tensor, mask: Any, p: float) -> Any:
    """Zeros where a weight is dropped, and 1 / (1 - p) elsewhere."""
    q, k = query._data, key._data
    shape = (*np.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-2])
    if p == 1:
        return np.zeros(shape, q.dtype)
    kind = np.dtype(np.float32) if query.dtype.is_half else q.dtype
    noise = draw(_random.bernoulli, None, shape, 1 - p, dtype=kind)
    noise /= kind.type(1 - p)
    return noise


def _composed(
    query: Any, key: Any, value: Any, mask: Any, dropout_p: float, causal: bool, scale: float
) -> Tensor:
    """The same of separate operations, for what the record cannot be told (noise under `vmap`)."""
    from ..reductions.softmaxes import softmax
    from .dropouts import dropout

    scores = query @ (key * scale).transpose(-2, -1)
    if causal:
        hidden = np.triu(np.full(scores.shape[-2:], -np.inf, scores._data.dtype), 1)
        scores = scores + make(hidden)
    if mask is not None:
        scores = scores + mask
    out: Tensor = dropout(softmax(scores, -1), dropout_p) @ value
    return out
