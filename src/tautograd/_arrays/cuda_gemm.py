"""Matrix products by one call of cuBLAS each, on the factors where they lie.

A row-major product is, to cuBLAS, the transposed product of the transposed factors; a factor whose
columns are contiguous goes in as a transposed one, so neither is copied. Batches go in as one call
where their matrices are evenly spaced.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from .cublas import Cublas, checked, load

_NO_TRANS, _TRANS = 0, 1
_TF32 = 3  # CUBLAS_TF32_TENSOR_OP_MATH
_DEFAULT = 0
# Codes of cudaDataType and cublasComputeType.
_TYPES = {"e": 2, "E": 14, "f": 0, "d": 1}
_COMPUTE_32F = 68
_GEMM_DEFAULT = -1


def _allocator(cupy: Any) -> Any:
    """What gives memory: found anew each time, since a graph's own may be in force."""

    def allocate(size: int) -> Any:
        return cupy.cuda.alloc(size)

    return allocate


class Gemm:
    """`gemm(x, y, out)`: the product, or None where cuBLAS has no such call."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.cublas = importlib.import_module("cupy_backends.cuda.libs.cublas")
        self.empty = cupy.ndarray  # as cupy.empty does, without its checks
        names = {"f": "s", "d": "d", "F": "c", "D": "z"}
        self._numbers = {
            code: (np.ones(1, code), np.zeros(1, code)) for code in names
        }  # in main memory, where cuBLAS reads them
        self.one = {c: a.ctypes.data for c, (a, _) in self._numbers.items()}
        self.zero = {c: b.ctypes.data for c, (_, b) in self._numbers.items()}
        self.half = {np.dtype(np.float16).char, "E"}
        cupy.cuda.device.get_cublas_handle()  # loads the library
        library = load()
        self.own = None
        if library is None:
            self.handle_of = cupy.cuda.device.get_cublas_handle
            self.calls = {
                c: (
                    getattr(self.cublas, f"{n}gemm"),
                    getattr(self.cublas, f"{n}gemmStridedBatched"),
                )
                for c, n in names.items()
            }
            return
        self.own = Cublas(library, _allocator(cupy))
        self.current_stream = cupy.cuda.get_current_stream
        self.handle_of = self._own_handle
        self.calls = {
            c: (
                checked(getattr(library, f"cublas{n.upper()}gemm_v2")),
                checked(getattr(library, f"cublas{n.upper()}gemmStridedBatched")),
            )
            for c, n in names.items()
        }

    def _own_handle(self) -> int:
        return int(self.own.on(self.current_stream().ptr))  # type: ignore[union-attr]

    def set_tf32(self, allowed: bool) -> None:
        """Whether float32 products may be computed from factors of ten bits."""
        mode = _TF32 if allowed else _DEFAULT
        self.cublas.setMathMode(self.cupy.cuda.device.get_cublas_handle(), mode)
        if self.own is not None:
            self.own.set_math_mode(mode)

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
            theirs = self.cupy.cuda.device.get_cublas_handle()
            self.cublas.gemmEx(
                theirs, turn_y, turn_x, n, m, k, self.one["f"], y.data.ptr, kind, lead_y,
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
        if y.ndim == 2:
            return self._one_matrix(x, y, out, code)
        if x.shape[:-2] != y.shape[:-2]:
            try:
                batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
            except ValueError:
                return None
            x = self.cupy.broadcast_to(x, (*batch, *x.shape[-2:]))
            y = self.cupy.broadcast_to(y, (*batch, *y.shape[-2:]))
        batch = x.shape[:-2]
        m, k = x.shape[-2:]
        n = y.shape[-1]
        count = math.prod(batch)
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
        step, along = x.strides[-2:]
        apart = _apart(x)
        if apart >= 0:
            if (along == size or columns == 1) and step >= columns * size:
                return x, _NO_TRANS, step // size, apart // size
            if (step == size or rows == 1) and along >= rows * size:
                return x, _TRANS, along // size, apart // size
        x = self.cupy.ascontiguousarray(x)
        return x, _NO_TRANS, columns, rows * columns

    def _one_matrix(self, x: Any, y: Any, out: Any, code: str) -> Any:
        """A batch times one matrix: the batch's rows end to end."""
        if not x.flags.c_contiguous or out is not None:
            return None
        found = self._matrices(x.reshape(-1, x.shape[-1]), y, None, code, False)
        return None if found is None else found.reshape(*x.shape[:-1], y.shape[1])


def _apart(x: Any) -> int:
    """How many bytes lie between the matrices of a batch, or -1 where that differs."""
    apart, count = -1, 1
    for dim in range(x.ndim - 3, -1, -1):
        extent, stride = x.shape[dim], x.strides[dim]
        if extent == 1:
            continue
        if apart < 0:
            apart = stride
        elif stride != apart * count:
            return -1
        count *= extent
    return max(apart, 0)
