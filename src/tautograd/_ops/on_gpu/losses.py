"""Losses over a batch: likelihoods of classes and squared errors, reduced in one block.

A mean is one launch forward and one backward; what is too large for one block, or asks for more
than a mean or a sum, is left to the record's own formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda_array import CudaArray, wrap
from .launch import THREADS, blocks_for, dense, empty, kernel, raws
from .specialise import forward_of, rule_of

_MOST_ROWS = 1 << 14
_MOST_ELEMENTS = 1 << 18
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


def _targets(target: Any, rows: int) -> Any:
    if type(target) is not CudaArray or target.raw.dtype != np.int64 or target.raw.shape != (rows,):
        return None
    return target.raw if target.raw.flags.c_contiguous else None


def _nll(x: Any, target: Any, weight: Any, ignore_index: Any, reduction: str) -> Any:
    if weight is not None or reduction == "none" or x.ndim != 2 or x.shape[0] > _MOST_ROWS:
        return None
    given = raws(dense(x))
    if given is None:
        return None
    (x,) = given
    rows, classes = x.shape
    places = _targets(target, rows)
    if places is None:
        return None
    out = empty((), x.dtype)
    ignored = _NOTHING if ignore_index is None else ignore_index
    NLL(x.dtype.char, 1, 1024, x, places, out, rows, classes, ignored, int(reduction == "mean"))
    return wrap(out)


def _nll_back(
    g: Any, target: Any, weight: Any, x_shape: Any, ignore_index: Any, reduction: str
) -> Any:
    if weight is not None or reduction == "none" or len(x_shape) != 2 or x_shape[0] > _MOST_ROWS:
        return None
    given = raws(g)
    if given is None:
        return None
    (g,) = given
    rows, classes = x_shape
    places = _targets(target, rows)
    if places is None:
        return None
    out = empty(tuple(x_shape), g.dtype)
    ignored = _NOTHING if ignore_index is None else ignore_index
    blocks = min(blocks_for(out.size), 512)
    mean = int(reduction == "mean")
    NLL_BACK(g.dtype.char, blocks, THREADS, g, places, out, rows, classes, ignored, mean)
    return wrap(out)


def _pair(x: Any, y: Any, reduction: str) -> Any:
    if reduction == "none" or x.size > _MOST_ELEMENTS or getattr(y, "shape", None) != x.shape:
        return None
    return raws(x, y)


def _mse(x: Any, y: Any, reduction: str) -> Any:
    given = _pair(x, y, reduction)
    if given is None:
        return None
    x, y = given
    out = empty((), x.dtype)
    MSE(x.dtype.char, 1, 1024, x, y, out, x.size, int(reduction == "mean"))
    return wrap(out)


def _mse_back(g: Any, x: Any, y: Any, reduction: str) -> Any:
    given = _pair(x, y, reduction)
    start = raws(g)
    if given is None or start is None or start[0].dtype != given[0].dtype:
        return None
    x, y = given
    out = empty(x.shape, x.dtype)
    mean = int(reduction == "mean")
    MSE_BACK(x.dtype.char, blocks_for(x.size), THREADS, start[0], x, y, out, x.size, mean)
    return wrap(out)


def install() -> None:
    """Put these in place."""
    forward_of("nll_loss")(_nll)
    rule_of("nll_loss", "x")(_nll_back)
    forward_of("mse_loss")(_mse)
    rule_of("mse_loss", "x")(lambda g, x, y, reduction: _mse_back(g, x, y, reduction))
    rule_of("mse_loss", "y")(lambda g, x, y, reduction: _mse_back(g, y, x, reduction))
