"""A layer of LSTM: for each step one product by cuBLAS and one kernel, forward and backward.

The products with the input, and those that give the gradients of weights, are one for all steps, as in the record.
Addresses are counted here, so that a step is two launches and nothing else.
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


def _suits(x: Any, sizes: tuple[int, ...], w_hr: Any, *others: Any) -> bool:
    """Whether all sequences are of one length, and all arrays are what kernels take."""
    if w_hr is not None or sizes[0] != sizes[-1] or type(x) is not CudaArray:
        return False
    return x.dtype.char in "fd" and fit(*[v for v in others if v is not None], x)


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
    blocks, product = blocks_for(n), gemm.rows_by(code, batch, 4 * width, width, True)
    weight, b1, b2 = w_hh.ptr, address_of(b_ih), address_of(b_hh)
    state, cell, last = h.ptr, c.ptr, 0
    for step in range(len(sizes)):
        at = len(sizes) - 1 - step if reverse else step
        last = at * row
        gate = gates.ptr + 4 * last
        product(state, weight, gate, True)
        STEP(code, blocks, THREADS, gate, b1, b2, cell, cells.ptr + last, outs.ptr + last, n, width)
        state, cell = outs.ptr + last, cells.ptr + last
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
    blocks, product = blocks_for(n), gemm.rows_by(code, batch, width, 4 * width, False)
    state = dh.ptr
    for step in range(len(sizes) - 1, -1, -1):
        at = len(sizes) - 1 - step if reverse else step
        earlier = at + 1 if reverse else at - 1
        before = cells.ptr + earlier * row if step else c.ptr
        slope = slopes.ptr + 4 * at * row
        STEP_BACK(
            code, blocks, THREADS, pull.ptr + at * row, state, moved.ptr, gates.ptr + 4 * at * row,
            cells.ptr + at * row, before, slope, n, width,
        )  # fmt: skip
        product(slope, w_hh.ptr, room.ptr, False)
        state = room.ptr
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
