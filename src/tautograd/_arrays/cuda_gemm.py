"""Matrix products by one call of cuBLAS each, on the factors where they lie.

A row-major product is, to cuBLAS, the transposed product of the transposed factors; a factor whose
columns are contiguous goes in as a transposed one, so neither is copied. Batches go in as one call
where their matrices are evenly spaced.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

_NO_TRANS, _TRANS = 0, 1
_TF32 = 3  # CUBLAS_TF32_TENSOR_OP_MATH
_DEFAULT = 0
# Codes of cudaDataType and cublasComputeType.
_TYPES = {"e": 2, "E": 14, "f": 0, "d": 1}
_COMPUTE_32F = 68
_GEMM_DEFAULT = -1


class Gemm:
    """`gemm(x, y, out)`: the product, or None where cuBLAS has no such call."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.cublas = importlib.import_module("cupy_backends.cuda.libs.cublas")
        self.handle_of = cupy.cuda.device.get_cublas_handle
        self.empty = cupy.ndarray  # as cupy.empty does, without its checks
        names = {"f": "s", "d": "d", "F": "c", "D": "z"}
        self.calls = {
            code: (getattr(self.cublas, f"{n}gemm"), getattr(self.cublas, f"{n}gemmStridedBatched"))
            for code, n in names.items()
        }
        self._numbers = {
            code: (np.ones(1, code), np.zeros(1, code)) for code in (*names, "f")
        }  # in main memory, where cuBLAS reads them
        self.one = {c: a.ctypes.data for c, (a, _) in self._numbers.items()}
        self.zero = {c: b.ctypes.data for c, (_, b) in self._numbers.items()}
        self.half = {np.dtype(np.float16).char, "E"}

    def set_tf32(self, allowed: bool) -> None:
        """Whether float32 products may be computed from factors of ten bits."""
        self.cublas.setMathMode(self.handle_of(), _TF32 if allowed else _DEFAULT)

    def __call__(self, x: Any, y: Any, out: Any = None, add: bool = False) -> Any:
        """`x @ y`, into `out` if given, added to what is there if asked to."""
        dtype = x.dtype
        code = dtype.char
        if y.dtype != dtype or (code not in self.calls and code not in self.half):
            return None
        rank, other = x.ndim, y.ndim
        if rank == 2 and other == 2:
            return self._matrices(x, y, out, code, add)
        if rank < 2 or other < 2 or code in self.half:
            return None
        return self._batches(x, y, out, code)

    def _matrices(self, x: Any, y: Any, out: Any, code: str, add: bool) -> Any:
        m, k = x.shape
        n = y.shape[1]
        if y.shape[0] != k or not (m and n and k):
            return None
        if out is None:
            out = self.empty((m, n), x.dtype)
        elif out.dtype != x.dtype or not out.flags.c_contiguous or out.shape != (m, n):
            return None
        size = x.dtype.itemsize
        x, turn_x, lead_x = self._placed(x, m, k, size)
        y, turn_y, lead_y = self._placed(y, k, n, size)
        handle = self.handle_of()
        if code in self.half:
            kind = _TYPES["e" if code == "e" else "E"]
            self.cublas.gemmEx(
                handle, turn_y, turn_x, n, m, k, self.one["f"], y.data.ptr, kind, lead_y,
                x.data.ptr, kind, lead_x, self.one["f"] if add else self.zero["f"], out.data.ptr, kind,
                n, _COMPUTE_32F, _GEMM_DEFAULT,
            )  # fmt: skip
            return out
        self.calls[code][0](
            handle, turn_y, turn_x, n, m, k, self.one[code], y.data.ptr, lead_y, x.data.ptr, lead_x,
            self.one[code] if add else self.zero[code], out.data.ptr, n,
        )  # fmt: skip
        return out

    def _placed(self, x: Any, rows: int, columns: int, size: int) -> tuple[Any, int, int]:
        """A matrix as cuBLAS can read it: (array, whether transposed, leading dimension)."""
        step, along = x.strides
        if (along == size or columns == 1) and step >= columns * size:
            return x, _NO_TRANS, step // size
        if (step == size or rows == 1) and along >= rows * size:
            return x, _TRANS, along // size
        return self.cupy.ascontiguousarray(x), _NO_TRANS, columns

    def _batches(self, x: Any, y: Any, out: Any, code: str) -> Any:
        if x.ndim == 2 or y.ndim == 2:
            return self._one_matrix(x, y, out, code)
        batch = x.shape[:-2]
        if y.shape[:-2] != batch:
            return None
        m, k = x.shape[-2:]
        n = y.shape[-1]
        count = 1
        for extent in batch:
            count *= extent
        if y.shape[-2] != k or not (m and n and k and count):
            return None
        if out is None:
            out = self.empty((*batch, m, n), x.dtype)
        elif out.dtype != x.dtype or not out.flags.c_contiguous or out.shape != (*batch, m, n):
            return None
        size = x.dtype.itemsize
        x, turn_x, lead_x, step_x = self._spaced(x, m, k, size)
        y, turn_y, lead_y, step_y = self._spaced(y, k, n, size)
        self.calls[code][1](
            self.handle_of(), turn_y, turn_x, n, m, k, self.one[code], y.data.ptr, lead_y, step_y,
            x.data.ptr, lead_x, step_x, self.zero[code], out.data.ptr, n, m * n, count,
        )  # fmt: skip
        return out

    def _spaced(self, x: Any, rows: int, columns: int, size: int) -> tuple[Any, int, int, int]:
        """A batch as cuBLAS can read it: `_placed`, and how far apart its matrices are."""
        *_, apart, step, along = x.strides
        if x.ndim > 3 and not self._even(x):
            apart = -1
        if apart >= 0:
            if (along == size or columns == 1) and step >= columns * size:
                return x, _NO_TRANS, step // size, apart // size
            if (step == size or rows == 1) and along >= rows * size:
                return x, _TRANS, along // size, apart // size
        x = self.cupy.ascontiguousarray(x)
        return x, _NO_TRANS, columns, rows * columns

    @staticmethod
    def _even(x: Any) -> bool:
        """Whether the matrices of a batch of several dimensions are evenly spaced."""
        apart, count = x.strides[-3], x.shape[-3]
        for dim in range(x.ndim - 4, -1, -1):
            if x.shape[dim] != 1 and x.strides[dim] != apart * count:
                return False
            count *= x.shape[dim]
        return True

    def _one_matrix(self, x: Any, y: Any, out: Any, code: str) -> Any:
        """A batch times one matrix: the batch's rows end to end."""
        if y.ndim != 2 or not x.flags.c_contiguous or out is not None:
            return None
        found = self._matrices(x.reshape(-1, x.shape[-1]), y, None, code, False)
        return None if found is None else found.reshape(*x.shape[:-1], y.shape[1])
