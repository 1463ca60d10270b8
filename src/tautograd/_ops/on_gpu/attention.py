"""Attention: products by cuBLAS, and everything between them in one kernel each way.

A block per query turns its scores into weights: scaled, masked, exponentials over their sum. What is kept is the
result and the logarithm of that sum; going back, scores are computed again, and a block turns them and the gradients
of weights into weights and the gradients of scores. Short sequences have kernels of their own (`flash`), half
precision has cuDNN's (`fused_attention`): those write no scores at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import new
from ..nn import attention as formula
from . import flash, fused_attention
from .launch import dense, fit, kernel, threads_for
from .specialise import forward_of, is_half, rule_of, takes_half, widened

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
  if (threadIdx.x == 0) sums[blockIdx.x] = best + log(total);
}""",
)
WEIGHTS_BACK = kernel(
    "attention_weights_back",
    r"""(T* slopes, T* scores, const T* sums, const T* g, const T* out, Int queries, Int keys, Int width, double scale,
     Int causal) {
  slopes += blockIdx.x * keys; scores += blockIdx.x * keys;
  g += blockIdx.x * width; out += blockIdx.x * width;
  Int end = keys;
  if (causal) { Int q = blockIdx.x % queries; end = q + 1 < keys ? q + 1 : keys; }
  T along = 0;
  for (Int i = threadIdx.x; i < width; i += blockDim.x) along += g[i] * out[i];
  along = block_sum(along);
  T sum = sums[blockIdx.x];
  for (Int i = threadIdx.x; i < keys; i += blockDim.x) {
    T weight = i < end ? exp(scores[i] * (T)scale - sum) : (T)0;
    scores[i] = weight;
    slopes[i] = i < end ? (slopes[i] - along) * weight * (T)scale : (T)0;
  }
}""",
)


def _threads(keys: int) -> int:
    """Threads for a query's weights: one warp waits for no other, as long as each thread has a few keys."""
    return 32 if keys <= 512 else threads_for(keys)


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _attention(q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool, noise: Any) -> Any:
    if noise is not None or q.ndim < 3:
        return None
    library = fused_attention.suits(q, k, v, mask, scale)
    if library is not None:
        return fused_attention.forward(library, q, k, v, mask, scale, causal)
    if mask is not None:
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
    WEIGHTS(q.dtype.char, rows, _threads(keys), scores.ptr, sums.ptr, queries, keys, scale, causal)
    out = gemm(scores, v)
    return out, sums, out


def _attention_back(
    g: Any, q: Any, k: Any, v: Any, mask: Any, out1: Any, out2: Any, scale: float, causal: bool,
    noise: Any, needs: Any,
) -> Any:  # fmt: skip
    if noise is not None or q.ndim < 3:
        return None
    if fused_attention.are_kept(out1, out2):
        found = None
        if not needs[3]:
            found = fused_attention.backward(g, q, k, v, mask, out1, out2, scale, causal)
        return (
            (*found, None) if found is not None else _anew(g, q, k, v, mask, scale, causal, needs)
        )
    if mask is not None:
        return None
    if is_half(q):  # what cuDNN has no kernel for was computed in float32
        g, q, k, v = widened([g, q, k, v])
    if flash.suits(q, k, v):
        return *flash.backward(flash.dense_rows(g), q, k, v, out1, out2, scale, causal), None
    g, q, k, v, out = map(dense, (g, q, k, v, out2))
    if out1.shape[-1] != 1 or not fit(q, k, v):
        return None
    if not fit(g, q, k, v, out):
        return _anew(g, q, k, v, None, scale, causal, needs)
    gemm = cuda_array.backend.gemm
    scores, slopes = gemm(q, _turned(k)), gemm(g, _turned(v))
    queries, keys = scores.shape[-2:]
    WEIGHTS_BACK(
        q.dtype.char, scores.size // keys, threads_for(keys), slopes.ptr, scores.ptr, out1.ptr, g.ptr, out.ptr,
        queries, keys, v.shape[-1], scale, causal,
    )  # fmt: skip
    dv = gemm(_turned(scores), g) if needs[2] else None
    del scores
    dq = gemm(slopes, k) if needs[0] else None
    dk = gemm(_turned(slopes), q) if needs[1] else None
    return dq, dk, dv, None


def _anew(g: Any, q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool, needs: Any) -> Any:
    """The gradients by the record's formula, of scores that are computed again."""
    g, q, k, v, mask = widened([g, q, k, v, mask])
    shares = formula._shares(q, k, mask, scale, causal)
    return formula._gradients(g, q, k, v, mask, *shares, scale, causal, None, needs)


def install() -> None:
    """Put these in place."""
    forward_of("scaled_dot_product_attention", half=True)(_attention)
    rule_of("scaled_dot_product_attention")(_attention_back)
    takes_half("scaled_dot_product_attention")
