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
from ..._arrays.cuda.cuda_array import CudaArray, new
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
     Int causal, Int heads, Int gb, Int gh, Int gt, Int ob, Int oh, Int ot) {
  slopes += blockIdx.x * keys; scores += blockIdx.x * keys;
  Int t = blockIdx.x % queries, h = blockIdx.x / queries % heads, b = blockIdx.x / queries / heads;
  g += b * gb + h * gh + t * gt; out += b * ob + h * oh + t * ot;
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

_LEAST_HALF = (
    128  # positions, from which on it pays to leave out what causal attention does not see
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
    found = _of_heads(q, k, v, scale, causal)
    if found is not None:
        return found
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


def _are_heads(*arrays: Any) -> bool:
    """Whether these are batches of heads of one of float32 and float64, with rows of elements side by side."""
    first = arrays[0]
    if type(first) is not CudaArray or first.dtype.char not in "fd" or len(first.shape) != 4:
        return False
    for x in arrays:
        if type(x) is not CudaArray or x.dtype != first.dtype or x.shape[:2] != first.shape[:2]:
            return False
        if len(x.shape) != 4 or not x.size or x.strides[-1] != x.itemsize:
            return False
    return True


class _Products:
    """Products of heads where they lie. Of causal scores, the half above the diagonal of halves is not computed.

    All of them are named first (`scores`, `by_scores`, `by_turned` give their numbers), then `run` in any order.
    """

    def __init__(self, queries: int, keys: int, causal: bool) -> None:
        self.half = queries // 2
        self.halved = causal and queries == keys and queries % 2 == 0 and self.half >= _LEAST_HALF
        self.named: list[tuple[Any, Any, Any]] = []
        self.found: Any = None

    def scores(self, x: Any, y: Any, out: Any) -> range:
        """out = x y, each row of which is wanted up to the diagonal."""
        if not self.halved:
            return self._name((x, y, out))
        half = self.half
        return self._name(
            (_rows(x, 0, half), _columns(y, 0, half), _columns(_rows(out, 0, half), 0, half)),
            (_rows(x, half, half), y, _rows(out, half, half)),
        )

    def by_scores(self, scores: Any, y: Any, out: Any) -> range:
        """out = scores y, of scores that are zero above the diagonal."""
        if not self.halved:
            return self._name((scores, y, out))
        half = self.half
        upper = _columns(_rows(scores, 0, half), 0, half)
        return self._name(
            (upper, _rows(y, 0, half), _rows(out, 0, half)),
            (_rows(scores, half, half), y, _rows(out, half, half)),
        )

    def by_turned(self, scores: Any, y: Any, out: Any) -> range:
        """out = scoresᵀ y, of such scores."""
        turned = _turned(scores)
        if not self.halved:
            return self._name((turned, y, out))
        half = self.half
        later = _columns(_rows(turned, half, half), half, half)
        return self._name(
            (_rows(turned, 0, half), y, _rows(out, 0, half)),
            (later, _rows(y, half, half), _rows(out, half, half)),
        )

    def _name(self, *products: tuple[Any, Any, Any]) -> range:
        start = len(self.named)
        self.named += products
        return range(start, len(self.named))

    def can_be(self) -> bool:
        """Whether cuBLAS has them all, once they are named."""
        self.found = cuda_array.backend.gemm.by_heads(self.named)
        self.named = []
        return self.found is not None

    def run(self, *numbers: range) -> None:
        for several in numbers:
            for number in several:
                self.found.run(number)


def _rows(x: Any, start: int, count: int) -> Any:
    shape, strides = x.shape, x.strides
    return x.strided((*shape[:2], count, shape[3]), strides, start * strides[2])


def _columns(x: Any, start: int, count: int) -> Any:
    shape, strides = x.shape, x.strides
    return x.strided((*shape[:3], count), strides, start * strides[3])


def _of_heads(q: Any, k: Any, v: Any, scale: float, causal: bool) -> Any:
    """Attention of heads that lie side by side at each position; its result lies so, too."""
    if not _are_heads(q, k, v):
        return None
    (batch, heads, queries, _), keys = q.shape, k.shape[2]
    products, dtype = _Products(queries, keys, causal), q.dtype
    scores = new((batch, heads, queries, keys), dtype)
    out = flash.in_rows((batch, heads, queries, v.shape[-1]), dtype)
    first, second = products.scores(q, _turned(k), scores), products.by_scores(scores, v, out)
    if not products.can_be():
        return None
    products.run(first)
    sums = new((batch, heads, queries, 1), dtype)
    rows = scores.size // keys
    WEIGHTS(dtype.char, rows, _threads(keys), scores.ptr, sums.ptr, queries, keys, scale, causal)
    products.run(second)
    return out, sums, out


def _of_heads_back(
    g: Any, q: Any, k: Any, v: Any, sums: Any, out: Any, scale: float, causal: bool, needs: Any
) -> Any:
    if not _are_heads(g, q, k, v, out):
        return None
    (batch, heads, queries, _), keys = q.shape, k.shape[2]
    products = _Products(queries, keys, causal)
    scores, slopes = (new((batch, heads, queries, keys), q.dtype) for _ in range(2))
    dq, dk, dv = flash.gradients_of(q, k, v)
    first = products.scores(q, _turned(k), scores), products.scores(g, _turned(v), slopes)
    for_v = products.by_turned(scores, g, dv)
    for_q, for_k = products.by_scores(slopes, k, dq), products.by_turned(slopes, q, dk)
    if not products.can_be():
        return None
    products.run(*first)
    _weights_back(slopes, scores, sums, g, out, scale, causal)
    for wanted, numbers in zip(needs[:3], (for_q, for_k, for_v), strict=True):
        if wanted:
            products.run(numbers)
    return *[x if wanted else None for x, wanted in zip((dq, dk, dv), needs, strict=False)], None


def _weights_back(
    slopes: Any, scores: Any, sums: Any, g: Any, out: Any, scale: float, causal: bool
) -> None:
    """Scores and the gradients of weights into weights and the gradients of scores, in place."""
    queries, keys = scores.shape[-2:]
    rows = scores.size // keys
    if len(g.shape) == 4:
        heads, places = g.shape[1], (*flash.steps(g), *flash.steps(out))
    else:  # dense
        width = g.shape[-1]
        heads, places = rows // queries, (0, queries * width, width) * 2
    WEIGHTS_BACK(
        scores.dtype.char, rows, threads_for(keys), slopes.ptr, scores.ptr, sums.ptr, g.ptr, out.ptr, queries,
        keys, g.shape[-1], scale, causal, heads, *places,
    )  # fmt: skip


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
    if out1.shape[-1] == 1 and out1.dense:
        found = _of_heads_back(g, q, k, v, out1, out2, scale, causal, needs)
        if found is not None:
            return found
    g, q, k, v, out = map(dense, (g, q, k, v, out2))
    if out1.shape[-1] != 1 or not fit(q, k, v):
        return None
    if not fit(g, q, k, v, out):
        return _anew(g, q, k, v, None, scale, causal, needs)
    gemm = cuda_array.backend.gemm
    scores, slopes = gemm(q, _turned(k)), gemm(g, _turned(v))
    _weights_back(slopes, scores, out1, g, out, scale, causal)
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
