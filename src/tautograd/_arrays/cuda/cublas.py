"""cuBLAS, called directly: a handle per thread, and a workspace per stream.

CuPy's own binding refuses calls while a stream is captured, because it does not set cuBLAS's workspace.
Here it is set, so products can be captured; the call path is also shorter.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Any

_INT, _ADDRESS, _LONG = ctypes.c_int, ctypes.c_size_t, ctypes.c_longlong
_GEMM = (_ADDRESS, _INT, _INT, _INT, _INT, _INT, _ADDRESS, _ADDRESS, _INT, _ADDRESS, _INT, _ADDRESS,
         _ADDRESS, _INT)  # fmt: skip
_BATCHED = (_ADDRESS, _INT, _INT, _INT, _INT, _INT, _ADDRESS, _ADDRESS, _INT, _LONG, _ADDRESS, _INT,
            _LONG, _ADDRESS, _ADDRESS, _INT, _LONG, _INT)  # fmt: skip
_SCATTERED = (_ADDRESS, _INT, _INT, _INT, _INT, _INT, _ADDRESS, _ADDRESS, _INT, _ADDRESS, _INT, _ADDRESS,
              _ADDRESS, _INT, _INT)  # fmt: skip
_EX = (_ADDRESS, _INT, _INT, _INT, _INT, _INT, _ADDRESS, _ADDRESS, _INT, _INT, _ADDRESS, _INT, _INT,
       _ADDRESS, _ADDRESS, _INT, _INT, _INT, _INT)  # fmt: skip
_EX_BATCHED = (_ADDRESS, _INT, _INT, _INT, _INT, _INT, _ADDRESS, _ADDRESS, _INT, _INT, _LONG, _ADDRESS, _INT,
               _INT, _LONG, _ADDRESS, _ADDRESS, _INT, _INT, _LONG, _INT, _INT, _INT)  # fmt: skip
ROOM_FOR_WORK = 32 << 20  # bytes: what NVIDIA advises for Hopper


class Cublas(threading.local):
    """This thread's handle; `on(stream)` makes it work on a stream."""

    wanted = 0  # the math mode of float32 products, for all threads

    def __init__(self, library: Any, allocate: Any) -> None:
        self.library = library
        self.allocate = allocate
        handle = ctypes.c_void_p()
        _check(library.cublasCreate_v2(ctypes.byref(handle)))
        self.handle = int(handle.value or 0)
        self.current = -1
        self.mode = 0
        self.rooms: dict[int, Any] = {}

    def on(self, stream: int) -> int:
        """The handle, set to a stream and that stream's workspace."""
        if self.mode != Cublas.wanted:
            self.mode = Cublas.wanted
            _check(self.library.cublasSetMathMode(self.handle, self.mode))
        if stream != self.current:
            _check(self.library.cublasSetStream_v2(self.handle, stream))
            _check(
                self.library.cublasSetWorkspace_v2(self.handle, self.room(stream), ROOM_FOR_WORK)
            )
            self.current = stream
        return self.handle

    def room(self, stream: int) -> int:
        """The address of the workspace of `ROOM_FOR_WORK` bytes for products on a stream."""
        room = self.rooms.get(stream)
        if room is None:
            room = self.rooms[stream] = self.allocate(ROOM_FOR_WORK)
        return int(room.ptr)

    def share_room(self, stream: int, other: int) -> Any:
        """Make products on a stream use another one's workspace: what is captured on the first runs on the other."""
        self.room(other)
        room = self.rooms[stream] = self.rooms[other]
        self.current = -1
        return room

    def forget_room(self, stream: int) -> Any:
        """Drop and return the workspace of a retired stream, or None: a new stream may get its address."""
        self.current = -1
        return self.rooms.pop(stream, None)

    def set_math_mode(self, mode: int) -> None:
        """Set how the handles of all threads compute float32 products."""
        Cublas.wanted = mode


def loaded(name: str) -> Any:
    """A library that this process has already loaded, or None."""
    if not sys.platform.startswith("linux"):
        return None
    with open("/proc/self/maps") as file:
        paths = {line.split()[-1] for line in file if f"/{name}.so" in line}
    return ctypes.CDLL(min(paths)) if paths else None


def load() -> Any:
    """The library that CuPy has loaded, or None if it cannot be found."""
    library = loaded("libcublas")
    if library is None:
        return None
    library.cublasSetStream_v2.argtypes = (_ADDRESS, _ADDRESS)
    library.cublasSetWorkspace_v2.argtypes = (_ADDRESS, _ADDRESS, _ADDRESS)
    library.cublasSetMathMode.argtypes = (_ADDRESS, _INT)
    library.cublasGemmEx.argtypes = _EX
    library.cublasGemmStridedBatchedEx.argtypes = _EX_BATCHED
    for letter in "SDCZ":
        getattr(library, f"cublas{letter}gemm_v2").argtypes = _GEMM
        getattr(library, f"cublas{letter}gemmStridedBatched").argtypes = _BATCHED
        getattr(library, f"cublas{letter}gemmBatched").argtypes = _SCATTERED
    return library


def checked(function: Any) -> Any:
    """A cuBLAS function that raises the error codes it returns."""

    def call(*args: Any) -> None:
        status = function(*args)
        if status:
            _check(status)

    return call


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"CUDA error: cuBLAS returned status {status}")
