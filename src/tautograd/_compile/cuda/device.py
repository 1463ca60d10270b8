"""What a program asks of a GPU: memory, copies, kernels from source. CuPy's is here, the tests have another."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import new, wrap

_TO_DEVICE, _WITHIN_DEVICE = 1, 3  # cudaMemcpyKind
# Each operation is rounded by itself, as it is where operations run one by one.
_OPTIONS = ("--std=c++17", "--fmad=false")


class Device:
    """A GPU by CuPy."""

    can_capture = True

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.runtime = cupy.cuda.runtime
        self.current_stream = cupy.cuda.get_current_stream

    def stream(self) -> int:
        """The current stream."""
        return int(self.current_stream().ptr)

    def allocate(self, nbytes: int) -> Any:
        """Bytes of memory, as an array of CuPy's."""
        return self.cupy.empty(max(nbytes, 1), np.uint8)

    def address(self, raw: Any) -> int:
        return int(raw.data.ptr)

    def piece(self, raw: Any, offset: int, nbytes: int) -> Any:
        """A part of an allocation, as memory that an array can be made over."""
        return raw.data + offset

    def apart(self, raw: Any, offset: int, nbytes: int) -> Any:
        """A part of an allocation as one of its own, which keeps the whole alive."""
        memory = self.cupy.cuda.UnownedMemory(self.address(raw) + offset, nbytes, raw)
        start = self.cupy.cuda.MemoryPointer(memory, 0)
        return self.cupy.ndarray((nbytes,), np.uint8, start)

    def placed(self, raw: Any, shape: Any, dtype: Any, offset: int, strides: Any) -> Any:
        """An array over bytes of memory."""
        return wrap(self.cupy.ndarray(shape, dtype, raw.data + offset, strides))

    def zero(self, raw: Any) -> None:
        raw.fill(0)

    def send(self, address: int, source: int, nbytes: int) -> None:
        """Bytes of main memory to an address; they may change as soon as this returns."""
        self.runtime.memcpyAsync(address, source, nbytes, _TO_DEVICE, self.current_stream().ptr)

    def copy(self, address: int, source: int, nbytes: int) -> None:
        """Bytes from one place to another."""
        self.runtime.memcpyAsync(address, source, nbytes, _WITHIN_DEVICE, self.current_stream().ptr)

    def copied(self, array: Any) -> Any:
        """A copy of an array that lies by rows."""
        out = new(array.shape, array.dtype)
        if array.size:
            self.copy(out.ptr, array.ptr, array.nbytes)
        return out

    def functions(self, source: str, names: Iterable[str]) -> dict[str, Any]:
        """Kernels by their names, compiled from one source."""
        module = self.cupy.RawModule(code=source, options=_OPTIONS)
        return {name: module.get_function(name).kernel for name in names}

    def product(self, left: Any, right: Any, out: Any, adds: bool) -> bool:
        """A product by cuBLAS; False where it has no such call."""
        return cuda_array.backend.gemm(left, right, out, adds) is not None

    def affine(self, left: Any, right: Any, bias: Any, out: Any) -> bool:
        """A product and a row that is added to each of its rows by cuBLASLt; False where it has no such call."""
        return cuda_array.backend.gemm.affine(left, right, bias, out) is not None


@cache
def _of_cupy(cupy: Any) -> Device:
    return Device(cupy)


def device() -> Any:
    """The GPU that programs run on."""
    backend = cuda_array.backend
    return getattr(backend, "device", None) or _of_cupy(backend.cupy)
