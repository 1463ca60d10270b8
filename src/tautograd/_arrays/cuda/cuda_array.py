"""Arrays on a GPU: CuPy's, behind NumPy's dispatch protocols.

A `CudaArray` answers `np.` functions, ufuncs, operators and `[]` by calling CuPy's function of the same
name, so that operations and rules run there as they are written. `cuda_calls` finds the function and
brings the arguments over; what CuPy does otherwise, or not at all, is in one table (`cuda_functions`).

It knows the shape, strides and address of its elements itself, and holds an array of CuPy's (`raw`) only
once something has asked for that: kernels of our own need addresses alone, views are arithmetic
(`cuda_views`), and to make an array of CuPy's takes twice as long. What is not known yet is
found out when it is first read (`__getattr__`).

The engine's other array types (`BatchedArray`, lifted tensors) come first: asked together with one
of those, a `CudaArray` leaves the answer to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from threading import local
from typing import Any

import numpy as np

from . import views
from .methods import Methods

_new: Any = object.__new__


class _Flags:
    """What NumPy's `flags` say of an array, as far as the engine asks."""

    __slots__ = ("_array",)

    writeable = True

    def __init__(self, array: CudaArray) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        return self._array.dense

    @property
    def f_contiguous(self) -> bool:
        array = self._array
        return views.is_by_rows(array.shape[::-1], array.strides[::-1], array.itemsize)

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous


class CudaArray(Methods):
    """An array in a GPU's memory."""

    __slots__ = (
        "dense", "dtype", "how", "memory", "ptr", "raw", "shape", "size", "source", "strides",
    )  # fmt: skip

    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    dtype: Any
    size: int
    ptr: int  # where its first element lies in the GPU's memory
    dense: bool  # whether its elements lie one after the other, by rows
    raw: Any  # CuPy's array
    memory: (
        Any  # what keeps the memory, as long as there is neither an array of CuPy's nor a source
    )
    source: CudaArray | None  # the array whose memory it looks into
    how: tuple[Any, ...]  # by which step from there

    def __getattr__(self, name: str) -> Any:
        """What is not known yet."""
        found: Any
        if name == "raw":
            return views.raw_of(self, backend)
        elif name in ("shape", "dtype"):
            found = getattr(self.raw, name)
        elif name == "size":
            found = prod(self.shape)
        elif name == "ptr":
            found = int(backend.address(self.raw))
        elif name == "strides":
            if self.memory is None and self.source is None:
                found = self.raw.strides
            else:
                found = views.bytes_by_rows(self.shape, self.dtype.itemsize)
        elif name == "dense":
            if self.memory is None and self.source is None:
                found = bool(self.raw.flags.c_contiguous)
            else:
                found = views.is_by_rows(self.shape, self.strides, self.dtype.itemsize)
        else:
            raise AttributeError(f"'CudaArray' object has no attribute '{name}'")
        setattr(self, name, found)
        return found

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def flags(self) -> _Flags:
        return _Flags(self)

    # --- dispatch --------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if not options and method == "__call__":
            quick = QUICK.get(ufunc)
            if quick is not None:
                found = quick(*inputs)
                if found is not None:
                    return found
        return calls.of_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return calls.of_function(function, types, args, kwargs)

    def __getitem__(self, index: Any) -> CudaArray:
        found = views.picked(self, index)
        if found is None:
            found = wrap(backend.get_item(self.raw, calls.index_on_device(index)))
        return found  # type: ignore[no-any-return]

    def __setitem__(self, index: Any, value: Any) -> None:
        place = calls.index_on_device(index)
        backend.set_item(self.raw, place, calls.value_on_device(value))

    # --- what a NumPy array also has (`Methods` has more) ---------------------------------------------

    @property
    def T(self) -> CudaArray:
        return views.turned(self)  # type: ignore[no-any-return]

    @property
    def base(self) -> CudaArray | None:
        found = self.storage()
        return None if found is self else found

    def root_gradient(self) -> Any:
        """The gradient that backward starts from: one, or None where it has to be made."""
        return None if self.shape else backend.one(self.dtype)

    @property
    def has_kernels(self) -> bool:
        """Whether kernels of our own can be run on it."""
        return bool(backend.has_kernels)

    @property
    def gpu_index(self) -> int:
        """The number of the GPU it lives on."""
        return int(backend.device_index(self))

    @property
    def address(self) -> int:
        """Where its first element lies in the GPU's memory."""
        return self.ptr

    def view(self, dtype: Any) -> CudaArray:
        return wrap(self.raw.view(dtype))

    # Without the way through NumPy, where there are kernels.

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **options: Any) -> Any:
        quick = QUICK.get(np.astype)
        found = None if quick is None else quick(self, dtype)
        return np.astype(self, dtype, copy=copy) if found is None else found  # type: ignore[call-overload]

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        quick = QUICK.get(np.sum)
        found = None if quick is None else quick(self, axis, dtype, out, keepdims)
        return np.sum(self, axis, dtype, out, keepdims) if found is None else found

    def reshape(self, *shape: Any, **options: Any) -> CudaArray:
        given = shape[0] if len(shape) == 1 else shape
        found = None if options else views.reshaped(self, given)
        return wrap(self.raw.reshape(given, **options)) if found is None else found

    def host(self) -> Any:
        """A copy in main memory, as NumPy's array; it waits for the GPU."""
        return backend.to_host(self.raw)

    # --- whose memory --------------------------------------------------------------------------------

    def storage(self) -> CudaArray:
        """The array that owns the memory it looks into."""
        owner = self
        while owner.source is not None:
            owner = owner.source
        base = None if owner.memory is not None else owner.raw.base
        return owner if base is None else wrap(base)

    def strided(self, shape: Any, strides: Any, offset: int = 0) -> CudaArray:
        """An array over the same memory, `offset` and `strides` in bytes from where it begins."""
        return views.strided(self, shape, strides, offset)  # type: ignore[no-any-return]

    def can_be_gradient_of(self, leaf: CudaArray) -> bool:
        """Whether it lies as a leaf does, and nothing else looks into its memory, all of which it shows."""
        return self.dense and leaf.dense and bool(backend.is_sole_owner(self))


def wrap(raw: Any) -> CudaArray:
    """An array of CuPy's as the engine holds it."""
    out: CudaArray = _new(CudaArray)
    out.raw = raw
    out.memory = out.source = None
    return out


def new(shape: tuple[int, ...], dtype: Any) -> CudaArray:
    """Room for an array, with nothing in it yet."""
    out: CudaArray = _new(CudaArray)
    out.shape = shape
    out.dtype = dtype
    out.size = size = prod(shape)
    out.memory = memory = backend.allocate(size * dtype.itemsize)
    out.ptr = memory.ptr
    out.dense = True
    out.source = None
    return out


class _Asking(local):
    """What becomes of memory that this thread asks for."""

    number = 0  # of the next piece
    slots: dict[int, tuple[int, Any]] | None = None
    room: Callable[[int], Any] | None = None
    noted: list[tuple[int, int]] | None = None


_asking = _Asking()


@contextmanager
def placing(
    slots: dict[int, tuple[int, Any]], room: Callable[[int], Any] | None = None
) -> Iterator[None]:
    """Inside, `new` makes arrays in these places: by the how manieth it is, and if it has so many bytes.

    `room` has memory for others, which are needed no longer than this lasts; None where there is no more of it.
    """
    _listen()
    _asking.number, _asking.slots, _asking.room = 0, slots, room
    try:
        yield
    finally:
        _asking.slots = _asking.room = None


@contextmanager
def noting() -> Iterator[list[tuple[int, int]]]:
    """Inside, where each array lies that `new` makes, and how many bytes it has."""
    found: list[tuple[int, int]] = []
    if backend is None:
        yield found
        return
    _listen()
    before, _asking.noted = _asking.noted, found
    try:
        yield found
    finally:
        _asking.noted = before


def _listen() -> None:
    """Let an allocator be asked that looks at what this thread is doing first."""
    if not hasattr(backend.allocate, "plain"):
        backend.allocate = _listening(backend.allocate)


def _listening(plain: Any) -> Any:
    def allocate(size: int) -> Any:
        found = None
        if _asking.slots is not None:
            wanted, place = _asking.slots.get(_asking.number, (-1, None))
            _asking.number += 1
            if wanted == size:
                found = place
            elif _asking.room is not None:
                found = _asking.room(size)
        if found is None:
            found = plain(size)
        if _asking.noted is not None:
            _asking.noted.append((int(found.ptr), size))
        return found

    allocate.plain = plain  # type: ignore[attr-defined]
    return allocate


# --- the library underneath ----------------------------------------------------------------------

backend: Any = None  # a `cuda_base.Backend`, once one is found


def install(found: Any) -> None:
    """Use this backend from now on."""
    global backend
    backend = found
    for table in (calls.QUICK, calls.UFUNCS, calls.FUNCTIONS):
        table.clear()
    found.fill(calls.UFUNCS, calls.FUNCTIONS)


from . import calls  # noqa: E402  (which needs the class, as the class's methods need it)

QUICK = calls.QUICK
