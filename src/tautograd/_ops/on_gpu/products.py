"""Products and their gradients by one call each, parts put together, rows of an embedding found and added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.calls import QUICK
from ..._arrays.cuda.cuda_array import CudaArray, new
from ..._arrays.cuda.gemm import Gemm
from ..._arrays.cuda.products import affine, quick_matmul
from .launch import THREADS, blocks_for, dense, fit, fit_any, kernel
from .specialise import forward_of, is_half, is_recorded, rule_of, takes_half

_FLOAT32 = np.dtype(np.float32)
# So many comparisons at most are made to add rows up in order, without atomic additions.
_MOST_LOOKS = 1 << 26
_MANY_BLOCKS = 1 << 10  # from which on a block has more than one row

ADD_BIAS = kernel(
    "add_bias",
    r"""(S* out, const S* bias, Int n, Int width) {
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = out[i] + bias[i % width];
}""",
)
# A block looks for the numbers of its rows of the table among the indices, and adds up what it found row by row, in
# the order of the indices; so it does whenever it has no room for more.
ROW_SUMS = kernel(
    "row_sums",
    r"""(const T* values, const Int* index, T* out, Int count, Int width, Int rows, Int each, Int padding) {
  const int ROOM = 2048, MOST = 8;
  __shared__ int found[ROOM], before[8];
  __shared__ unsigned char whose[ROOM];
  Int first = blockIdx.x * each, end = first + each < rows ? first + each : rows;
  unsigned begun = 0;
  int many = 0;
  for (Int start = 0; start < count; start += blockDim.x) {
    Int at = start + threadIdx.x, row = at < count ? index[at] : (Int)-1;
    bool mine = row >= first && row < end && row != padding;
    unsigned votes = __ballot_sync(0xffffffffu, mine);
    if ((threadIdx.x & 31) == 0) before[threadIdx.x >> 5] = __popc(votes);
    __syncthreads();
    int place = many + __popc(votes & ((1u << (threadIdx.x & 31)) - 1)), more = 0;
    for (int w = 0; w < (blockDim.x >> 5); ++w) {
      if (w < (threadIdx.x >> 5)) place += before[w];
      more += before[w];
    }
    if (mine) { found[place] = (int)at; whose[place] = (unsigned char)(row - first); }
    many += more;
    __syncthreads();
    bool last = start + blockDim.x >= count;
    if (!last && many + (int)blockDim.x <= ROOM) continue;
    for (int k = 0; k < (int)(end - first); ++k) {
      T total[MOST];
      T* to = out + (first + k) * width;
      bool again = begun >> k & 1, any = !again && last;
      for (int n = 0; n < MOST; ++n) total[n] = 0;
      for (int f = 0; f < many; ++f) {
        if (whose[f] != k) continue;
        any = true;
        const T* from = values + (Int)found[f] * width;
        #pragma unroll
        for (int n = 0; n < MOST; ++n) {
          Int c = threadIdx.x + n * (Int)blockDim.x;
          if (c < width) total[n] += from[c];
        }
      }
      if (!any) continue;
      begun |= 1u << k;
      #pragma unroll
      for (int n = 0; n < MOST; ++n) {
        Int c = threadIdx.x + n * (Int)blockDim.x;
        if (c < width) to[c] = again ? to[c] + total[n] : total[n];
      }
    }
    many = 0;
    __syncthreads();
  }
}""",
)


# A row of a table for each index, which is taken modulo the number of rows.
ROWS_AT = kernel(
    "rows_at",
    r"""(const T* table, const Int* index, T* out, Int n, Int rows, Int width) {
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Int row = index[i / width] % rows;
  out[i] = table[(row < 0 ? row + rows : row) * width + i % width];
}""",
)


def _addmm(
    input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1, columns: bool = False
) -> Any:
    if is_recorded(mat1):
        return _recorded_sum(input, mat1, mat2, beta, alpha)
    if beta != 1 or alpha != 1 or type(mat1) is not CudaArray or type(mat2) is not CudaArray:
        return None
    if not fit_any(input) or input.dtype != mat1.dtype or input.shape != mat2.shape[1:]:
        return None
    gemm = cuda_array.backend.gemm
    out = gemm.affine(mat1, mat2, input)
    if out is not None:
        return out
    out = gemm(mat1, mat2)
    if out is None:
        return None
    size, width = out.size, input.size
    ADD_BIAS(out.dtype.char, blocks_for(size), THREADS, out.ptr, input.ptr, size, width)
    return out


def _recorded_sum(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """A sum as it is recorded: one instruction where cuBLASLt has a call, a product and more in half precision."""
    if beta != 1 or alpha != 1 or not is_recorded(input) or not is_recorded(mat2):
        return None
    dtype = mat1.dtype
    if mat2.dtype != dtype or input.dtype != dtype or not (mat1.size and mat2.size):
        return None
    (rows, _), (_, columns) = mat1.shape, mat2.shape
    is_row = input.shape == (columns,) and columns > 1 and mat1.shape[1] > 1 and rows > 1
    if is_row and (is_half(mat1) or (dtype.char == "f" and rows * columns >= Gemm.fuses_from)):
        return mat1.tape.run(affine, (mat1, mat2, input), {})
    if not is_half(mat1):
        return None
    found = np.matmul(mat1, mat2)
    return np.astype(np.add(np.astype(found, _FLOAT32), np.astype(input, _FLOAT32)), dtype)


def _product(x: Any, y: Any) -> Any:
    """A product of half precision, now or as it is recorded; None where it is of anything else."""
    if type(x) is CudaArray and type(y) is CudaArray:
        return cuda_array.backend.gemm(x, y)
    alike = is_half(x) and is_half(y) and x.dtype == y.dtype
    if not alike or not is_recorded(x) or not is_recorded(y) or not (x.size and y.size):
        return None
    return np.matmul(x, y)


def _are_real(*arrays: Any) -> bool:
    """Whether these are arrays of real numbers on the GPU."""
    for x in arrays:
        if type(x) is not CudaArray or x.dtype.char not in "fdeE":
            return False
    return True


def _batch_times_turned(g: Any, y: Any) -> Any:
    """g yᵀ of batches"""
    return cuda_array.backend.gemm(g, np.swapaxes(y, -1, -2)) if _are_real(g, y) else None


def _turned_batch_times(g: Any, x: Any) -> Any:
    """xᵀ g of batches"""
    return cuda_array.backend.gemm(np.swapaxes(x, -1, -2), g) if _are_real(g, x) else None


def _times_turned(g: Any, mat2: Any) -> Any:
    """g mat2ᵀ"""
    if not _are_real(g, mat2):
        return None
    return cuda_array.backend.gemm.by_turned(g, mat2)


def _turned_times(g: Any, mat1: Any, columns: bool) -> Any:
    """mat1ᵀ g, lying by columns if asked to."""
    if not _are_real(g, mat1):
        return None
    gemm = cuda_array.backend.gemm
    if not columns:
        return gemm.turned(mat1, g)
    found = gemm.turned(g, mat1)
    return None if found is None else found.T


def _unbound(g: Any, dim: int) -> Any:
    """The gradients of parts as that of the whole: no copy where they lie side by side already."""
    first = g[0]
    if first.source is None or not first.size:
        return None
    step = g[1].ptr - first.ptr if len(g) > 1 else 0
    for i, part in enumerate(g):
        if part.shape != first.shape or part.strides != first.strides or part.dtype != first.dtype:
            return None
        if part.ptr != first.ptr + i * step or part.source is not first.source:
            return None
    if step <= 0:
        return None
    shape, strides = list(first.shape), list(first.strides)
    shape.insert(dim, len(g))
    strides.insert(dim, step)
    return first.strided(shape, strides)


def _are_indices(index: Any) -> bool:
    return type(index) is CudaArray and index.dtype == np.int64 and index.dense


def _rows_at(weight: Any, index: Any, padding_idx: int, scale: bool) -> Any:
    if not fit(weight) or not _are_indices(index) or not index.size:
        return None
    rows, width = weight.shape
    out = new((*index.shape, width), weight.dtype)
    size = out.size
    ROWS_AT(
        out.dtype.char, blocks_for(size), THREADS, weight.ptr, index.ptr, out.ptr, size, rows, width
    )
    return out


def _row_sums(values: Any, index: Any, count: int, padding_idx: int, scale: bool) -> Any:
    if scale or not _are_indices(index):
        return None
    values = dense(values)
    if not fit(values):
        return None
    rows, width = values.shape
    if width > 8 * THREADS or rows * count > _MOST_LOOKS:
        return None
    out = new((count, width), values.dtype)
    code = values.dtype.char
    each = min(8, max(1, count // _MANY_BLOCKS))
    ROW_SUMS(
        code, -(-count // each), THREADS, values.ptr, index.ptr, out.ptr, rows, width, count, each,
        padding_idx,
    )  # fmt: skip
    return out


def install() -> None:
    """Put these in place."""
    QUICK[np.matmul] = quick_matmul(cuda_array.backend)
    forward_of("embedding")(_rows_at)
    forward_of("addmm", half=True)(_addmm)
    forward_of("mm", half=True)(lambda mat1, mat2, columns=False: _product(mat1, mat2))
    forward_of("bmm", half=True)(_product)
    rule_of("addmm", "mat1")(lambda g, mat2, alpha: _times_turned(g, mat2) if alpha == 1 else None)
    rule_of("addmm", "mat2")(
        lambda g, mat1, alpha, columns: _turned_times(g, mat1, columns) if alpha == 1 else None
    )
    rule_of("mm", "mat1")(lambda g, mat2: _times_turned(g, mat2))
    rule_of("mm", "mat2")(lambda g, mat1, columns: _turned_times(g, mat1, columns))
    rule_of("bmm", "x")(lambda g, y: _batch_times_turned(g, y))
    rule_of("bmm", "y")(lambda g, x: _turned_batch_times(g, x))
    rule_of("addmm", "input")(lambda g, beta: g if beta == 1 else None)
    for name in ("mm", "bmm", "addmm"):
        takes_half(name)
    rule_of("unbind", "x")(lambda g, dim: _unbound(g, dim))
    forward_of("embedding_dense_backward")(_row_sums)
