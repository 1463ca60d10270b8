"""`addmm` with its bias added where the product lies, and rows of an embedding added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import cuda_array
from ..._arrays.cuda_array import CudaArray, wrap
from .launch import THREADS, blocks_for, dense, empty, kernel, raws
from .specialise import forward_of

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
    forward_of("embedding_dense_backward")(_row_sums)
