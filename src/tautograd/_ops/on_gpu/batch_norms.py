"""Batch norm while training: statistics of each channel in one pass over memory, then one pass to apply them.

A block has a part of the images of one channel: their mean and the squares about it, which are put together as
Chan, Golub and LeVeque (1979) do, so that a large mean costs no digits. Going back it has the sums of the
gradient and of the gradient times the normalised values.
"""

from __future__ import annotations

from typing import Any

from ..._arrays.cuda.cuda_array import new
from .launch import THREADS, address_of, blocks_for, dense, fit, fit_any, kernel, sums_dtype
from .specialise import forward_of, rule_of, takes_half

_MOST_BLOCKS = 1 << 11

PARTS = kernel(
    "batch_norm_parts",
    r"""(const S* x, T* sums, Int channels, Int apart, Int images, Int each) {
  Int channel = (Int)blockIdx.x % channels, part = (Int)blockIdx.x / channels;
  Int end = (part + 1) * each < images ? (part + 1) * each : images;
  Int count = (end - part * each) * apart;
  const S* from = x + (part * each * channels + channel) * apart;
  T total = 0;
  for (Int n = part * each; n < end; ++n) {
    for (Int i = threadIdx.x; i < apart; i += blockDim.x) total += from[i];
    from += channels * apart;
  }
  T mean = block_sum(total) / (T)count;
  from = x + (part * each * channels + channel) * apart;
  T spread = 0;
  for (Int n = part * each; n < end; ++n) {
    for (Int i = threadIdx.x; i < apart; i += blockDim.x) { T d = from[i] - mean; spread += d * d; }
    from += channels * apart;
  }
  spread = block_sum(spread);
  if (threadIdx.x == 0) {
    sums[2 * (part * channels + channel)] = mean;
    sums[2 * (part * channels + channel) + 1] = spread;
  }
}""",
)
STATISTICS = kernel(
    "batch_norm_statistics",
    r"""(const T* sums, T* means, T* inverses, T* variances, Int channels, Int apart, Int images, Int each, Int parts,
     double eps) {
  Int c = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  T count = 0, mean = 0, spread = 0;
  for (Int part = 0; part < parts; ++part) {
    Int end = (part + 1) * each < images ? (part + 1) * each : images;
    T more = (T)((end - part * each) * apart), all = count + more;
    T d = sums[2 * (part * channels + c)] - mean;
    mean += d * (more / all);
    spread += sums[2 * (part * channels + c) + 1] + d * d * (count * more / all);
    count = all;
  }
  means[c] = mean;
  variances[c] = spread / count;
  inverses[c] = (T)1 / sqrt(spread / count + (T)eps);
}""",
)
APPLY = kernel(
    "batch_norm_apply",
    r"""(const S* x, const S* w, const S* b, const T* means, const T* inverses, S* r, Int n, Int channels, Int apart,
     Int wide) {
  Int i = ((Int)blockIdx.x * blockDim.x + threadIdx.x) * EACH;
  if (i >= n) return;
  if (wide) {
    Int c = i / apart % channels;
    T slope = inverses[c] * (w ? (T)w[c] : (T)1), mean = means[c], shift = b ? (T)b[c] : (T)0;
    Pack given = *(const Pack*)(x + i), found;
    for (int k = 0; k < EACH; ++k) found.at[k] = (given.at[k] - mean) * slope + shift;
    *(Pack*)(r + i) = found;
  } else for (Int j = i; j < n && j < i + EACH; ++j) {
    Int c = j / apart % channels;
    r[j] = (x[j] - means[c]) * (inverses[c] * (w ? (T)w[c] : (T)1)) + (b ? (T)b[c] : (T)0);
  }
}""",
)
BACK_PARTS = kernel(
    "batch_norm_back_parts",
    r"""(const S* g, const S* x, const T* means, const T* inverses, T* sums, Int channels, Int apart, Int images,
     Int each) {
  Int channel = (Int)blockIdx.x % channels, part = (Int)blockIdx.x / channels;
  Int end = (part + 1) * each < images ? (part + 1) * each : images;
  Int start = (part * each * channels + channel) * apart;
  const S *pull = g + start, *from = x + start;
  T mean = means[channel], inverse = inverses[channel], total = 0, along = 0;
  for (Int n = part * each; n < end; ++n) {
    for (Int i = threadIdx.x; i < apart; i += blockDim.x) {
      T v = pull[i];
      total += v;
      along += v * ((from[i] - mean) * inverse);
    }
    pull += channels * apart;
    from += channels * apart;
  }
  total = block_sum(total);
  along = block_sum(along);
  if (threadIdx.x == 0) {
    sums[2 * (part * channels + channel)] = total;
    sums[2 * (part * channels + channel) + 1] = along;
  }
}""",
)
BACK_SUMS = kernel(
    "batch_norm_back_sums",
    r"""(const T* sums, T* pairs, S* db, S* dw, Int channels, Int parts) {
  Int c = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  T total = 0, along = 0;
  for (Int part = 0; part < parts; ++part) {
    total += sums[2 * (part * channels + c)];
    along += sums[2 * (part * channels + c) + 1];
  }
  pairs[2 * c] = total; pairs[2 * c + 1] = along;
  if (db) db[c] = total;
  if (dw) dw[c] = along;
}""",
)
BACK_APPLY = kernel(
    "batch_norm_back_apply",
    r"""(const S* g, const S* x, const S* w, const T* means, const T* inverses, const T* pairs, S* r, Int n,
     Int channels, Int apart, Int count, Int wide) {
  Int i = ((Int)blockIdx.x * blockDim.x + threadIdx.x) * EACH;
  if (i >= n) return;
  if (wide) {
    Int c = i / apart % channels;
    T mean = means[c], inverse = inverses[c], slope = inverse * (w ? (T)w[c] : (T)1);
    T plain = pairs[2 * c] / (T)count, along = pairs[2 * c + 1] / (T)count;
    Pack pull = *(const Pack*)(g + i), given = *(const Pack*)(x + i), found;
    for (int k = 0; k < EACH; ++k)
      found.at[k] = (pull.at[k] - plain - (given.at[k] - mean) * inverse * along) * slope;
    *(Pack*)(r + i) = found;
  } else for (Int j = i; j < n && j < i + EACH; ++j) {
    Int c = j / apart % channels;
    T plain = pairs[2 * c] / (T)count, along = pairs[2 * c + 1] / (T)count;
    T slope = inverses[c] * (w ? (T)w[c] : (T)1);
    r[j] = (g[j] - plain - (x[j] - means[c]) * inverses[c] * along) * slope;
  }
}""",
)


MOVED = kernel(
    "batch_norm_moved",
    r"""(T* running_mean, T* running_var, const T* mean, const T* variance, Int n, double momentum, double unbiased) {
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T kept = (T)(1 - momentum), taken = (T)momentum;
  if (running_mean) running_mean[i] = running_mean[i] * kept + mean[i] * taken;
  if (running_var) running_var[i] = running_var[i] * kept + variance[i] * (T)unbiased * taken;
}""",
)


def move_statistics(
    running_mean: Any, running_var: Any, mean: Any, variance: Any, momentum: float, unbiased: float
) -> bool:
    """Move running statistics towards a batch's in one launch; False where it cannot be."""
    arrays = [a for a in (running_mean, running_var, mean, variance) if a is not None]
    if not fit(*arrays) or isinstance(momentum, complex):
        return False
    n, code = mean.size, mean.dtype.char
    MOVED(
        code, blocks_for(n), THREADS, address_of(running_mean), address_of(running_var), mean.ptr,
        variance.ptr, n, momentum, unbiased,
    )  # fmt: skip
    return True


class _Shape:
    """How images are shared out among blocks."""

    def __init__(self, x: Any) -> None:
        self.images, self.channels = x.shape[:2]
        self.apart = x.size // (self.images * self.channels)
        parts = max(1, min(self.images, _MOST_BLOCKS // self.channels))
        self.each = (self.images + parts - 1) // parts
        self.parts = (self.images + self.each - 1) // self.each
        self.blocks = self.channels * self.parts
        self.threads = 256 if self.apart >= 256 else 64
        pack = 16 // int(x.dtype.itemsize)
        self.spread = (x.size + THREADS * pack - 1) // (THREADS * pack)
        self.even = self.apart % pack == 0


def _is_wide(shape: _Shape, *arrays: Any) -> bool:
    return shape.even and not any(a.ptr % 16 for a in arrays)


def _batch_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    x, weight, bias = dense(x), dense(weight), dense(bias)
    if not fit_any(x, *[v for v in (weight, bias) if v is not None]) or len(x.shape) < 2:
        return None
    shape, dtype = _Shape(x), x.dtype
    code, kind, channels = dtype.char, sums_dtype(dtype), shape.channels
    sums = new((shape.parts, channels, 2), kind)
    mean, inverse, variance = (new((channels,), kind) for _ in range(3))
    out = new(x.shape, dtype)
    geometry = (channels, shape.apart, shape.images, shape.each)
    PARTS(code, shape.blocks, shape.threads, x.ptr, sums.ptr, *geometry)
    STATISTICS(
        code, blocks_for(channels), THREADS, sums.ptr, mean.ptr, inverse.ptr, variance.ptr, *geometry,
        shape.parts, eps,
    )  # fmt: skip
    APPLY(
        code, shape.spread, THREADS, x.ptr, address_of(weight), address_of(bias), mean.ptr, inverse.ptr,
        out.ptr, x.size, channels, shape.apart, _is_wide(shape, x),
    )  # fmt: skip
    return out, mean, inverse, variance


def _batch_norm_back(
    g: Any, x: Any, weight: Any, out1: Any, out2: Any, needs: Any, eps: float
) -> Any:
    g, x, weight = dense(g), dense(x), dense(weight)
    if not fit_any(g, x) or not fit(out1, out2) or out1.dtype != sums_dtype(x.dtype):
        return None
    if len(x.shape) < 2 or not (weight is None or fit_any(x, weight)):
        return None
    shape, dtype = _Shape(x), x.dtype
    code, kind, channels = dtype.char, sums_dtype(dtype), shape.channels
    sums, pairs = new((shape.parts, channels, 2), kind), new((channels, 2), kind)
    dw = new((channels,), dtype) if needs[1] else None
    db = new((channels,), dtype) if needs[2] else None
    BACK_PARTS(
        code, shape.blocks, shape.threads, g.ptr, x.ptr, out1.ptr, out2.ptr, sums.ptr, channels,
        shape.apart, shape.images, shape.each,
    )  # fmt: skip
    BACK_SUMS(
        code, blocks_for(channels), THREADS, sums.ptr, pairs.ptr, address_of(db), address_of(dw),
        channels, shape.parts,
    )  # fmt: skip
    dx = None
    if needs[0]:
        dx = new(x.shape, dtype)
        BACK_APPLY(
            code, shape.spread, THREADS, g.ptr, x.ptr, address_of(weight), out1.ptr, out2.ptr, pairs.ptr,
            dx.ptr, x.size, channels, shape.apart, shape.images * shape.apart, _is_wide(shape, g, x),
        )  # fmt: skip
    return dx, dw, db


def install() -> None:
    """Put these in place."""
    forward_of("batch_norm", half=True)(_batch_norm)
    rule_of("batch_norm")(_batch_norm_back)
    takes_half("batch_norm")
