"""Matrix products by cuBLAS: one `gemm` call, whatever the factors' layout.

CuPy's own `matmul` takes longer to prepare a call than a small product takes to run. Here a row- or
column-major matrix goes to cuBLAS without a copy, and the result is row-major. float32 is computed as
float32 (no TF32) unless `set_float32_matmul_precision` says otherwise; half precision is accumulated in
float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import cuda_array
from .cuda_array import CudaArray


def affine(x: Any, y: Any, bias: Any) -> Any:
    """`x @ y + bias` of two matrices and a row on a GPU, in one call if possible."""
    found = cuda_array.backend.gemm.affine(x, y, bias)
    if found is not None:
        return found
    found = np.matmul(x, y)
    add_row(found, bias)
    return found


def add_row(out: Any, bias: Any) -> None:
    """Add a row to each row of a matrix, in float32 if it is narrower."""
    wide = np.result_type(out.dtype, np.float32)
    np.copyto(out, np.add(np.astype(out, wide), np.astype(bias, wide)), casting="unsafe")


def quick_matmul(backend: Any) -> Any:
    """`np.matmul` on the engine's arrays; None if there is no such product."""

    def matmul(x: Any, y: Any, out: Any = None) -> Any:
        if type(x) is not CudaArray or type(y) is not CudaArray:
            return None
        if out is not None and type(out) is not CudaArray:
            return None
        return backend.gemm(x, y, out)

    return matmul


def matmul_for(backend: Any) -> Any:
    """`np.matmul` on this backend's arrays, for what `quick_matmul` does not handle."""
    plain = backend.cupy.matmul

    def matmul(x: Any, y: Any, out: Any = None, **options: Any) -> Any:
        if x.ndim == 1 and y.ndim == 1 and not x.size:
            return backend.cupy.zeros((), np.result_type(x.dtype, y.dtype))
        return plain(x, y, **({} if out is None else {"out": out}), **options)

    return matmul
