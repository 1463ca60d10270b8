"""A layer of LSTM: for each step one kernel, which multiplies by the weights, too; of large steps cuBLAS does that.

The products with the input, and those that give the gradients of weights, are one for all steps, as in the record.
Addresses are counted here, so that a step is a launch or two and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import CudaArray, new
from ..nn.recurrent.recurrence import Steps, flat
from .launch import THREADS, address_of, blocks_for, dense, fit, kernel
from .specialise import forward_of, rule_of

STEP = kernel(
    "lstm_step",
    r"""(T* gates, const T* b1, const T* b2, const T* before, T* cells, T* outs, Int n, Int width) {
  Int k = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  Int j = k % width;
  gates += k / width * 4 * width + j;
  T v[4];
  for (int q = 0; q < 4; ++q) {
    T s = gates[q * width];
    if (b1) s += b1[q * width + j] + b2[q * width + j];
    v[q] = q == 2 ? tanh(s) : (T)1 / ((T)1 + exp(-s));
    gates[q * width] = v[q];
  }
  T c = v[1] * before[k] + v[0] * v[2];
  cells[k] = c;
  outs[k] = v[3] * tanh(c);
}""",
)
# `dh` and `dc` are the gradients of the state after the step, `pull` that of its output.
STEP_BACK = kernel(
    "lstm_step_back",
    r"""(const T* pull, const T* dh, T* dc, const T* gates, const T* cells, const T* before, T* slopes, Int n,
     Int width) {
  Int k = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  Int at = k / width * 4 * width + k % width;
  gates += at; slopes += at;
  T i = gates[0], f = gates[width], a = gates[2 * width], o = gates[3 * width];
  T t = tanh(cells[k]), h = dh[k] + pull[k];
  T c = dc[k] + h * o * ((T)1 - t * t);
  slopes[0] = c * a * i * ((T)1 - i);
  slopes[width] = c * before[k] * f * ((T)1 - f);
  slopes[2 * width] = c * i * ((T)1 - a * a);
  slopes[3 * width] = h * t * o * ((T)1 - o);
  dc[k] = c * f;
}""",
)


# The same with the product: a block has 16 rows and 8 units, and four groups of threads, each with a quarter of the
# terms of each sum. They are put together in the same order each time.
_ROWS, _UNITS, _THREADS = 16, 8, 512
_FEW = 1 << 26  # multiplications of a step, beyond which cuBLAS takes less time
_TILES = r"""
  const int ROWS = 16, UNITS = 8, GROUPS = 4, MINE = ROWS * UNITS, PACK = 16 / sizeof(T);
  const int DEEP = %d / sizeof(T), TERMS = GROUPS * DEEP, LINE = DEEP / PACK + 1;
  const int t = threadIdx.x, group = t / MINE, mine = t %% MINE, unit = mine %% UNITS, row = mine / UNITS;
  Int across = (width + UNITS - 1) / UNITS;
  Int first_row = blockIdx.x / across * ROWS, first_unit = blockIdx.x %% across * UNITS;
  Int r = first_row + row, j = first_unit + unit;
"""

FUSED = kernel(
    "lstm_step_fused",
    r"""(T* gates, const T* b1, const T* b2, const T* state, const T* weight, const T* before, T* cells, T* outs,
     Int batch, Int width, Int wide) {"""
    + _TILES % 128
    + r"""
  __shared__ Pack left[GROUPS][ROWS][LINE], right[GROUPS][4 * UNITS][LINE];
  __shared__ T parts[GROUPS][4][MINE];
  T sums[4] = {0, 0, 0, 0};
  for (Int at = 0; at < width; at += TERMS) {
    for (int p = t; p < (ROWS + 4 * UNITS) * TERMS / PACK; p += GROUPS * MINE) {
      int line = p / (TERMS / PACK), w = line - ROWS, k = p % (TERMS / PACK);
      bool of_state = line < ROWS;
      Int number = of_state ? first_row + line : first_unit + w % UNITS, start = at + k * PACK;
      bool there = number < (of_state ? batch : width);
      const T* from = (of_state ? state + number * width : weight + (w / UNITS * width + number) * width) + start;
      Pack found;
      if (there && wide && start < width) found = *(const Pack*)from;
      else for (int e = 0; e < PACK; ++e) found.at[e] = there && start + e < width ? from[e] : (T)0;
      int part = k * PACK / DEEP, place = k % (DEEP / PACK);
      if (of_state) left[part][line][place] = found; else right[part][w][place] = found;
    }
    __syncthreads();
    for (int k = 0; k < DEEP / PACK; ++k) {
      Pack x = left[group][row][k];
      for (int q = 0; q < 4; ++q) {
        Pack y = right[group][q * UNITS + unit][k];
        for (int e = 0; e < PACK; ++e) sums[q] += x.at[e] * y.at[e];
      }
    }
    __syncthreads();
  }
  for (int q = 0; q < 4; ++q) parts[group][q][mine] = sums[q];
  __syncthreads();
  if (group || r >= batch || j >= width) return;
  gates += r * 4 * width + j;
  T v[4];
  for (int q = 0; q < 4; ++q) {
    T s = gates[q * width];
    for (int g = 0; g < GROUPS; ++g) s += parts[g][q][mine];
    if (b1) s += b1[q * width + j] + b2[q * width + j];
    v[q] = q == 2 ? tanh(s) : (T)1 / ((T)1 + exp(-s));
    gates[q * width] = v[q];
  }
  T c = v[1] * before[r * width + j] + v[0] * v[2];
  cells[r * width + j] = c;
  outs[r * width + j] = v[3] * tanh(c);
}""",
    "fd",
)
# The gradient of the state is the product of the weight and `later`, the slopes of the step after; of the last step,
# which has none, it is `dh`. Without `slopes` that is all there is to do: the gradient of the first state.
FUSED_BACK = kernel(
    "lstm_step_back_fused",
    r"""(const T* later, const T* weight, T* dh, const T* pull, T* dc, const T* gates, const T* cells,
     const T* before, T* slopes, Int batch, Int width, Int wide) {"""
    + _TILES % 256
    + r"""
  __shared__ Pack left[GROUPS][ROWS][LINE], right[GROUPS][UNITS][LINE];
  __shared__ T parts[GROUPS][MINE];
  Int terms = 4 * width;
  T sum = 0;
  if (later) for (Int at = 0; at < terms; at += TERMS) {
    for (int p = t; p < ROWS * TERMS / PACK; p += GROUPS * MINE) {
      int line = p / (TERMS / PACK), k = p % (TERMS / PACK);
      bool there = first_row + line < batch;
      Int start = at + k * PACK;
      const T* from = later + (first_row + line) * terms + start;
      Pack found;
      if (there && wide && start < terms) found = *(const Pack*)from;
      else for (int e = 0; e < PACK; ++e) found.at[e] = there && start + e < terms ? from[e] : (T)0;
      left[k * PACK / DEEP][line][k % (DEEP / PACK)] = found;
    }
    for (int p = t; p < UNITS * TERMS; p += GROUPS * MINE) {
      int k = p / UNITS, u = p % UNITS;
      bool there = at + k < terms && first_unit + u < width;
      right[k / DEEP][u][k % DEEP / PACK].at[k % PACK] = there ? weight[(at + k) * width + first_unit + u] : (T)0;
    }
    __syncthreads();
    for (int k = 0; k < DEEP / PACK; ++k) {
      Pack x = left[group][row][k], y = right[group][unit][k];
      for (int e = 0; e < PACK; ++e) sum += x.at[e] * y.at[e];
    }
    __syncthreads();
  }
  parts[group][mine] = sum;
  __syncthreads();
  if (group || r >= batch || j >= width) return;
  Int k = r * width + j, at = r * 4 * width + j;
  T h = later ? (T)0 : dh[k];
  if (later) for (int g = 0; g < GROUPS; ++g) h += parts[g][mine];
  if (!slopes) { dh[k] = h; return; }
  gates += at; slopes += at;
  T i = gates[0], f = gates[width], a = gates[2 * width], o = gates[3 * width];
  T s = tanh(cells[k]);
  h += pull[k];
  T c = dc[k] + h * o * ((T)1 - s * s);
  slopes[0] = c * a * i * ((T)1 - i);
  slopes[width] = c * before[k] * f * ((T)1 - f);
  slopes[2 * width] = c * i * ((T)1 - a * a);
  slopes[3 * width] = h * s * o * ((T)1 - o);
  dc[k] = c * f;
}""",
    "fd",
)


def _fused_blocks(batch: int, width: int) -> int:
    """Blocks of a step with its product, or 0 where cuBLAS had better do that."""
    if 4 * batch * width * width > _FEW:
        return 0
    return -(-batch // _ROWS) * -(-width // _UNITS)


def _suits(x: Any, sizes: tuple[int, ...], w_hr: Any, *others: Any) -> bool:
    """Whether all sequences are of one length, and all arrays are what kernels take."""
    if w_hr is not None or sizes[0] != sizes[-1] or type(x) is not CudaArray:
        return False
    return x.dtype.char in "fd" and fit(*[v for v in others if v is not None], x)


def _are_even(dtype: Any, width: int, *arrays: Any) -> bool:
    """Whether each row of these begins where sixteen bytes do."""
    return not (width * int(dtype.itemsize) % 16 or any(a.ptr % 16 for a in arrays))


def _lstm(
    x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, w_hr: Any, sizes: tuple[int, ...],
    reverse: bool,
) -> Any:  # fmt: skip
    x, h, c, w_ih, w_hh, b_ih, b_hh = map(dense, (x, h, c, w_ih, w_hh, b_ih, b_hh))
    if not _suits(x, sizes, w_hr, h, c, w_ih, w_hh, b_ih, b_hh):
        return None
    gemm, dtype, code = cuda_array.backend.gemm, x.dtype, x.dtype.char
    batch, width = c.shape
    gates = gemm.by_turned(flat(x), w_ih)
    if gates is None:
        return None
    count = len(sizes) * batch
    cells, outs = new((count, width), dtype), new((count, width), dtype)
    n, row = batch * width, batch * width * dtype.itemsize
    fused, blocks = _fused_blocks(batch, width), blocks_for(n)
    product: Any = None if fused else gemm.rows_by(code, batch, 4 * width, width, True)
    weight, b1, b2 = w_hh.ptr, address_of(b_ih), address_of(b_hh)
    wide = _are_even(dtype, width, h, outs, w_hh)
    state, cell, last = h.ptr, c.ptr, 0
    for step in range(len(sizes)):
        at = len(sizes) - 1 - step if reverse else step
        last = at * row
        gate, to, out = gates.ptr + 4 * last, cells.ptr + last, outs.ptr + last
        if fused:
            FUSED(
                code, fused, _THREADS, gate, b1, b2, state, weight, cell, to, out, batch, width, wide
            )  # fmt: skip
        else:
            product(state, weight, gate, True)
            STEP(code, blocks, THREADS, gate, b1, b2, cell, to, out, n, width)
        state, cell = out, to
    finals = [
        np.copy(v.strided((batch, width), (width * dtype.itemsize, dtype.itemsize), last))
        for v in (outs, cells)
    ]
    shape = (*x.shape[:-1], width)
    return np.reshape(outs, shape), *finals, gates, cells


def _lstm_back(
    g: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, w_hr: Any, out0: Any,
    out3: Any, out4: Any, sizes: tuple[int, ...], reverse: bool, needs: Any,
) -> Any:  # fmt: skip
    pull, dh, dc = (dense(v) for v in g[:3])
    x, h, c, w_ih, w_hh, outs, gates, cells = map(dense, (x, h, c, w_ih, w_hh, out0, out3, out4))
    if not _suits(x, sizes, w_hr, pull, dh, dc, h, c, w_ih, w_hh, outs, gates, cells):
        return None
    gemm, dtype, code = cuda_array.backend.gemm, x.dtype, x.dtype.char
    batch, width = c.shape
    slopes = new((len(sizes) * batch, 4 * width), dtype)
    room: Any = new((batch, width), dtype)
    moved: Any = np.copy(dc)  # written over at each step
    n, row = batch * width, batch * width * dtype.itemsize
    fused, blocks = _fused_blocks(batch, width), blocks_for(n)
    product: Any = None if fused else gemm.rows_by(code, batch, width, 4 * width, False)
    state, later, weight = dh.ptr, 0, w_hh.ptr
    wide = _are_even(dtype, width, slopes)
    for step in range(len(sizes) - 1, -1, -1):
        at = len(sizes) - 1 - step if reverse else step
        earlier = at + 1 if reverse else at - 1
        given = gates.ptr + 4 * at * row, cells.ptr + at * row
        before = cells.ptr + earlier * row if step else c.ptr
        slope, down = slopes.ptr + 4 * at * row, pull.ptr + at * row
        if fused:
            FUSED_BACK(
                code, fused, _THREADS, later, weight, state, down, moved.ptr, *given, before, slope,
                batch, width, wide,
            )  # fmt: skip
            later = slope
        else:
            STEP_BACK(
                code, blocks, THREADS, down, state, moved.ptr, *given, before, slope, n, width
            )
            product(slope, weight, room.ptr, False)
        state = room.ptr
    if fused:
        FUSED_BACK(
            code, fused, _THREADS, later, weight, room.ptr, 0, 0, 0, 0, 0, 0, batch, width, wide
        )  # fmt: skip
    biased = b_ih is not None and (needs[5] or needs[6])
    bias = np.sum(slopes, axis=0) if biased else None
    earlier_states = Steps(sizes, reverse).before(flat(outs), h) if needs[4] else None
    return (
        np.reshape(gemm(slopes, w_ih), x.shape) if needs[0] else None,
        room if needs[1] else None,
        moved if needs[2] else None,
        gemm.turned(slopes, flat(x)) if needs[3] else None,
        gemm.turned(slopes, earlier_states) if needs[4] else None,
        bias if needs[5] else None,
        bias if needs[6] else None,
        None,
    )


def install() -> None:
    """Put these in place."""
    forward_of("lstm_layer")(_lstm)
    rule_of("lstm_layer")(_lstm_back)
