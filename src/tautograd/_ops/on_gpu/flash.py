"""Attention over short sequences in one kernel each way: no scores are ever written to memory.

A block has the keys and values of one head in its shared memory; four threads share a query, each
going over every fourth key with a running maximum (Milakov and Gimelshein, 2018; Dao et al., 2022). Going
back, the weights are computed again from that maximum and the sum: first by queries for the gradient
of those, then by keys. Strides are the kernel's own business, so heads are not copied apart.
"""

from __future__ import annotations

from typing import Any

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import CudaArray, new, wrap
from ..._arrays.cuda.views import transposed
from .launch import kernel

_SHARED = 48 << 10  # bytes that every GPU has for a block
_WIDEST, _LONGEST = 64, 128

FORWARD = r"""(
    const T* q, const T* k, const T* v, T* out, T* bests, T* totals, Int heads, Int queries, Int keys,
    double scale, Int causal, Int qb, Int qh, Int qt, Int kb, Int kh, Int kt, Int vb, Int vh, Int vt, Int ob, Int oh,
    Int ot) {
  extern __shared__ char room[];
  T* ks = (T*)room; T* vs = ks + keys * (D + 1);
  Int b = blockIdx.x / heads, h = blockIdx.x % heads;
  q += b * qb + h * qh; k += b * kb + h * kh; v += b * vb + h * vh; out += b * ob + h * oh;
  for (Int i = threadIdx.x; i < keys * D; i += blockDim.x) {
    ks[(i / D) * (D + 1) + i % D] = k[(i / D) * kt + i % D];
    vs[(i / D) * (D + 1) + i % D] = v[(i / D) * vt + i % D];
  }
  __syncthreads();
  int lane = threadIdx.x % 4;
  for (Int first = 0; first < queries; first += blockDim.x / 4) {
    Int i = first + threadIdx.x / 4;
    bool mine = i < queries;
    T row[D], sum[D];
    for (int d = 0; d < D; ++d) { row[d] = mine ? q[i * qt + d] * (T)scale : (T)0; sum[d] = 0; }
    T best = -INFINITY, total = 0;
    Int end = causal ? (i + 1 < keys ? i + 1 : keys) : keys;
    if (mine) for (Int j = lane; j < end; j += 4) {
      T s = 0;
      for (int d = 0; d < D; ++d) s += row[d] * ks[j * (D + 1) + d];
      T now = s > best ? s : best;
      T keep = exp(best - now), e = exp(s - now);
      total = total * keep + e;
      for (int d = 0; d < D; ++d) sum[d] = sum[d] * keep + e * vs[j * (D + 1) + d];
      best = now;
    }
    for (int step = 1; step < 4; step <<= 1) {
      T other = __shfl_xor_sync(0xffffffffu, best, step);
      T now = other > best ? other : best;
      T keep = best == -INFINITY ? (T)0 : exp(best - now);
      total *= keep;
      total += __shfl_xor_sync(0xffffffffu, total, step);
      for (int d = 0; d < D; ++d) {
        sum[d] *= keep;
        sum[d] += __shfl_xor_sync(0xffffffffu, sum[d], step);
      }
      best = now;
    }
    if (mine) {
      for (int d = lane; d < D; d += 4) {
        T value = 0;
        for (int c = 0; c < D; ++c) if (c == d) value = sum[c];
        out[i * ot + d] = value / total;
      }
      if (lane == 0) {
        bests[blockIdx.x * queries + i] = best;
        totals[blockIdx.x * queries + i] = total;
      }
    }
  }
}"""

BACKWARD = r"""(
    const T* g, const T* q, const T* k, const T* v, const T* bests, const T* totals, T* dq, T* dk,
    T* dv, Int heads, Int queries, Int keys, double scale, Int causal, Int gb, Int gh, Int gt, Int qb,
    Int qh, Int qt, Int kb, Int kh, Int kt, Int vb, Int vh, Int vt, Int sb, Int sh, Int st, Int ub, Int uh, Int ut) {
  extern __shared__ char room[];
  Int most = queries > keys ? queries : keys;
  T* one = (T*)room; T* two = one + most * (D + 1); T* along = two + most * (D + 1);
  Int b = blockIdx.x / heads, h = blockIdx.x % heads;
  g += b * gb + h * gh; q += b * qb + h * qh; k += b * kb + h * kh; v += b * vb + h * vh;
  bests += blockIdx.x * queries; totals += blockIdx.x * queries;
  dq += b * sb + h * sh; dk += b * ub + h * uh; dv += b * ub + h * uh;
  for (Int i = threadIdx.x; i < keys * D; i += blockDim.x) {
    one[(i / D) * (D + 1) + i % D] = k[(i / D) * kt + i % D];
    two[(i / D) * (D + 1) + i % D] = v[(i / D) * vt + i % D];
  }
  __syncthreads();
  int lane = threadIdx.x % 4;
  for (Int first = 0; first < queries; first += blockDim.x / 4) {
    Int i = first + threadIdx.x / 4;
    bool mine = i < queries;
    T row[D], pull[D], sum[D];
    T share = 0, best = mine ? bests[i] : (T)0, part = mine ? (T)1 / totals[i] : (T)0;
    for (int d = 0; d < D; ++d) {
      row[d] = mine ? q[i * qt + d] * (T)scale : (T)0;
      pull[d] = mine ? g[i * gt + d] : (T)0;
      sum[d] = 0;
    }
    Int end = causal ? (i + 1 < keys ? i + 1 : keys) : keys;
    if (mine) for (Int j = lane; j < end; j += 4) {
      T s = 0, p = 0;
      for (int d = 0; d < D; ++d) {
        s += row[d] * one[j * (D + 1) + d];
        p += pull[d] * two[j * (D + 1) + d];
      }
      share += exp(s - best) * part * p;
    }
    for (int step = 1; step < 4; step <<= 1) share += __shfl_xor_sync(0xffffffffu, share, step);
    if (mine) for (Int j = lane; j < end; j += 4) {
      T s = 0, p = 0;
      for (int d = 0; d < D; ++d) {
        s += row[d] * one[j * (D + 1) + d];
        p += pull[d] * two[j * (D + 1) + d];
      }
      T slope = exp(s - best) * part * (p - share) * (T)scale;
      for (int d = 0; d < D; ++d) sum[d] += slope * one[j * (D + 1) + d];
    }
    for (int step = 1; step < 4; step <<= 1)
      for (int d = 0; d < D; ++d) sum[d] += __shfl_xor_sync(0xffffffffu, sum[d], step);
    if (mine) {
      for (int d = lane; d < D; d += 4) {
        T value = 0;
        for (int c = 0; c < D; ++c) if (c == d) value = sum[c];
        dq[i * st + d] = value;
      }
      if (lane == 0) along[i] = share;
    }
  }
  __syncthreads();
  for (Int i = threadIdx.x; i < queries * D; i += blockDim.x) {
    one[(i / D) * (D + 1) + i % D] = q[(i / D) * qt + i % D];
    two[(i / D) * (D + 1) + i % D] = g[(i / D) * gt + i % D];
  }
  __syncthreads();
  for (Int first = 0; first < keys; first += blockDim.x / 4) {
    Int j = first + threadIdx.x / 4;
    bool mine = j < keys;
    T key[D], value[D], dkey[D], dvalue[D];
    for (int d = 0; d < D; ++d) {
      key[d] = mine ? k[j * kt + d] * (T)scale : (T)0;
      value[d] = mine ? v[j * vt + d] : (T)0;
      dkey[d] = 0; dvalue[d] = 0;
    }
    Int start = causal ? j - j % 4 : 0;
    if (mine) for (Int i = start + lane; i < queries; i += 4) {
      if (causal && i < j) continue;
      T s = 0, p = 0;
      for (int d = 0; d < D; ++d) {
        s += key[d] * one[i * (D + 1) + d];
        p += value[d] * two[i * (D + 1) + d];
      }
      T weight = exp(s - bests[i]) / totals[i];
      T slope = weight * (p - along[i]) * (T)scale;
      for (int d = 0; d < D; ++d) {
        dkey[d] += slope * one[i * (D + 1) + d];
        dvalue[d] += weight * two[i * (D + 1) + d];
      }
    }
    for (int step = 1; step < 4; step <<= 1)
      for (int d = 0; d < D; ++d) {
        dkey[d] += __shfl_xor_sync(0xffffffffu, dkey[d], step);
        dvalue[d] += __shfl_xor_sync(0xffffffffu, dvalue[d], step);
      }
    if (mine) for (int d = lane; d < D; d += 4) {
      T a = 0, c = 0;
      for (int e = 0; e < D; ++e) if (e == d) { a = dkey[e]; c = dvalue[e]; }
      dk[j * ut + d] = a;
      dv[j * ut + d] = c;
    }
  }
}"""

_kernels: dict[tuple[str, int], Any] = {}


def of_width(name: str, width: int) -> Any:
    """The kernel for heads of a width, which its loops are unrolled for."""
    found = _kernels.get((name, width))
    if found is None:
        source = FORWARD if name == "flash" else BACKWARD
        found = _kernels[name, width] = kernel(f"{name}{width}", source)
        found.define = f"#define D {width}\n"
    return found


def suits(q: Any, k: Any, v: Any) -> bool:
    """Whether these can be done by the kernels."""
    for x in (q, k, v):
        if type(x) is not CudaArray or x.ndim not in (3, 4) or not x.size:
            return False
        if x.dtype != q.dtype or x.strides[-1] != x.dtype.itemsize:
            return False
    if q.dtype.char not in "fd" or k.shape != v.shape or k.shape[:-2] != q.shape[:-2]:
        return False
    width, longest = q.shape[-1], max(q.shape[-2], k.shape[-2])
    if k.shape[-1] != width or width > _WIDEST or longest > _LONGEST:
        return False
    return _bytes(longest, width, q.dtype.itemsize) <= _SHARED


def _bytes(longest: int, width: int, size: int) -> int:
    return size * longest * (2 * (width + 1) + 1)


def steps(x: Any) -> tuple[int, int, int]:
    """Strides in elements: from batch to batch, head to head, row to row."""
    size, strides = x.dtype.itemsize, x.strides
    if len(strides) == 3:
        return 0, strides[0] // size, strides[1] // size
    return strides[0] // size, strides[1] // size, strides[2] // size


def _threads(longest: int) -> int:
    return min(256, 32 * ((4 * longest + 31) // 32))


def in_rows(shape: Any, dtype: Any) -> Any:
    """Room for heads, with those of a position side by side: as the layer after them reads it."""
    if len(shape) == 3:
        return new(shape, dtype)
    b, h, t, d = shape
    return transposed(new((b, t, h, d), dtype), (0, 2, 1, 3))


def forward(q: Any, k: Any, v: Any, scale: float, causal: bool) -> Any:
    """What attention gives, and the largest score and the sum of exponentials of each query."""
    shape, dtype = q.shape, q.dtype
    heads, queries, width = shape[-3:]
    keys = k.shape[-2]
    out = in_rows(shape, dtype)
    lead = (*shape[:-1], 1)
    bests, totals = new(lead, dtype), new(lead, dtype)
    longest = max(queries, keys)
    of_width("flash", width)(
        dtype.char, bests.size // queries, _threads(longest), q.ptr, k.ptr, v.ptr, out.ptr, bests.ptr, totals.ptr,
        heads, queries, keys, scale, causal, *steps(q), *steps(k), *steps(v), *steps(out),
        shared=_bytes(longest, width, dtype.itemsize),
    )  # fmt: skip
    return out, bests, totals


def backward(
    g: Any, q: Any, k: Any, v: Any, bests: Any, totals: Any, scale: float, causal: bool
) -> Any:
    """The gradients of q, k and v; side by side in memory where they are of one shape."""
    shape, dtype = q.shape, q.dtype
    heads, queries, width = shape[-3:]
    keys = k.shape[-2]
    dq, dk, dv = gradients_of(q, k, v)
    longest = max(queries, keys)
    of_width("flash_back", width)(
        dtype.char, bests.size // queries, _threads(longest), g.ptr, q.ptr, k.ptr, v.ptr, bests.ptr, totals.ptr,
        dq.ptr, dk.ptr, dv.ptr, heads, queries, keys, scale, causal, *steps(g), *steps(q), *steps(k), *steps(v),
        *steps(dq), *steps(dk),
        shared=_bytes(longest, width, dtype.itemsize),
    )  # fmt: skip
    return dq, dk, dv


def gradients_of(q: Any, k: Any, v: Any) -> Any:
    """Room for the gradients of q, k and v: side by side in memory where they are of one shape."""
    shape, dtype = q.shape, q.dtype
    if shape == k.shape == v.shape and len(shape) == 4:
        b, h, t, d = shape
        return _parts(new((b, t, 3, h, d), dtype), shape)
    return [in_rows(x.shape, dtype) for x in (q, k, v)]


def _parts(whole: Any, shape: tuple[int, ...]) -> list[Any]:
    """Three arrays of heads in one of positions, each position with its three parts."""
    _, h, t, d = shape
    size = whole.dtype.itemsize
    strides = (3 * t * h * d * size, d * size, 3 * h * d * size, size)
    return [whole.strided(shape, strides, i * h * d * size) for i in range(3)]


def dense_rows(g: Any) -> Any:
    """A gradient whose rows are contiguous."""
    if g.strides[-1] == g.dtype.itemsize:
        return g
    return wrap(cuda_array.backend.cupy.ascontiguousarray(g.raw))
