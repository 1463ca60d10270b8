"""Losses over a batch: likelihoods of classes and squared errors, reduced in one block.

A mean is one launch forward and one backward; what is too large for one block, or asks for more
than a mean or a sum, is left to the record's own formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda.cuda_array import CudaArray, new
from .launch import THREADS, blocks_for, dense, fit, kernel, sums_dtype, threads_for
from .specialise import forward_of, rule_of

_MOST_ROWS = 1 << 14
_MOST_ELEMENTS = 1 << 18
_MANY_CLASSES = 512
_NOTHING = -(1 << 62)  # a class that no target is

NLL = kernel(
    "nll",
    r"""(const T* x, const Int* target, T* out, Int rows, Int classes, Int ignored, Int mean) {
  T total = 0, count = 0;
  for (Int i = threadIdx.x; i < rows; i += blockDim.x) {
    Int t = target[i];
    if (t != ignored) { total -= x[i * classes + t]; count += (T)1; }
  }
  total = block_sum(total);
  __syncthreads();
  count = block_sum(count);
  if (threadIdx.x == 0) out[0] = mean ? total / count : total;
}""",
)
NLL_BACK = kernel(
    "nll_back",
    r"""(const T* g, const Int* target, T* r, Int rows, Int classes, Int ignored, Int mean) {
  T share = -g[0];
  if (mean) {
    T count = 0;
    for (Int i = threadIdx.x; i < rows; i += blockDim.x) count += target[i] != ignored ? (T)1 : (T)0;
    share /= block_sum(count);
  }
  Int n = rows * classes;
  for (Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (Int)gridDim.x * blockDim.x) {
    Int t = target[i / classes];
    r[i] = (t == i % classes && t != ignored) ? share : (T)0;
  }
}""",
)
# The same of many classes: what each target gets is found first, then a block has a row.
NLL_SHARE = kernel(
    "nll_share",
    r"""(const T* g, const Int* target, T* share, Int rows, Int ignored, Int mean) {
  T count = 0;
  for (Int i = threadIdx.x; i < rows; i += blockDim.x) count += target[i] != ignored ? (T)1 : (T)0;
  count = block_sum(count);
  if (threadIdx.x == 0) share[0] = mean ? -g[0] / count : -g[0];
}""",
)
NLL_ROWS = kernel(
    "nll_rows",
    r"""(const T* share, const Int* target, T* r, Int classes, Int ignored) {
  Int t = target[blockIdx.x];
  T v = share[0];
  if (t == ignored) t = -1;
  r += blockIdx.x * classes;
  for (Int i = threadIdx.x; i < classes; i += blockDim.x) r[i] = i == t ? v : (T)0;
}""",
)
# Cross entropy of many classes: a block has a row, and finds its largest score and the sum of exponentials in one
# pass; only the logarithm of that sum is kept. A NaN is in the sum, so the largest score may pass it by.
ROW_LOSSES = kernel(
    "row_losses",
    r"""(const S* x, const Int* target, T* sums, T* losses, Int classes, Int step, Int ignored, Int wide) {
  const int COUNT = 16 / sizeof(S), each = blockDim.x * COUNT, end = (int)classes;
  Int t = target[blockIdx.x];
  x += blockIdx.x * step;
  T best = x[0], total = 0, v[COUNT];
  for (int i = threadIdx.x * COUNT; i < end; i += each) {
    if (wide && i + COUNT <= end) {
      Pack pack = *(const Pack*)(x + i);
      for (int k = 0; k < COUNT; ++k) v[k] = pack.at[k];
    } else for (int k = 0; k < COUNT; ++k) v[k] = i + k < end ? (T)x[i + k] : (T)-INFINITY;
    T now = best;
    for (int k = 0; k < COUNT; ++k) now = fmax(now, v[k]);
    if (now == (T)-INFINITY) continue;
    if (now != best) { total *= exp(best - now); best = now; }
    for (int k = 0; k < COUNT; ++k) total += EXPONENTIAL(v[k] - best);
  }
  T most = block_max(best);
  total = block_sum(best == most ? total : total * exp(best - most));
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = most + log(total);
    losses[blockIdx.x] = t == ignored ? (T)0 : most - x[t] + log(total);
  }
}""",
)
ALL_LOSSES = kernel(
    "all_losses",
    r"""(const T* losses, const Int* target, T* out, Int rows, Int ignored, Int mean) {
  T total = 0, count = 0;
  for (Int i = threadIdx.x; i < rows; i += blockDim.x) {
    total += losses[i];
    count += target[i] != ignored ? (T)1 : (T)0;
  }
  total = block_sum(total);
  __syncthreads();
  count = block_sum(count);
  if (threadIdx.x == 0) out[0] = mean ? total / count : total;
}""",
)
ROW_SLOPES = kernel(
    "row_slopes",
    r"""(const T* share, const Int* target, const S* x, const T* sums, S* r, Int classes, Int step, Int out_step,
     Int ignored, Int wide) {
  const int COUNT = 16 / sizeof(S), each = blockDim.x * COUNT, end = (int)classes;
  Int t = target[blockIdx.x];
  x += blockIdx.x * step; r += blockIdx.x * out_step;
  T part = t == ignored ? (T)0 : -share[0], sum = sums[blockIdx.x];
  if (part == (T)0) {
    for (int i = threadIdx.x; i < end; i += blockDim.x) r[i] = (T)0;
    return;
  }
  for (int i = threadIdx.x * COUNT; i < end; i += each) {
    int at = t >= i && t < i + COUNT ? (int)(t - i) : -1;
    if (wide && i + COUNT <= end) {
      Pack pack = *(const Pack*)(x + i), found;
      for (int k = 0; k < COUNT; ++k) {
        T v = EXPONENTIAL(pack.at[k] - sum);
        found.at[k] = (k == at ? v - (T)1 : v) * part;
      }
      *(Pack*)(r + i) = found;
    } else for (int k = 0; k < COUNT && i + k < end; ++k) {
      T v = EXPONENTIAL(x[i + k] - sum);
      r[i + k] = (k == at ? v - (T)1 : v) * part;
    }
  }
}""",
)
MSE = kernel(
    "mse",
    r"""(const T* x, const T* y, T* out, Int n, Int mean) {
  T total = 0;
  for (Int i = threadIdx.x; i < n; i += blockDim.x) { T d = x[i] - y[i]; total += d * d; }
  total = block_sum(total);
  if (threadIdx.x == 0) out[0] = mean ? total / (T)n : total;
}""",
)
MSE_BACK = kernel(
    "mse_back",
    r"""(const T* g, const T* x, const T* y, T* r, Int n, Int mean) {
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T share = mean ? g[0] * (T)2 / (T)n : g[0] * (T)2;
  r[i] = (x[i] - y[i]) * share;
}""",
)


def _are_targets(target: Any, rows: int) -> bool:
    if type(target) is not CudaArray or target.dtype != np.int64 or target.shape != (rows,):
        return False
    return target.dense


def _nll(x: Any, target: Any, weight: Any, ignore_index: Any, reduction: str) -> Any:
    if weight is not None or reduction == "none" or x.ndim != 2 or x.shape[0] > _MOST_ROWS:
        return None
    x = dense(x)
    rows, classes = x.shape
    if not fit(x) or not _are_targets(target, rows):
        return None
    out = new((), x.dtype)
    ignored = _NOTHING if ignore_index is None else ignore_index
    mean = reduction == "mean"
    NLL(x.dtype.char, 1, 1024, x.ptr, target.ptr, out.ptr, rows, classes, ignored, mean)
    return out


def _nll_back(
    g: Any, target: Any, weight: Any, x_shape: Any, ignore_index: Any, reduction: str
) -> Any:
    if weight is not None or reduction == "none" or len(x_shape) != 2 or x_shape[0] > _MOST_ROWS:
        return None
    rows, classes = x_shape
    if not fit(g) or not _are_targets(target, rows):
        return None
    out = new((rows, classes), g.dtype)
    ignored = _NOTHING if ignore_index is None else ignore_index
    blocks, mean = min(blocks_for(out.size), 512), reduction == "mean"
    if classes >= _MANY_CLASSES:
        code, share = g.dtype.char, new((), g.dtype)
        NLL_SHARE(code, 1, 1024, g.ptr, target.ptr, share.ptr, rows, ignored, mean)
        NLL_ROWS(code, rows, threads_for(classes), share.ptr, target.ptr, out.ptr, classes, ignored)
        return out
    NLL_BACK(
        g.dtype.char, blocks, THREADS, g.ptr, target.ptr, out.ptr, rows, classes, ignored, mean
    )
    return out


def _in_rows(x: Any) -> Any:
    """A matrix whose elements of a row lie side by side; rows may be apart."""
    if type(x) is CudaArray and x.ndim == 2 and x.size:
        classes, (down, along), size = x.shape[1], x.strides, x.dtype.itemsize
        if along == size and down >= classes * size and down % size == 0:
            return x
    return dense(x)


def _are_wide(*arrays: Any) -> bool:
    """Whether rows can be read and written sixteen bytes at once."""
    return not any(x.ptr % 16 or x.strides[0] % 16 for x in arrays)


def _threads(classes: int) -> int:
    """Threads for a row of scores, of which several rows are worked on at once."""
    return min(512, threads_for(classes))


def _cross_entropy(x: Any, target: Any, ignore_index: Any, reduction: str) -> Any:
    x = _in_rows(x)
    rows, classes = x.shape
    if x.dtype.char not in "fdeE" or not _are_targets(target, rows):
        return None
    code, ignored = x.dtype.char, _NOTHING if ignore_index is None else ignore_index
    kind = sums_dtype(x.dtype)
    sums, losses, out = new((rows,), kind), new((rows,), kind), new((), kind)
    step = x.strides[0] // x.dtype.itemsize
    ROW_LOSSES(
        code, rows, _threads(classes), x.ptr, target.ptr, sums.ptr, losses.ptr, classes, step, ignored,
        _are_wide(x),
    )  # fmt: skip
    ALL_LOSSES(
        kind.char, 1, 1024, losses.ptr, target.ptr, out.ptr, rows, ignored, reduction == "mean"
    )
    return out, sums


def _cross_entropy_back(
    g: Any, x: Any, target: Any, out1: Any, ignore_index: Any, reduction: str, *, out: Any = None
) -> Any:
    x = _in_rows(x)
    rows, classes = x.shape
    kind = sums_dtype(x.dtype)
    if x.dtype.char not in "fdeE" or not fit(g, out1) or g.dtype != kind or out1.shape != (rows,):
        return None
    if not _are_targets(target, rows):
        return None
    code, ignored = x.dtype.char, _NOTHING if ignore_index is None else ignore_index
    share = new((), kind)
    if out is None:
        out = new(x.shape, x.dtype)
    NLL_SHARE(kind.char, 1, 1024, g.ptr, target.ptr, share.ptr, rows, ignored, reduction == "mean")
    size = x.dtype.itemsize
    ROW_SLOPES(
        code, rows, _threads(classes), share.ptr, target.ptr, x.ptr, out1.ptr, out.ptr, classes,
        x.strides[0] // size, out.strides[0] // size, ignored, _are_wide(x, out),
    )  # fmt: skip
    return out


_cross_entropy_back.takes_out = True  # type: ignore[attr-defined]
# Each thread has read the scores that it writes slopes over.
_cross_entropy_back.writes_over = 1  # type: ignore[attr-defined]
_cross_entropy.takes_rows = True  # type: ignore[attr-defined]
_cross_entropy_back.takes_rows = True  # type: ignore[attr-defined]


def _are_pair(x: Any, y: Any, reduction: str) -> bool:
    if reduction == "none" or x.size > _MOST_ELEMENTS or getattr(y, "shape", None) != x.shape:
        return False
    return fit(x, y)


def _mse(x: Any, y: Any, reduction: str) -> Any:
    if not _are_pair(x, y, reduction):
        return None
    out = new((), x.dtype)
    MSE(x.dtype.char, 1, 1024, x.ptr, y.ptr, out.ptr, x.size, reduction == "mean")
    return out


def _mse_back(g: Any, x: Any, y: Any, reduction: str) -> Any:
    if not _are_pair(x, y, reduction) or not fit(x, g):
        return None
    out = new(x.shape, x.dtype)
    size, mean = x.size, reduction == "mean"
    MSE_BACK(x.dtype.char, blocks_for(size), THREADS, g.ptr, x.ptr, y.ptr, out.ptr, size, mean)
    return out


def install() -> None:
    """Put these in place."""
    forward_of("nll_loss")(_nll)
    rule_of("nll_loss", "x")(_nll_back)
    forward_of("cross_entropy_of_many")(_cross_entropy)
    rule_of("cross_entropy_of_many", "x")(_cross_entropy_back)
    forward_of("mse_loss")(_mse)
    rule_of("mse_loss", "x")(lambda g, x, y, reduction: _mse_back(g, x, y, reduction))
    rule_of("mse_loss", "y")(lambda g, x, y, reduction: _mse_back(g, y, x, reduction))
