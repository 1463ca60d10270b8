"""Products and their gradients by one call each, parts put together, rows of an embedding added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import cuda_array
from ..._arrays.cuda_array import CudaArray, wrap
from .launch import THREADS, blocks_for, dense, empty, kernel, raws
from .specialise import forward_of, rule_of

# So many comparisons at most are made to add rows up in order, without atomic additions.
_MOST_LOOKS = 1 << 26

ADD_BIAS = kernel(
    "add_bias",
    r"""(T* out, const T* bias, Int n, Int width) {
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += bias[i % width];
}""",
)
# A block for each row of the table looks for its number among the indices; the sum is in their order.
ROW_SUMS = kernel(
    "row_sums",
    r"""(const T* values, const Int* index, T* out, Int count, Int width, Int padding) {
  __shared__ Int found[256];
  __shared__ int many;
  Int row = blockIdx.x;
  T total[8];
  for (int k = 0; k < 8; ++k) total[k] = 0;
  for (Int start = 0; start < count; start += blockDim.x) {
    Int at = start + threadIdx.x;
    bool mine = at < count && index[at] == row && row != padding;
    unsigned votes = __ballot_sync(0xffffffffu, mine);
    __shared__ int before[8];
    if ((threadIdx.x & 31) == 0) before[threadIdx.x >> 5] = __popc(votes);
    __syncthreads();
    int place = __popc(votes & ((1u << (threadIdx.x & 31)) - 1));
    for (int w = 0; w < (threadIdx.x >> 5); ++w) place += before[w];
    if (mine) found[place] = at;
    if (threadIdx.x == 0) { many = 0; for (int w = 0; w < (blockDim.x >> 5); ++w) many += before[w]; }
    __syncthreads();
    for (int f = 0; f < many; ++f) {
      const T* from = values + found[f] * width;
      int k = 0;
      for (Int c = threadIdx.x; c < width; c += blockDim.x) total[k++] += from[c];
    }
    __syncthreads();
  }
  int k = 0;
  for (Int c = threadIdx.x; c < width; c += blockDim.x) out[row * width + c] = total[k++];
}""",
)


def _addmm(
    input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1, columns: bool = False
) -> Any:
    if beta != 1 or alpha != 1 or type(mat1) is not CudaArray or type(mat2) is not CudaArray:
        return None
    given = raws(input)
    if given is None or given[0].dtype != mat1.raw.dtype:
        return None
    (bias,) = given
    if bias.shape != mat2.raw.shape[1:]:
        return None
    out = cuda_array.backend.gemm(mat1.raw, mat2.raw)
    if out is None:
        return None
    ADD_BIAS(out.dtype.char, blocks_for(out.size), THREADS, out, bias, out.size, bias.size)
    return wrap(out)


def _times_turned(g: Any, mat2: Any) -> Any:
    """g mat2ᵀ"""
    if type(mat2) is not CudaArray or mat2.raw.dtype.char not in "fd":
        return None
    found = cuda_array.backend.gemm(g.raw, mat2.raw.T)
    return None if found is None else wrap(found)


def _turned_times(g: Any, mat1: Any, columns: bool) -> Any:
    """mat1ᵀ g, lying by columns if asked to."""
    if type(mat1) is not CudaArray or mat1.raw.dtype.char not in "fd":
        return None
    gemm = cuda_array.backend.gemm
    found = gemm(g.raw.T, mat1.raw) if columns else gemm(mat1.raw.T, g.raw)
    return None if found is None else wrap(found.T if columns else found)


def _unbound(g: Any, dim: int) -> Any:
    """The gradients of parts as that of the whole: no copy where they lie side by side already."""
    first = g[0].raw
    step = g[1].raw.data.ptr - first.data.ptr if len(g) > 1 else 0
    for i, part in enumerate(g):
        raw = part.raw
        if raw.shape != first.shape or raw.strides != first.strides or raw.dtype != first.dtype:
            return None
        if raw.data.ptr != first.data.ptr + i * step or raw.data.mem is not first.data.mem:
            return None
    if step <= 0 or not first.size:
        return None
    shape, strides = list(first.shape), list(first.strides)
    shape.insert(dim, len(g))
    strides.insert(dim, step)
    return wrap(cuda_array.backend.strided(first, shape, strides, 0))


def _row_sums(values: Any, index: Any, count: int, padding_idx: int, scale: bool) -> Any:
    if scale or type(index) is not CudaArray or index.raw.dtype != np.int64:
        return None
    given = raws(dense(values))
    if given is None or not index.raw.flags.c_contiguous:
        return None
    (values,) = given
    rows, width = values.shape
    if width > 8 * THREADS or rows * count > _MOST_LOOKS:
        return None
    out = empty((count, width), values.dtype)
    ROW_SUMS(values.dtype.char, count, THREADS, values, index.raw, out, rows, width, padding_idx)
    return wrap(out)


def install() -> None:
    """Put these in place."""
    forward_of("addmm")(_addmm)
    rule_of("addmm", "mat1")(lambda g, mat2, alpha: _times_turned(g, mat2) if alpha == 1 else None)
    rule_of("addmm", "mat2")(
        lambda g, mat1, alpha, columns: _turned_times(g, mat1, columns) if alpha == 1 else None
    )
    rule_of("mm", "mat1")(lambda g, mat2: _times_turned(g, mat2))
    rule_of("mm", "mat2")(lambda g, mat1, columns: _turned_times(g, mat1, columns))
    rule_of("unbind", "x")(lambda g, dim: _unbound(g, dim))
    forward_of("embedding_dense_backward")(_row_sums)
