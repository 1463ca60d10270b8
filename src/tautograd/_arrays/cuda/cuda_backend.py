"""CuPy as the library underneath `CudaArray`: finding it, calling it, and where it needs a workaround.

CuPy is imported only here, when a CUDA device is first requested.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import ml_dtypes
import numpy as np

from .base import Backend
from .cuda_array import CudaArray, install, wrap
from .gemm import Gemm

_MOST_ARGUMENTS = 64  # of a kernel
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
# Reductions of ufuncs that CuPy has as separate functions.
_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
    "logical_and": "all", "logical_or": "any",
}  # fmt: skip


class Arguments(threading.local):
    """A buffer for a launch's arguments, one per thread: the driver reads them from there."""

    def __init__(self, cupy: Any) -> None:
        room = bytearray(8 * _MOST_ARGUMENTS)
        start = np.frombuffer(room, np.uint8).ctypes.data
        self._places = start + 8 * np.arange(_MOST_ARGUMENTS)  # where the driver reads each
        launch, stream = cupy.cuda.driver.launchKernel, cupy.cuda.get_current_stream
        self.parts = room, int(self._places.ctypes.data), launch, stream
        cupy.cuda.runtime.free(0)  # creates the GPU's context in this thread


class CupyBackend(Backend):
    """CuPy's functions by NumPy's names, and converting arrays in both directions."""

    has_kernels = True
    has_cudnn = True
    _piece: Any = None  # the class of allocations while a function is recorded

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.array = cupy.ndarray
        self.arrays = (cupy.ndarray,)
        self.refusals = (
            TypeError, ValueError, NotImplementedError, AttributeError, IndexError, KeyError,
            np.linalg.LinAlgError, cupy.cuda.compiler.CompileException,
        )  # fmt: skip
        self._special: Any = None
        self._ones: dict[Any, Any] = {}
        self._methods: dict[Any, Any] = {}
        self._resident: dict[int, int] = {}
        self.allocate = cupy.cuda.alloc
        self.gemm = Gemm(self)
        self._arguments = Arguments(cupy)
        probe = cupy.empty(1, np.float32)
        self._holders = getrefcount(probe.data), getrefcount(probe.data.mem)

    def fill(self, ufuncs: dict[Any, Any], functions: dict[Any, Any]) -> None:
        """Register what CuPy does differently from NumPy."""
        from .functions import functions_for
        from .ufuncs import ufuncs_for

        ufuncs.update(ufuncs_for(self))
        functions.update(functions_for(self))

    # --- functions -----------------------------------------------------------------------------------

    def find_ufunc(self, ufunc: Any) -> Any:
        from .calls import UFUNCS
        from .ufuncs import IN_MAIN_MEMORY

        name = ufunc.__name__
        if name in IN_MAIN_MEMORY:
            return None
        if getattr(np, name, None) is ufunc:
            found = getattr(self.cupy, name, None)
        else:
            found = getattr(self.special(), name.lstrip("_"), None)
        if found is not None:
            UFUNCS[ufunc] = found
        return found

    def special(self) -> Any:
        """CuPy's counterpart of `scipy.special`."""
        if self._special is None:
            self._special = importlib.import_module("cupyx.scipy.special")
        return self._special

    def find_method(self, ufunc: Any, method: str) -> Any:
        key = ufunc, method
        if key not in self._methods:
            self._methods[key] = self._method(ufunc, method)
        return self._methods[key]

    def _method(self, ufunc: Any, method: str) -> Any:
        name = ufunc.__name__
        from .ufuncs import METHODS

        if method == "reduce" and name in _REDUCTIONS:
            from .calls import FUNCTIONS

            plain = _REDUCTIONS[name]
            return _reducer(FUNCTIONS.get(getattr(np, plain)) or getattr(self.cupy, plain))

        special = METHODS.get((name, method))
        if special is not None:
            return special(self)
        if method == "accumulate":
            return None
        return getattr(self.find_ufunc(ufunc), method, None)

    def find_function(self, function: Any) -> Any:
        from .calls import FUNCTIONS

        module = function.__module__ or "numpy"
        found: Any = self.cupy
        for part in (*module.split(".")[1:], function.__name__):
            if part[0] == "_":
                continue
            found = getattr(found, part, None)
            if found is None:
                return None
        FUNCTIONS[function] = found
        return found

    # --- elements ------------------------------------------------------------------------------------

    def to_device(self, array: Any) -> Any:
        if self.capture is not None:
            return self.capture.constant(array, self._sent)
        return self._sent(array)

    def _sent(self, array: Any) -> Any:
        if array.dtype == _BFLOAT16:
            return self.cupy.asarray(array.view(np.uint16)).view(_BFLOAT16)
        return self.cupy.asarray(array)

    def to_host(self, raw: Any) -> Any:
        if self.capturing():
            raise RuntimeError(
                "a value was asked for while a CUDA graph is being captured (.item(), .cpu(), print, "
                "an if on a tensor): the GPU has not computed it yet"
            )
        if raw.dtype == _BFLOAT16:
            return raw.view(np.uint16).get(order="A").view(_BFLOAT16)
        return raw.get(order="A")

    def address(self, raw: Any) -> int:
        return int(raw.data.ptr)

    def memory_of(self, raw: Any) -> Any:
        return raw.data.mem

    def whole(self, raw: Any) -> Any:
        memory = raw.data.mem
        start = self.cupy.cuda.MemoryPointer(memory, 0)
        return self.array((memory.size,), np.uint8, start)

    def passing(self) -> Any:
        """Memory from the pool, with each allocation in a weakly referenceable object."""
        cupy = self.cupy
        if self._piece is None:
            base = cupy.cuda.UnownedMemory
            self._piece = type("Piece", (base,), {"__slots__": ("__weakref__",), "passes": True})
        piece, pointer = self._piece, cupy.cuda.MemoryPointer
        pool = cupy.get_default_memory_pool()

        def malloc(size: int) -> Any:
            found = pool.malloc(size)
            return pointer(piece(found.ptr, size, found), 0) if size else found

        return cupy.cuda.using_allocator(malloc)

    def all_of(self, memory: Any) -> Any:
        start = self.cupy.cuda.MemoryPointer(memory, 0)
        return self.array((memory.size,), np.uint8, start)

    def is_sole_owner(self, array: CudaArray) -> bool:
        source = array.source
        if source is not None:
            if getrefcount(source) > 3 or source.source is not None or source.size != array.size:
                return False  # more references than the slot, the name here, and the argument
            return source.memory is not None
        if array.memory is not None:
            return True  # views of it hold the array, not its memory
        raw = array.raw
        if getrefcount(raw) > 3:
            return False
        base = raw.base
        if base is not None:
            if base.size != raw.size or base.base is not None or getrefcount(base) > 3:
                return False
            raw = base
        data = raw.data
        pointers, memory = self._holders
        names = pointers + 1 + (base is not None)  # a view has the same pointer
        return getrefcount(data) <= names and getrefcount(data.mem) <= memory

    def one(self, dtype: Any) -> Any:
        """A cached number one in GPU memory."""
        found = self._ones.get(dtype)
        if found is None:
            found = self._ones[dtype] = wrap(self.cupy.ones((), dtype))
        return found

    def device_index(self, array: CudaArray) -> int:
        while array.source is not None:
            array = array.source
        return int((array.memory or array.raw.data).device_id)

    def device_count(self) -> int:
        return int(self.cupy.cuda.runtime.getDeviceCount())

    def current_device(self) -> int:
        return int(self.cupy.cuda.runtime.getDevice())

    def resident_threads(self) -> int:
        found = self._resident.get(device := self.current_device())
        if found is None:
            limits = self.cupy.cuda.Device(device).attributes
            blocks = limits["MaxThreadsPerMultiProcessor"] // 256
            found = self._resident[device] = limits["MultiProcessorCount"] * blocks * 256
        return found

    def linalg_errors(self) -> Any:
        """A context in which a singular matrix is an error."""
        return importlib.import_module("cupyx").errstate(linalg="raise")

    def strided(self, raw: Any, shape: Any, strides: Any, offset: int) -> Any:
        """An array over the same memory, `offset` and `strides` in bytes."""
        start = raw.data + offset if offset else raw.data
        return self.array(tuple(shape), raw.dtype, start, tuple(strides))

    def overlap(self, a: Any, b: Any) -> bool:
        return bool(self.cupy.may_share_memory(a, b))

    def synchronize(self) -> None:
        """Wait until the GPU has finished everything launched."""
        self.cupy.cuda.runtime.deviceSynchronize()

    def pinned(self, array: Any) -> Any:
        """A copy of an array in page-locked memory."""
        out = importlib.import_module("cupyx").empty_pinned(array.shape, array.dtype)
        np.copyto(out, array)
        return out

    def set_tf32(self, allowed: bool) -> None:
        self.gemm.set_tf32(allowed)

    def launch(
        self, function: Any, blocks: int, threads: int, shared: int, pack: Any, values: Any
    ) -> None:
        """Launch a kernel; `pack` writes its arguments, eight bytes each, in the order given."""
        room, places, launch, stream = self._arguments.parts
        pack(room, 0, *values)
        launch(function.ptr, blocks, 1, 1, threads, 1, 1, shared, stream().ptr, places, 0)

    def compile(self, source: str, name: str) -> Any:
        """A kernel from CUDA C."""
        return self.cupy.RawKernel(source, name).kernel

    def empty(self, shape: Any, dtype: Any) -> Any:
        return self.cupy.empty(shape, dtype)


def _reducer(function: Callable[..., Any]) -> Callable[..., Any]:
    """A ufunc's `reduce` through the equivalent function; the axis defaults to 0."""

    def reduce(x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        if dtype is not None:
            options["dtype"] = dtype
        if "out" in options or out is not None:
            options["out"] = out
        return function(x, axis=axis, **options)

    return reduce


class Found:
    """The result of the first search for CUDA: a backend, or the reason why there is none."""

    backend: Any = None
    reason: str | None = None
    looked = False


def find() -> Any:
    """The backend, or None with the reason in `Found.reason`; searched for once."""
    if not Found.looked:
        Found.looked = True
        try:
            cupy = importlib.import_module("cupy")
        except ImportError as error:
            Found.reason = (
                "CuPy is not installed (pip install 'tautograd[cuda12]' or 'tautograd[cuda13]', as "
                f"the driver's CUDA is): {error}"
            )
            return None
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except Exception as error:
            Found.reason = f"CuPy {cupy.__version__} finds no GPU: {error}"
            return None
        if not count:
            Found.reason = f"CuPy {cupy.__version__} finds no GPU"
            return None
        use(CupyBackend(cupy))
    return Found.backend


def use(backend: Any) -> None:
    """Compute with this backend from now on."""
    from ..devices import on_cuda_start

    Found.backend, Found.looked, Found.reason = backend, True, None
    install(backend)
    for prepare in on_cuda_start:
        prepare(backend)
