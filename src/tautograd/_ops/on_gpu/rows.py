"""Softmax and layer norm along the last dimension: a block per row, one pass over memory each way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.cuda.calls import QUICK
from ..._arrays.cuda.cuda_array import new
from .launch import (
    THREADS,
    address_of,
    blocks_for,
    dense,
    fit,
    fit_any,
    kernel,
    sums_dtype,
    threads_for,
)
from .specialise import forward_of, rule_of, takes_half

_ROWS_OF_A_PART = 128  # of a sum over rows: fewer are not worth another launch
_MANY_ROWS = 1 << 11
_MOST_BLOCKS = 1 << 10
_FEW_ROWS = 1 << 10

# The largest element and the sum of exponentials are found in one pass: a thread's sum is rescaled when it meets
# a larger element (Milakov and Gimelshein, 2018).
SOFTMAX = kernel(
    "softmax",
    r"""(const S* x, S* out, Int width, Int logarithm) {
  x += blockIdx.x * width; out += blockIdx.x * width;
  const int n = blockDim.x;
  T best = x[0], total = 0, v[4];
  for (Int i = threadIdx.x; i < width; i += 4 * n) {
    T now = best;
    for (int k = 0; k < 4; ++k) v[k] = i + k * n < width ? (T)x[i + k * n] : (T)-INFINITY;
    for (int k = 0; k < 4; ++k) now = larger(now, v[k]);
    if (now != best) { total *= exp(best - now); best = now; }
    for (int k = 0; k < 4; ++k) if (v[k] != (T)-INFINITY) total += exp(v[k] - best);
  }
  T most = block_max(best);
  total = block_sum(best == most ? total : total * exp(best - most));
  T shift = log(total), part = (T)1 / total;
  for (Int i = threadIdx.x; i < width; i += 4 * n) {
    for (int k = 0; k < 4; ++k) if (i + k * n < width) v[k] = x[i + k * n];
    for (int k = 0; k < 4; ++k) if (i + k * n < width)
      out[i + k * n] = logarithm ? v[k] - most - shift : exp(v[k] - most) * part;
  }
}""",
)
SOFTMAX_BACK = kernel(
    "softmax_back",
    r"""(const S* g, const S* out, S* r, Int width, Int logarithm) {
  g += blockIdx.x * width; out += blockIdx.x * width; r += blockIdx.x * width;
  const int n = blockDim.x;
  T total = 0, u[4], v[4];
  for (Int i = threadIdx.x; i < width; i += 4 * n) {
    for (int k = 0; k < 4; ++k) u[k] = i + k * n < width ? (T)g[i + k * n] : (T)0;
    if (!logarithm) for (int k = 0; k < 4; ++k) if (i + k * n < width) u[k] *= out[i + k * n];
    for (int k = 0; k < 4; ++k) total += u[k];
  }
  total = block_sum(total);
  for (Int i = threadIdx.x; i < width; i += 4 * n) {
    for (int k = 0; k < 4; ++k) if (i + k * n < width) { u[k] = g[i + k * n]; v[k] = out[i + k * n]; }
    for (int k = 0; k < 4; ++k) if (i + k * n < width)
      r[i + k * n] = logarithm ? u[k] - exp(v[k]) * total : v[k] * (u[k] - total);
  }
}""",
)
LAYER_NORM = kernel(
    "layer_norm",
    r"""(const S* x, const S* w, const S* b, S* out, T* means, T* inverses, Int width, double eps) {
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
# for the rows of each. Of many rows such a block has a part, whose sums another launch adds up.
LAYER_NORM_BACK = kernel(
    "layer_norm_back",
    r"""(const S* g, const S* x, const S* w, const T* means, const T* inverses, S* r, S* dw, S* db, T* sums, Int lead,
     Int rows, Int width, Int each) {
  if (blockIdx.x < lead) {
    Int start = blockIdx.x * width;
    g += start; x += start; r += start;
    T mean = means[blockIdx.x], inverse = inverses[blockIdx.x];
    T plain = 0, along = 0;
    for (Int i = threadIdx.x; i < width; i += blockDim.x) {
      T h = w ? g[i] * w[i] : (T)g[i];
      plain += h;
      along += h * ((x[i] - mean) * inverse);
    }
    plain = block_sum(plain) / (T)width;
    along = block_sum(along) / (T)width;
    for (Int i = threadIdx.x; i < width; i += blockDim.x) {
      T h = w ? g[i] * w[i] : (T)g[i];
      r[i] = (h - plain - (x[i] - mean) * inverse * along) * inverse;
    }
    return;
  }
  __shared__ T first[8][33], second[8][33];
  Int across = (width + 31) / 32, block = (Int)blockIdx.x - lead, part = block / across;
  Int column = block % across * 32 + (threadIdx.x & 31);
  Int end = (part + 1) * each < rows ? (part + 1) * each : rows;
  int lane = threadIdx.x >> 5, at = threadIdx.x & 31;
  T total = 0, products = 0;
  if (column < width) for (Int i = part * each + lane; i < end; i += 8) {
    T v = g[i * width + column];
    total += v;
    products += v * ((x[i * width + column] - means[i]) * inverses[i]);
  }
  first[lane][at] = total; second[lane][at] = products;
  __syncthreads();
  if (lane == 0 && column < width) {
    for (int k = 1; k < 8; ++k) { total += first[k][at]; products += second[k][at]; }
    if (sums) { sums[2 * part * width + column] = total; sums[(2 * part + 1) * width + column] = products; }
    else { if (db) db[column] = total; if (dw) dw[column] = products; }
  }
}""",
)
ADDED_PAIRS = kernel(
    "added_pairs",
    r"""(const T* sums, S* db, S* dw, Int parts, Int width) {
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width) return;
  T first = 0, second = 0;
  for (Int k = 0; k < parts; ++k) { first += sums[2 * k * width + i]; second += sums[(2 * k + 1) * width + i]; }
  if (db) db[i] = first;
  if (dw) dw[i] = second;
}""",
)
# Sums over rows: a block has 32 columns, and 8 threads for the rows of each; of many rows it has a part, whose
# sums another launch adds up.
COLUMN_SUMS = kernel(
    "column_sums",
    r"""(const S* g, S* r, T* sums, Int rows, Int width, Int each) {
  __shared__ T parts[8][33];
  Int across = (width + 31) / 32;
  Int column = (Int)blockIdx.x % across * 32 + (threadIdx.x & 31), part = (Int)blockIdx.x / across;
  int lane = threadIdx.x >> 5;
  Int end = (part + 1) * each < rows ? (part + 1) * each : rows;
  T total = 0;
  if (column < width) for (Int i = part * each + lane; i < end; i += 8) total += g[i * width + column];
  parts[lane][threadIdx.x & 31] = total;
  __syncthreads();
  if (lane == 0 && column < width) {
    for (int k = 1; k < 8; ++k) total += parts[k][threadIdx.x & 31];
    if (sums) sums[part * width + column] = total; else r[column] = total;
  }
}""",
)
ADDED_SUMS = kernel(
    "added_sums",
    r"""(const T* sums, S* r, Int parts, Int width) {
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width) return;
  T total = 0;
  for (Int k = 0; k < parts; ++k) total += sums[k * width + i];
  r[i] = total;
}""",
)


def _softmax(x: Any, dim: int, logarithm: int) -> Any:
    if dim not in (-1, len(x.shape) - 1):
        return None
    x = dense(x)
    if not x.shape or not fit_any(x):
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
    if not fit_any(g, out):
        return None
    found = new(shape, out.dtype)
    width = shape[-1]
    code, rows = out.dtype.char, out.size // width
    SOFTMAX_BACK(code, rows, threads_for(width), g.ptr, out.ptr, found.ptr, width, logarithm)
    return found


def _layer_norm(x: Any, weight: Any, bias: Any, rank: int, eps: float) -> Any:
    shape = x.shape
    x, weight, bias = dense(x), dense(weight), dense(bias)
    if not fit_any(x, *[v for v in (weight, bias) if v is not None]):
        return None
    dtype = x.dtype
    at = len(shape) - rank
    width = shape[-1] if rank == 1 else math.prod(shape[at:])
    lead = (*shape[:at], *(1,) * rank)
    out, mean, inverse = new(shape, dtype), *[new(lead, sums_dtype(dtype)) for _ in range(2)]
    LAYER_NORM(
        dtype.char, x.size // width, threads_for(width), x.ptr, address_of(weight),
        address_of(bias), out.ptr, mean.ptr, inverse.ptr, width, eps,
    )  # fmt: skip
    return out, mean, inverse


def _layer_norm_back(
    g: Any, x: Any, weight: Any, out1: Any, out2: Any, needs: Any, rank: int, eps: float
) -> Any:
    g, x, weight = dense(g), dense(x), dense(weight)
    if not fit_any(g, x) or not fit(out1, out2) or out1.dtype != sums_dtype(x.dtype):
        return None
    if not (weight is None or fit_any(x, weight)):
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
    code, lead = dtype.char, 0 if dx is None else rows
    if lead > _FEW_ROWS:  # too many for threads that have nothing to do
        LAYER_NORM_BACK(code, lead, threads_for(width), *given, 0, lead, rows, width, rows)
        lead = 0
    across = 0 if dw is None and db is None else (width + 31) // 32
    parts = min(rows // _ROWS_OF_A_PART, _MOST_BLOCKS // across) if across else 0
    if rows < _MANY_ROWS or parts < 2:
        if lead or across:
            LAYER_NORM_BACK(code, lead + across, 256, *given, 0, lead, rows, width, rows)
        return dx, dw, db
    sums, each = new((parts, 2, width), sums_dtype(dtype)), (rows + parts - 1) // parts
    LAYER_NORM_BACK(code, lead + across * parts, 256, *given, sums.ptr, lead, rows, width, each)
    ADDED_PAIRS(
        code, blocks_for(width), THREADS, sums.ptr, address_of(db), address_of(dw), parts, width
    )
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
    if not axis or not fit_any(x) or (dtype is not None and dtype != x.dtype):
        return None
    left = shape[len(axis) :]
    found = new((*(1,) * len(axis), *left) if keepdims else left, x.dtype)
    code, width = x.dtype.char, found.size
    rows, across = x.size // width, (width + 31) // 32
    parts = min(rows // _ROWS_OF_A_PART, _MOST_BLOCKS // across)
    if rows < _MANY_ROWS or parts < 2:
        COLUMN_SUMS(code, across, 256, x.ptr, found.ptr, 0, rows, width, rows)
        return found
    sums = new((parts, width), sums_dtype(x.dtype))
    each = (rows + parts - 1) // parts
    COLUMN_SUMS(code, across * parts, 256, x.ptr, 0, sums.ptr, rows, width, each)
    ADDED_SUMS(code, blocks_for(width), THREADS, sums.ptr, found.ptr, parts, width)
    return found


def install() -> None:
    """Put these in place."""
    forward_of("softmax", half=True)(lambda x, dim: _softmax(x, dim, 0))
    rule_of("softmax", "x")(lambda g, out, dim: _softmax_back(g, out, dim, 0))
    forward_of("log_softmax", half=True)(lambda x, dim: _softmax(x, dim, 1))
    rule_of("log_softmax", "x")(lambda g, out, dim: _softmax_back(g, out, dim, 1))
    forward_of("layer_norm", half=True)(_layer_norm)
    QUICK[np.add, "reduce"] = _column_sums
    QUICK[np.sum] = _sum
    rule_of("layer_norm")(_layer_norm_back)
    for name in ("softmax", "log_softmax", "layer_norm"):
        takes_half(name)
