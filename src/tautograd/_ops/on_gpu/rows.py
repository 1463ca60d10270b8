"""Softmax and layer norm along the last dimension: a block per row, one pass over memory each way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.cuda.calls import QUICK
from ..._arrays.cuda.cuda_array import new
from .launch import address_of, dense, fit, kernel, threads_for
from .specialise import forward_of, rule_of

_MOST_ROWS = 1 << 16  # of which few threads can make a sum
_FEW_ROWS = 1 << 12

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
# The first `lead` blocks have a row each; every other one has 32 columns, for weight and bias, and 8 threads
# for the rows of each.
LAYER_NORM_BACK = kernel(
    "layer_norm_back",
    r"""(const T* g, const T* x, const T* w, const T* means, const T* inverses, T* r, T* dw, T* db, Int lead,
     Int rows, Int width) {
  if (blockIdx.x < lead) {
    Int start = blockIdx.x * width;
    g += start; x += start; r += start;
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
    return;
  }
  __shared__ T first[8][33], second[8][33];
  Int column = ((Int)blockIdx.x - lead) * 32 + (threadIdx.x & 31);
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


def _softmax(x: Any, dim: int, logarithm: int) -> Any:
    if dim not in (-1, len(x.shape) - 1):
        return None
    x = dense(x)
    if not x.shape or not fit(x):
        return None
    out = new(x.shape, x.dtype)
    width = x.shape[-1]
    rows = x.size // width
    SOFTMAX(x.dtype.char, rows, threads_for(width), x.ptr, out.ptr, width, logarithm)
    return out


def _softmax_back(g: Any, out: Any, dim: int, logarithm: int) -> Any:
    shape = out.shape
    if not shape or dim not in (-1, len(shape) - 1) or g.shape != shape:
        return None
    g, out = dense(g), dense(out)
    if not fit(g, out):
        return None
    found = new(shape, out.dtype)
    width = shape[-1]
    code, rows = out.dtype.char, out.size // width
    SOFTMAX_BACK(code, rows, threads_for(width), g.ptr, out.ptr, found.ptr, width, logarithm)
    return found


def _layer_norm(x: Any, weight: Any, bias: Any, rank: int, eps: float) -> Any:
    shape = x.shape
    x, weight, bias = dense(x), dense(weight), dense(bias)
    if not fit(x, *[v for v in (weight, bias) if v is not None]):
        return None
    dtype = x.dtype
    at = len(shape) - rank
    width = shape[-1] if rank == 1 else math.prod(shape[at:])
    lead = (*shape[:at], *(1,) * rank)
    out, mean, inverse = new(shape, dtype), new(lead, dtype), new(lead, dtype)
    LAYER_NORM(
        dtype.char, x.size // width, threads_for(width), x.ptr, address_of(weight),
        address_of(bias), out.ptr, mean.ptr, inverse.ptr, width, eps,
    )  # fmt: skip
    return out, mean, inverse


def _layer_norm_back(
    g: Any, x: Any, weight: Any, out1: Any, out2: Any, needs: Any, rank: int, eps: float
) -> Any:
    g, x, weight = dense(g), dense(x), dense(weight)
    if not fit(g, x, out1, out2) or not (weight is None or fit(x, weight)):
        return None
    inner = x.shape[len(x.shape) - rank :]
    width = math.prod(inner)
    rows = x.size // width
    dtype = x.dtype
    dx = new(x.shape, dtype) if needs[0] else None
    dw = new(inner, dtype) if needs[1] else None
    db = new(inner, dtype) if needs[2] else None
    given = (
        g.ptr, x.ptr, address_of(weight), out1.ptr, out2.ptr, address_of(dx), address_of(dw),
        address_of(db),
    )  # fmt: skip
    lead = 0 if dx is None else rows
    columns = 0 if dw is None and db is None else (width + 31) // 32
    if lead > _FEW_ROWS:  # too many for threads that have nothing to do
        LAYER_NORM_BACK(dtype.char, lead, threads_for(width), *given, lead, rows, width)
        lead = 0
    if lead or columns:
        LAYER_NORM_BACK(dtype.char, lead + columns, 256, *given, lead, rows, width)
    return dx, dw, db


def _sum(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    """`np.sum`, where it is one over the first dimensions."""
    return None if axis is None else _column_sums(x, axis, dtype, out, bool(keepdims))


def _column_sums(
    x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """`np.add.reduce` over the first dimensions of an array."""
    if type(axis) is int:
        axis = (axis,)
    shape = x.shape
    if (
        axis is None
        or out is not None
        or axis != tuple(range(len(axis)))
        or len(axis) >= len(shape)
    ):
        return None
    if not axis or not fit(x) or (dtype is not None and dtype != x.dtype):
        return None
    left = shape[len(axis) :]
    if math.prod(shape[: len(axis)]) > _MOST_ROWS:
        return None
    found = new((*(1,) * len(axis), *left) if keepdims else left, x.dtype)
    width = found.size
    COLUMN_SUMS(x.dtype.char, (width + 31) // 32, 256, x.ptr, found.ptr, x.size // width, width)
    return found


def install() -> None:
    """Put these in place."""
    forward_of("softmax")(lambda x, dim: _softmax(x, dim, 0))
    rule_of("softmax", "x")(lambda g, out, dim: _softmax_back(g, out, dim, 0))
    forward_of("log_softmax")(lambda x, dim: _softmax(x, dim, 1))
    rule_of("log_softmax", "x")(lambda g, out, dim: _softmax_back(g, out, dim, 1))
    forward_of("layer_norm")(_layer_norm)
    QUICK[np.add, "reduce"] = _column_sums
    QUICK[np.sum] = _sum
    rule_of("layer_norm")(_layer_norm_back)
