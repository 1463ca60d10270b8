"""Attention: products by cuBLAS, and everything between them in one kernel each way.

A block per query turns its scores into weights: scaled, masked, exponentials over their sum. Going
back it turns the gradients of weights into those of scores. The weights are what is kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import new
from . import flash
from .launch import dense, fit, kernel, threads_for
from .specialise import forward_of, rule_of

WEIGHTS = kernel(
    "attention_weights",
    r"""(T* scores, T* sums, Int queries, Int keys, double scale, Int causal) {
  T* row = scores + blockIdx.x * keys;
  Int end = keys;
  if (causal) { Int q = blockIdx.x % queries; end = q + 1 < keys ? q + 1 : keys; }
  T best = row[0] * (T)scale;
  for (Int i = threadIdx.x; i < end; i += blockDim.x) best = larger(best, row[i] * (T)scale);
  best = block_max(best);
  T total = 0;
  for (Int i = threadIdx.x; i < end; i += blockDim.x) {
    T e = exp(row[i] * (T)scale - best);
    row[i] = e;
    total += e;
  }
  total = block_sum(total);
  T inverse = (T)1 / total;
  for (Int i = threadIdx.x; i < keys; i += blockDim.x) row[i] = i < end ? row[i] * inverse : (T)0;
  if (threadIdx.x == 0) sums[blockIdx.x] = (T)1;
}""",
)
WEIGHTS_BACK = kernel(
    "attention_weights_back",
    r"""(T* slopes, const T* weights, Int keys, double scale) {
  slopes += blockIdx.x * keys; weights += blockIdx.x * keys;
  T along = 0;
  for (Int i = threadIdx.x; i < keys; i += blockDim.x) along += slopes[i] * weights[i];
  along = block_sum(along);
  for (Int i = threadIdx.x; i < keys; i += blockDim.x)
    slopes[i] = (slopes[i] - along) * weights[i] * (T)scale;
}""",
)


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _attention(q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool, noise: Any) -> Any:
    if mask is not None or noise is not None or q.ndim < 3:
        return None
    if flash.suits(q, k, v):
        return flash.forward(q, k, v, scale, causal)
    q, k, v = dense(q), dense(k), dense(v)
    if not fit(q, k, v) or k.shape[:-2] != q.shape[:-2] or v.shape[:-2] != q.shape[:-2]:
        return None
    gemm = cuda_array.backend.gemm
    scores = gemm(q, _turned(k))
    if scores is None:
        return None
    queries, keys = scores.shape[-2:]
    sums = new((*scores.shape[:-1], 1), q.dtype)
    rows = scores.size // keys
    WEIGHTS(
        q.dtype.char, rows, threads_for(keys), scores.ptr, sums.ptr, queries, keys, scale, causal
    )
    return gemm(scores, v), scores, sums


def _attention_back(
    g: Any, q: Any, k: Any, v: Any, mask: Any, out1: Any, out2: Any, scale: float, causal: bool,
    noise: Any, needs: Any,
) -> Any:  # fmt: skip
    if mask is not None or noise is not None or q.ndim < 3 or not math.isfinite(scale):
        return None
    if flash.suits(q, k, v):
        return *flash.backward(flash.dense_rows(g), q, k, v, out1, out2, scale, causal), None
    g, q, k, v, weights = map(dense, (g, q, k, v, out1))
    if not fit(g, q, k, v, weights):
        return None
    if k.shape[:-2] != q.shape[:-2] or v.shape[:-2] != q.shape[:-2]:
        return None
    gemm = cuda_array.backend.gemm
    dv = gemm(_turned(weights), g) if needs[2] else None
    dq = dk = None
    if needs[0] or needs[1]:
        slopes = gemm(g, _turned(v))
        keys = slopes.shape[-1]
        rows = slopes.size // keys
        code = q.dtype.char
        WEIGHTS_BACK(code, rows, threads_for(keys), slopes.ptr, weights.ptr, keys, scale)
        dq = gemm(slopes, k) if needs[0] else None
        dk = gemm(_turned(slopes), q) if needs[1] else None
    return dq, dk, dv, None


def install() -> None:
    """Put these in place."""
    forward_of("scaled_dot_product_attention")(_attention)
    rule_of("scaled_dot_product_attention")(_attention_back)
