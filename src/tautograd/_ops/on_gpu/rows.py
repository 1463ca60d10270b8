"""Softmax and layer norm along the last dimension: a block per row, one pass over memory each way."""

from __future__ import annotations

import math
from typing import Any

from ..._arrays import cuda_array
from ..._arrays.cuda_array import wrap
from .launch import dense, empty, kernel, raws, threads_for
from .specialise import forward_of, rule_of

SOFTMAX = kernel(
    "softmax",
    r"""(const T* x, T* out, Int width, Int logarithm) {
  x += blockIdx.x * width; out += blockIdx.x * width;
  T best = x[0];
  for (Int i = threadIdx.x; i < width; i += blockDim.x) best = larger(best, x[i]);
  best = block_max(best);
  T total = 0;
  for (Int i = threadIdx.x; i < width; i += blockDim.x) total += exp(x[i] - best);
  total = block_sum(total);
  if (logarithm) {
    T shift = log(total);
    for (Int i = threadIdx.x; i < width; i += blockDim.x) out[i] = x[i] - best - shift;
  } else {
    for (Int i = threadIdx.x; i < width; i += blockDim.x) out[i] = exp(x[i] - best) / total;
  }
}""",
)
SOFTMAX_BACK = kernel(
    "softmax_back",
    r"""(const T* g, const T* out, T* r, Int width, Int logarithm) {
  g += blockIdx.x * width; out += blockIdx.x * width; r += blockIdx.x * width;
  T total = 0;
  for (Int i = threadIdx.x; i < width; i += blockDim.x) total += logarithm ? g[i] : g[i] * out[i];
  total = block_sum(total);
  for (Int i = threadIdx.x; i < width; i += blockDim.x)
    r[i] = logarithm ? g[i] - exp(out[i]) * total : out[i] * (g[i] - total);
}""",
)
LAYER_NORM = kernel(
    "layer_norm",
    r"""(const T* x, const T* w, const T* b, T* out, T* means, T* inverses, Int width, double eps) {
  x += blockIdx.x * width; out += blockIdx.x * width;
  T mean = 0;
  for (Int i = threadIdx.x; i < width; i += blockDim.x) mean += x[i];
  mean = block_sum(mean) / (T)width;
  T spread = 0;
  for (Int i = threadIdx.x; i < width; i += blockDim.x) { T d = x[i] - mean; spread += d * d; }
  spread = block_sum(spread) / (T)width;
  T inverse = (T)1 / sqrt(spread + (T)eps);
  for (Int i = threadIdx.x; i < width; i += blockDim.x) {
    T v = (x[i] - mean) * inverse;
    if (w) v *= w[i];
    if (b) v += b[i];
    out[i] = v;
  }
  if (threadIdx.x == 0) { means[blockIdx.x] = mean; inverses[blockIdx.x] = inverse; }
}""",
)
LAYER_NORM_BACK = kernel(
    "layer_norm_back",
    r"""(const T* g, const T* x, const T* w, const T* means, const T* inverses, T* r, Int width) {
  g += blockIdx.x * width; x += blockIdx.x * width; r += blockIdx.x * width;
  T mean = means[blockIdx.x], inverse = inverses[blockIdx.x];
  T plain = 0, along = 0;
  for (Int i = threadIdx.x; i < width; i += blockDim.x) {
    T h = w ? g[i] * w[i] : g[i];
    plain += h;
    along += h * ((x[i] - mean) * inverse);
  }
  plain = block_sum(plain) / (T)width;
  along = block_sum(along) / (T)width;
  for (Int i = threadIdx.x; i < width; i += blockDim.x) {
    T h = w ? g[i] * w[i] : g[i];
    r[i] = (h - plain - (x[i] - mean) * inverse * along) * inverse;
  }
}""",
)
# Sums over rows: a block has 32 columns, and 8 threads for the rows of each.
COLUMN_SUMS = kernel(
    "column_sums",
    r"""(const T* g, T* r, Int rows, Int width) {
  __shared__ T parts[8][33];
  Int column = (Int)blockIdx.x * 32 + (threadIdx.x & 31);
  int lane = threadIdx.x >> 5;
  T total = 0;
  if (column < width) for (Int i = lane; i < rows; i += 8) total += g[i * width + column];
  parts[lane][threadIdx.x & 31] = total;
  __syncthreads();
  if (lane == 0 && column < width) {
    for (int k = 1; k < 8; ++k) total += parts[k][threadIdx.x & 31];
    r[column] = total;
  }
}""",
)
NORM_WEIGHTS = kernel(
    "norm_weights",
    r"""(const T* g, const T* x, const T* means, const T* inverses, T* dw, T* db, Int rows, Int width) {
  __shared__ T first[8][33], second[8][33];
  Int column = (Int)blockIdx.x * 32 + (threadIdx.x & 31);
  int lane = threadIdx.x >> 5, at = threadIdx.x & 31;
  T sums = 0, products = 0;
  if (column < width) for (Int i = lane; i < rows; i += 8) {
    T v = g[i * width + column];
    sums += v;
    products += v * ((x[i * width + column] - means[i]) * inverses[i]);
  }
  first[lane][at] = sums; second[lane][at] = products;
  __syncthreads();
  if (lane == 0 && column < width) {
    for (int k = 1; k < 8; ++k) { sums += first[k][at]; products += second[k][at]; }
    if (db) db[column] = sums;
    if (dw) dw[column] = products;
  }
}""",
)


def _softmax(x: Any, dim: int, logarithm: int) -> Any:
    if x.ndim == 0 or dim not in (-1, x.ndim - 1):
        return None
    given = raws(dense(x))
    if given is None:
        return None
    (x,) = given
    out = empty(x.shape, x.dtype)
    width = x.shape[-1]
    SOFTMAX(x.dtype.char, x.size // width, threads_for(width), x, out, width, logarithm)
    return wrap(out)


def _softmax_back(g: Any, out: Any, dim: int, logarithm: int) -> Any:
    if out.ndim == 0 or dim not in (-1, out.ndim - 1):
        return None
    given = raws(dense(g), dense(out))
    if given is None or given[0].shape != given[1].shape:
        return None
    g, out = given
    found = empty(out.shape, out.dtype)
    width = out.shape[-1]
    SOFTMAX_BACK(
        out.dtype.char, out.size // width, threads_for(width), g, out, found, width, logarithm
    )
    return wrap(found)


def _layer_norm(x: Any, weight: Any, bias: Any, rank: int, eps: float) -> Any:
    shape = x.shape
    given = raws(dense(x), *[dense(v) for v in (weight, bias) if v is not None])
    if given is None:
        return None
    rows, width = _counts(shape, rank)
    first = given[0]
    out, lead = empty(shape, first.dtype), (*shape[: len(shape) - rank], *(1,) * rank)
    mean, inverse = empty(lead, first.dtype), empty(lead, first.dtype)
    w = None if weight is None else given[1]
    b = None if bias is None else given[-1]
    LAYER_NORM(
        first.dtype.char, rows, threads_for(width), first, _or_none(w), _or_none(b), out, mean,
        inverse, width, float(eps),
    )  # fmt: skip
    return wrap(out), wrap(mean), wrap(inverse)


def _or_none(array: Any) -> Any:
    """A pointer, zero for none."""
    return 0 if array is None else array


def _counts(shape: Any, rank: int) -> tuple[int, int]:
    at = len(shape) - rank
    return math.prod(shape[:at]), math.prod(shape[at:])


def _layer_norm_back(
    g: Any, x: Any, weight: Any, out1: Any, out2: Any, needs: Any, rank: int, eps: float
) -> Any:
    given = raws(*map(dense, (g, x, out1, out2)), *(() if weight is None else (dense(weight),)))
    if given is None:
        return None
    g, x, mean, inverse, *rest = given
    w = rest[0] if rest else None
    rows, width = _counts(x.shape, rank)
    code, dtype = x.dtype.char, x.dtype
    dx = dw = db = None
    if needs[0]:
        dx = empty(x.shape, dtype)
        LAYER_NORM_BACK(code, rows, threads_for(width), g, x, _or_none(w), mean, inverse, dx, width)
    if needs[1] or needs[2]:
        inner = x.shape[x.ndim - rank :]
        dw = empty(inner, dtype) if needs[1] else None
        db = empty(inner, dtype) if needs[2] else None
        NORM_WEIGHTS(
            code,
            (width + 31) // 32,
            256,
            g,
            x,
            mean,
            inverse,
            _or_none(dw),
            _or_none(db),
            rows,
            width,
        )
    return tuple(None if v is None else wrap(v) for v in (dx, dw, db))


def column_sums(x: Any) -> Any:
    """The sum over the rows of a dense matrix of CuPy's."""
    rows, width = x.shape
    out = empty((width,), x.dtype)
    COLUMN_SUMS(x.dtype.char, (width + 31) // 32, 256, x, out, rows, width)
    return out


def install() -> None:
    """Put these in place."""
    forward_of("softmax")(lambda x, dim: _softmax(x, dim, 0))
    rule_of("softmax", "x")(lambda g, out, dim: _softmax_back(g, out, dim, 0))
    forward_of("log_softmax")(lambda x, dim: _softmax(x, dim, 1))
    rule_of("log_softmax", "x")(lambda g, out, dim: _softmax_back(g, out, dim, 1))
    forward_of("layer_norm")(_layer_norm)
    cuda_array.backend.column_sums = column_sums
    rule_of("layer_norm")(_layer_norm_back)
