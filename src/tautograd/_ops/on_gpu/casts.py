"""Casts between float32 and half precision: one launch, which reads and writes sixteen bytes at once.

Mixed precision casts every activation and weight of a step; CuPy's cast takes several times as long in Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda.calls import QUICK
from ..._arrays.cuda.cuda_array import CudaArray, new
from ..._arrays.cuda.views import bytes_by_rows, transposed
from ..._arrays.formats import preserve_format
from .launch import THREADS, kernel
from .specialise import forward_of

_EACH = 8  # elements of a thread

NARROWED = kernel(
    "narrowed",
    r"""(const float* a, S* r, Int n, Int wide) {
  struct alignas(16) Four { float at[4]; };
  Int i = ((Int)blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (wide && i + 8 <= n) {
    Four first = *(const Four*)(a + i), second = *(const Four*)(a + i + 4);
    Pack found;
    for (int k = 0; k < 4; ++k) { found.at[k] = first.at[k]; found.at[k + 4] = second.at[k]; }
    *(Pack*)(r + i) = found;
  } else for (Int j = i; j < n && j < i + 8; ++j) r[j] = a[j];
}""",
    "eE",
)
WIDENED = kernel(
    "widened",
    r"""(const S* a, float* r, Int n, Int wide) {
  struct alignas(16) Four { float at[4]; };
  Int i = ((Int)blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (wide && i + 8 <= n) {
    Pack given = *(const Pack*)(a + i);
    Four first, second;
    for (int k = 0; k < 4; ++k) { first.at[k] = given.at[k]; second.at[k] = given.at[k + 4]; }
    *(Four*)(r + i) = first;
    *(Four*)(r + i + 4) = second;
  } else for (Int j = i; j < n && j < i + 8; ++j) r[j] = a[j];
}""",
    "eE",
)


def _order_in_memory(x: Any) -> tuple[int, ...] | None:
    """The order of dimensions in which elements lie one after the other, or None."""
    order = tuple(sorted(range(len(x.shape)), key=lambda d: -x.strides[d]))
    return order if transposed(x, order).dense else None


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """`np.astype` of arrays without gaps, which stay as they lie; None for any other."""
    if type(x) is not CudaArray or not x.size:
        return None
    given, wanted = x.dtype.char, np.dtype(dtype)
    if wanted.char in "eE" and given == "f":
        found, code = NARROWED, wanted.char
    elif wanted.char == "f" and given in "eE":
        found, code = WIDENED, given
    else:
        return None
    if x.dense:
        out = new(x.shape, wanted)
    else:
        order = _order_in_memory(x)
        if order is None:
            return None
        back = tuple(sorted(range(len(order)), key=order.__getitem__))
        out = transposed(new(tuple([x.shape[d] for d in order]), wanted), back)
    n = x.size
    wide = x.ptr % 16 == 0
    found(code, (n + _EACH * THREADS - 1) // (_EACH * THREADS), THREADS, x.ptr, out.ptr, n, wide)
    return out


def _to_copy(x: Any, dtype: Any, memory_format: Any) -> Any:
    """The record's forward, where the elements lie as arrays are made to."""
    if memory_format is not preserve_format or x.strides != bytes_by_rows(x.shape, x.itemsize):
        return None
    return _astype(x, dtype)


def install() -> None:
    """Put these in place."""
    forward_of("to_copy")(_to_copy)
    QUICK[np.astype] = _astype
