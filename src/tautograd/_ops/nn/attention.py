"""Attention: each query's average of the values, weighted by how well its key fits.

    out = softmax(q kᵀ scale + mask) v

is one record. It keeps the exponentials and their sums, unnormalised, so that a row is divided where
it is as short as a value and not as long as the sequence. With e the exponentials, s their
sums, n the dropout noise and g' = g / s:

    dv = (e n)ᵀ g'      dp = (g' vᵀ) n      dscores = e (dp - sum(e dp) / s)
    dq = dscores k scale      dk = dscoresᵀ q scale

Rows are shifted by their largest score where there is a mask, or where exponentials would suffer if
they were not. A row with everything masked gives zeros.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..._arrays.result_layout import as_first, by_place
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..linalg.products.shared_products import matmul
from ..reductions.softmaxes import softmax_op

_ndarray = np.ndarray
# Exponentials of scores up to here, and their sums, are far from overflow and underflow.
_LARGEST_SCORE = 60.0


def _turned(x: Any) -> Any:
    """Each matrix transposed."""
    return np.swapaxes(x, -1, -2)


@functools.lru_cache(maxsize=16)
def _future(rows: int, columns: int, dtype: Any) -> Any:
    """What to add to scores so that no query sees a later key: minus infinity above the diagonal."""
    return np.triu(np.full((rows, columns), -np.inf, dtype), 1)


def _hidden(scores: Any) -> Any:
    """`_future` for any kind of array."""
    rows, columns = scores.shape[-2], scores.shape[-1]
    if type(scores) is _ndarray:
        return _future(rows, columns, scores.dtype)
    return np.triu(np.full_like(scores, -np.inf, shape=(rows, columns)), 1)


def _shares(q: Any, k: Any, mask: Any, scale: float, causal: bool) -> tuple[Any, Any]:
    """The exponentials of the scores, and their sums over the keys."""
    scores = _times_turned(q, k, scale)
    if type(scores) is _ndarray and (mask is None or type(mask) is _ndarray):
        return _plain_shares(scores, mask, causal)
    small = None if mask is not None else _is_small(np.abs(scores))
    if causal:
        scores = scores + _hidden(scores)
    if mask is not None:
        scores = scores + mask
    largest = np.max(scores, axis=-1, keepdims=True)
    unshifted = largest == -np.inf
    if small is not None:
        unshifted = np.logical_or(unshifted, small)
    e = np.exp(scores - np.where(unshifted, np.zeros_like(largest), largest))
    sums = np.matmul(e, np.ones_like(_turned(e[..., :1, :])))
    return e, np.where(sums == 0, np.ones_like(sums), sums)


def _weights(q: Any, k: Any, mask: Any, scale: float, causal: bool) -> Any:
    """The exponentials over their sums, by a record whose rule is as accurate as can be."""
    scores = _times_turned(q, k, scale)
    if causal:
        scores = scores + _hidden(scores)
    if mask is None:
        return softmax_op(scores, dim=-1)
    scores = scores + mask
    blind = np.max(scores, axis=-1, keepdims=True) == -np.inf
    zeros = np.zeros_like(scores)
    weights = softmax_op(np.where(blind, zeros, scores), dim=-1)
    return np.where(blind, zeros, weights)


def _is_small(sizes: Any) -> Any:
    """Which rows of scores need no shift, from the sizes of the scores."""
    return np.max(sizes, axis=-1, keepdims=True) <= _LARGEST_SCORE


def _plain_shares(scores: Any, mask: Any, causal: bool) -> tuple[Any, Any]:
    """The same, in place and with the fewest passes over the scores."""
    largest_size = max(np.max(scores), -np.min(scores)) if scores.size else 0.0
    small = mask is None and largest_size <= _LARGEST_SCORE
    unshifted = _is_small(np.abs(scores)) if mask is None and not small else False
    if causal:
        scores += _hidden(scores)
    if mask is not None:
        scores = scores + mask
    if not small:
        places = np.argmax(scores, axis=-1, keepdims=True)  # faster than np.max
        largest = np.take_along_axis(scores, places, -1)
        largest[(largest == -np.inf) | unshifted] = 0
        scores -= largest
    e = np.exp(scores, out=scores)
    sums = np.matmul(e, np.ones((e.shape[-1], 1), e.dtype))
    if mask is not None:
        sums[sums == 0] = 1
    return e, sums


def _times_turned(x: Any, y: Any, scale: float = 1.0) -> Any:
    """x yᵀ scale: the turned factor is copied, because BLAS is slow with small ones as they lie."""
    turned = _turned(y)
    if type(y) is not _ndarray:
        return np.matmul(x, turned * scale)
    return matmul(x, np.multiply(turned, turned.dtype.type(scale), order="C"))


def _like(layout: Any, x: Any, y: Any) -> Any:
    """x y, laid out in memory as another array of that shape is, where it can be."""
    if type(layout) is not _ndarray or type(x) is not _ndarray or type(y) is not _ndarray:
        return np.matmul(x, y)
    shape = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
    if shape != layout.shape:
        return np.matmul(x, y)
    return matmul(x, y, np.empty_like(layout))


def _attention(
    q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool, noise: Any
) -> tuple[Any, Any, Any]:
    e, sums = _shares(q, k, mask, scale, causal)
    out = _like(q, e if noise is None else e * noise, v)
    if type(out) is _ndarray:
        out /= sums
    else:
        out = out / sums
    return out, e, sums


def _gradients(
    g: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any,
    out1: Any,
    out2: Any,
    scale: float,
    causal: bool,
    noise: Any,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    e, sums = out1, out2
    if hasattr(g, "apply_lifted"):  # these are no constants if they are differentiated again
        e, sums = _weights(q, k, mask, scale, causal), None
    g = g if sums is None else g / sums
    dropped = e if noise is None else e * noise
    dq = dk = dv = dscores = None
    if needs[2]:
        dv = _like(v, _turned(dropped), g)
    if needs[0] or needs[1] or needs[3]:
        dscores = _times_turned(g, v)
        if noise is not None:
            dscores = dscores * noise
        along = np.expand_dims(np.vecdot(e, dscores), -1)
        along = along if sums is None else along / sums
        if type(dscores) is _ndarray and type(along) is _ndarray and type(e) is _ndarray:
            dscores -= along
            dscores *= e
        else:
            dscores = (dscores - along) * e
    if needs[0]:
        dq = _scaled(_like(q, dscores, k), scale)
    if needs[1]:
        dk = _scaled(_like(k, _turned(dscores), q), scale)
    return dq, dk, dv, dscores if needs[3] else None


def _scaled(x: Any, scale: float) -> Any:
    if type(x) is _ndarray:
        x *= x.dtype.type(scale)
        return x
    return x * scale


def _tangents(
    t: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any,
    scale: float,
    causal: bool,
    noise: Any,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    e, sums = _shares(q, k, mask, scale, causal)
    shares = e / sums
    turned = np.matmul(t[0], _turned(k) * scale) + np.matmul(q, _turned(t[1]) * scale)
    if needs[3]:
        turned = turned + t[3]
    slopes = shares * (turned - np.expand_dims(np.vecdot(shares, turned), -1))
    if noise is not None:
        shares, slopes = shares * noise, slopes * noise
    return np.matmul(slopes, v) + np.matmul(shares, t[2]), None, None


def _samples() -> list[Sample]:
    q, k, v = T(2, 2, 3, 4), T(2, 2, 5, 4, seed=1), T(2, 2, 5, 4, seed=2)
    return [
        Sample(q, k, v),
        Sample(q, k, v, is_causal=True),
        Sample(q, k, v, T(3, 5), scale=0.3),
        Sample(q, k, v, T(2, 1, 3, 5, grad=False)),
        Sample(q, k, v, T(3, 5, dtype="bool", low=0, high=2)),
        Sample(T(3, 4), T(5, 4), T(5, 2)),
        Sample(T(2, 3, 4), T(2, 5, 4), T(2, 5, 2), scale=-0.5),
        Sample(T(2, 3, 4), T(1, 5, 4), T(5, 2)),
        Sample(T(2, 4, 3, 4), T(2, 2, 5, 4), T(2, 2, 5, 4), enable_gqa=True),
        Sample(q, k, v, T(3, 5, low=100, high=102)),
        Sample(q, k, v, T(3, 5, low=-102, high=-100)),
        Sample(
            T(2, 3, 4, low=50, high=51), T(2, 5, 4, low=1, high=1.02), T(2, 5, 4), is_causal=True
        ),
        Sample(T(0, 2, 3, 4), T(0, 2, 5, 4), T(0, 2, 5, 4)),
    ]


attention_op = Op(
    "scaled_dot_product_attention",
    _attention,
    ("q", "k", "v", "mask"),
    layout=by_place(as_first, None, None),
    vjp=_gradients,
    jvp=_tangents,
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    outputs=3,
    differentiable_outputs=(0,),
    public="nn.functional.scaled_dot_product_attention",
    samples=_samples,
)
