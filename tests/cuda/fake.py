"""A stand-in for CuPy made of NumPy, for machines without a GPU.

It has the functions that CuPy 14 has, and refuses the arguments that CuPy's do not take
(`cupy_names.json`, read from CuPy's own signatures). Arrays on the "GPU" are NumPy's inside of
`CudaArray`s, so whatever reaches past the dispatch protocols meets an error, as it would there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tautograd._arrays.cuda import cuda_array, cuda_backend
from tautograd._arrays.cuda.base import Backend
from tautograd._arrays.cuda.cuda_array import CudaArray, wrap
from tautograd._arrays.cuda.ufuncs import IN_MAIN_MEMORY
from tautograd._arrays.dtypes import HALF_CODES
from tautograd._arrays.strided import storage_of
from tautograd._compile.record.tape import in_rows

NAMES: dict[str, Any] = json.loads((Path(__file__).parent / "cupy_names.json").read_text())
_UFUNCS = frozenset(NAMES["ufuncs"])
# What CuPy adds up or multiplies in float32 where it is given half precision, and rounds once.
_WIDE_INSIDE = frozenset(("sum", "prod", "mean"))


class _Module:
    """What `cupy`, `cupy.linalg` and the like are: some names of NumPy's."""

    def __init__(self, numpy_module: Any, prefix: str = "") -> None:
        self._numpy, self._prefix = numpy_module, prefix

    def __getattr__(self, name: str) -> Any:
        if name in ("linalg", "fft", "lib", "stride_tricks") and not name.startswith("_"):
            return _Module(getattr(self._numpy, name), f"{self._prefix}{name}.")
        full = self._prefix + name
        if full in _UFUNCS:
            return getattr(self._numpy, name)
        if full not in NAMES["functions"]:
            raise AttributeError(f"CuPy has no {full}")
        return _checked(getattr(self._numpy, name), full, NAMES["functions"][full])


def _checked(function: Any, name: str, parameters: str | None) -> Any:
    if parameters is None:
        return function
    known = frozenset(parameters.split())

    def call(*args: Any, **options: Any) -> Any:
        unknown = options.keys() - known
        if unknown:
            raise TypeError(f"CuPy's {name} has no parameter {sorted(unknown)}")
        half = args[0].dtype if name in _WIDE_INSIDE and options.get("dtype") is None else None
        if half is not None and half.char in HALF_CODES:
            args = (args[0].astype(np.float32), *args[1:])
            return np.asarray(function(*args, **options)).astype(half)
        found = function(*args, **options)
        if name == "diagonal":  # NumPy's is read-only, CuPy's is not
            found.setflags(write=True)
        return found

    return call


class _Memory(np.ndarray):
    """Bytes of main memory, with their address where CuPy's have it."""

    @property
    def ptr(self) -> int:
        return int(self.ctypes.data)


class Piece:
    """Memory, as long as somebody holds it: what CuPy has for each allocation."""

    __slots__ = ("__weakref__", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = owner


class FakeBackend(Backend):
    """`CupyBackend`, with NumPy for CuPy."""

    array = np.ndarray
    arrays = (np.ndarray, np.generic)
    refusals = (TypeError, ValueError, NotImplementedError, AttributeError, np.linalg.LinAlgError)
    capture_depth = 0

    def __init__(self) -> None:
        self.cupy = _Module(np)
        self.pieces: WeakValueDictionary[int, Piece] = WeakValueDictionary()

    def fill(self, ufuncs: dict[Any, Any], functions: dict[Any, Any]) -> None:
        from tautograd._arrays.cuda.cuda_backend import CupyBackend

        CupyBackend.fill(self, ufuncs, functions)  # type: ignore[arg-type]

    def find_ufunc(self, ufunc: Any) -> Any:
        name = ufunc.__name__
        known = (
            name in _UFUNCS
            if getattr(np, name, None) is ufunc
            else name.lstrip("_") in NAMES["special"]
        )
        return ufunc if known and name not in IN_MAIN_MEMORY else None

    def find_method(self, ufunc: Any, method: str) -> Any:
        from tautograd._arrays.cuda.cuda_backend import CupyBackend

        return CupyBackend._method(self, ufunc, method)  # type: ignore[arg-type]

    def find_function(self, function: Any) -> Any:
        from tautograd._arrays.cuda.cuda_backend import CupyBackend

        return CupyBackend.find_function(self, function)  # type: ignore[arg-type]

    def as_array(self, result: Any) -> Any:
        return np.asarray(result)

    def get_item(self, raw: Any, index: Any) -> Any:
        return np.asarray(raw[index])

    def set_item(self, raw: Any, index: Any, value: Any) -> None:
        raw[index] = value

    def to_device(self, array: Any) -> Any:
        return np.array(array, order="K")

    def to_host(self, raw: Any) -> Any:
        return np.array(raw, order="K")

    def address(self, raw: Any) -> int:
        return int(raw.__array_interface__["data"][0])

    def memory_of(self, raw: Any) -> Any:
        owner = storage_of(raw)
        found = self.pieces.get(id(owner))
        if found is None or found.owner is not owner:
            found = self.pieces[id(owner)] = Piece(owner)
        return found

    def whole(self, raw: Any) -> Any:
        return in_rows(storage_of(raw)).reshape(-1).view(np.uint8)

    def allocate(self, size: int) -> Any:
        return np.empty(size, np.uint8).view(_Memory)

    def empty(self, shape: Any, dtype: Any) -> Any:
        return np.empty(shape, dtype)

    def pinned(self, array: Any) -> Any:
        return np.array(array)

    def linalg_errors(self) -> Any:
        return nullcontext()

    def strided(self, raw: Any, shape: Any, strides: Any, offset: int) -> Any:
        from tautograd._arrays.strided import strided

        return strided(raw, shape, strides, offset)

    def overlap(self, a: Any, b: Any) -> bool:
        return bool(np.shares_memory(a, b))

    def synchronize(self) -> None:
        """Nothing runs in the background here."""


@contextmanager
def installed(backend: Backend | None = None) -> Iterator[None]:
    """The stand-in, or a backend of a test's own, as what computes on a GPU, while this lasts."""
    found = cuda_backend.Found
    before = found.backend, found.looked, found.reason, cuda_array.backend
    cuda_backend.use(backend or FakeBackend())
    try:
        yield
    finally:
        found.backend, found.looked, found.reason, cuda_array.backend = before
        if before[0] is not None:
            cuda_backend.use(before[0])


def on_gpu(array: Any) -> CudaArray:
    return wrap(np.array(array, order="K"))
