"""The memory behind tensors as an object: bytes (`UntypedStorage`), or elements of a dtype.

A storage is an interface to the array that owns the memory. It holds no memory itself: writes through
it show in every tensor over that memory, and vice versa. Memory belongs to NumPy,
so a storage can grow only by switching to other memory, which existing tensors do not follow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays.devices import device, device_of
from .._arrays.dtypes import ALL_DTYPES, LEGACY_NAMES, as_dtype, get_default_dtype
from .._arrays.dtypes import dtype as Dtype
from .._arrays.strided import address, storage_of
from .._ops.declare.python_surface import speak
from .._user_code.sites import warning_level
from .from_data import array_from
from .mapped_files import mapped_file
from .storage_arguments import as_byte, bytes_of, check_typed, is_whole, place, span, zeros

_DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only "
    "storage class. This should only matter to you if you are using storages directly.  To access "
    "UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()"
)


class UntypedStorage:
    """The memory behind a tensor and its views, as bytes."""

    __slots__ = ("__weakref__", "_array", "_filename")

    is_cuda = is_hpu = is_sparse = is_sparse_csr = False

    def __init__(self, source: Any = 0, *, device: Any = None) -> None:
        self._array: Any = zeros(source, np.uint8) if is_whole(source) else bytes_of(source)
        self._filename: str | None = None

    @classmethod
    def of(cls, array: Any) -> UntypedStorage:
        """The memory that an array views."""
        storage = cls.__new__(cls)
        storage._array = storage_of(array)
        storage._filename = None
        return storage

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str = "native",
        count: int = -1,
        offset: int = 0,
        *,
        dtype: Any = None,
    ) -> UntypedStorage:
        """A copy of a buffer's bytes, in native byte order."""
        return cls.of(_from_buffer(buffer, byte_order, count, offset, as_dtype(dtype)))

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file; with `shared`, writes go to the file."""
        storage = cls.of(mapped_file(filename, shared, nbytes, np.dtype(np.uint8)))
        storage._filename = os.fsdecode(filename)
        return storage

    def bytes_view(self) -> Any:
        """All bytes, as an array that shares this memory."""
        array = self._array
        flat = array.reshape(-1, order="A") if array.flags.forc else array.ravel("K")
        return flat.view(np.uint8)

    def __len__(self) -> int:
        return int(self._array.nbytes)

    nbytes = size = __len__

    def element_size(self) -> int:
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return address(self._array) if self._array.size else 0

    @property
    def _cdata(self) -> int:
        """A number that distinguishes this memory from any other in use."""
        return id(self._array)

    @property
    def device(self) -> device:
        return device_of(self._array)

    @property
    def filename(self) -> str | None:
        """The file that backs this memory, if any."""
        return self._filename

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        found: list[int] = self.bytes_view().tolist()
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return UntypedStorage.of(self.bytes_view()[span(index, len(self))])
        return int(self.bytes_view()[place(index, len(self), "torch.UntypedStorage", TypeError)])

    def __setitem__(self, index: Any, value: Any) -> None:
        byte = as_byte(value, "can only set storage content with a int types, but got {} instead")
        if isinstance(index, slice):
            self.bytes_view()[span(index, len(self))] = byte
            return
        try:
            at = place(index, len(self), "torch.UntypedStorage", RuntimeError)
        except IndexError:
            raise RuntimeError("out of bounds") from None
        self.bytes_view()[at] = byte

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._array is other._array

    def __hash__(self) -> int:
        return id(self._array)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + len(self)

    def __repr__(self) -> str:
        rows = "".join(f" {byte}\n" for byte in self.tolist())
        return f"{rows}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    def clone(self) -> UntypedStorage:
        return UntypedStorage.of(self.bytes_view().copy())

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        self.bytes_view()[:] = _untyped(source).bytes_view()
        return self

    def fill_(self, value: int) -> UntypedStorage:
        self.bytes_view()[:] = as_byte(value, "fill_ expects int, but got {}")
        return self

    def resize_(self, size: int) -> UntypedStorage:
        """Switch to memory of another size; existing tensors keep what they have."""
        if not is_whole(size):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        grown = zeros(size, np.uint8)
        common = min(len(self), int(size))
        grown[:common] = self.bytes_view()[:common]
        self._array = grown
        return self

    def resizable(self) -> bool:
        return bool(self._array.flags.owndata)

    def new(self) -> UntypedStorage:
        return UntypedStorage(0)

    def cpu(self) -> UntypedStorage:
        return self

    def untyped(self) -> UntypedStorage:
        return self

    def is_shared(self) -> bool:
        return self._filename is not None

    def is_pinned(self, device: Any = "cuda") -> bool:
        return False

    def _type(self, kind: Dtype) -> TypedStorage:
        return TypedStorage(wrap_storage=self, dtype=kind, _internal=True)

    def __reduce__(self) -> Any:
        return _from_bytes, (self.bytes_view().tobytes(),)


def _from_bytes(data: bytes) -> UntypedStorage:
    return UntypedStorage.of(np.frombuffer(bytearray(data), np.uint8))


def _untyped(source: Any) -> UntypedStorage:
    found: UntypedStorage = source.untyped()
    return found


def _from_buffer(buffer: Any, byte_order: str, count: int, offset: int, kind: Dtype) -> Any:
    if byte_order not in ("native", "little", "big"):
        raise ValueError(
            f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
        )
    whole = memoryview(buffer).nbytes
    if offset < 0 or offset > whole:
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({whole})")
    size = kind.itemsize
    if count < 0:
        if (whole - offset) % size:
            raise ValueError(f"buffer size ({whole}) must be a multiple of element size ({size})")
        count = (whole - offset) // size
    raw = np.frombuffer(buffer, np.uint8, count * size, offset).copy()
    if kind.numpy.kind == "b":
        return (raw != 0).view(np.bool_)
    found = raw.view(kind.numpy)
    return found.byteswap() if byte_order == "big" and size > 1 else found


class _StorageType(type):
    """The metaclass of `FloatStorage` and the like: a constructor, and an isinstance check of the dtype."""

    kind: Any

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls.kind is None:
            return super().__call__(*args, **options)
        return TypedStorage(*args, dtype=cls.kind, _internal=True, **options)

    def __instancecheck__(cls, instance: object) -> bool:
        if cls.kind is None:
            return type.__instancecheck__(cls, instance)
        return type.__instancecheck__(TypedStorage, instance) and instance.dtype is cls.kind  # type: ignore[attr-defined]


class TypedStorage(metaclass=_StorageType):
    """The memory behind a tensor and its views, as elements of one dtype."""

    __slots__ = ("__weakref__", "_kind", "_storage")

    kind: Any = None  # a subclass's dtype
    is_cuda = is_hpu = is_sparse = False

    def __init__(
        self,
        source: Any = None,
        *,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        check_typed(source, wrap_storage, isinstance(wrap_storage, UntypedStorage), device)
        if not _internal:
            warn_deprecated()
        kind = as_dtype(dtype) if dtype is not None else get_default_dtype()
        self._kind: Dtype = kind
        self._storage: UntypedStorage
        if wrap_storage is not None:
            self._storage = wrap_storage
        elif source is None or is_whole(source):
            self._storage = UntypedStorage.of(zeros(source or 0, kind.numpy))
        else:
            self._storage = UntypedStorage.of(np.atleast_1d(array_from(list(source), kind)))

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str = "native",
        count: int = -1,
        offset: int = 0,
        *,
        dtype: Any = None,
    ) -> TypedStorage:
        """A copy of a buffer's bytes, in native byte order."""
        kind = cls.kind or as_dtype(dtype)
        made = UntypedStorage.of(_from_buffer(buffer, byte_order, count, offset, kind))
        return TypedStorage(wrap_storage=made, dtype=kind, _internal=True)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The elements in a file; with `shared`, writes go to the file."""
        kind = cls.kind or get_default_dtype()
        made = UntypedStorage.of(mapped_file(filename, shared, size, kind.numpy))
        made._filename = os.fspath(filename)
        return TypedStorage(wrap_storage=made, dtype=kind, _internal=True)

    @property
    def dtype(self) -> Dtype:
        return self._kind

    @property
    def _cdata(self) -> int:
        return self._storage._cdata

    @property
    def device(self) -> device:
        return self._storage.device

    @property
    def filename(self) -> str | None:
        return self._storage.filename

    def untyped(self) -> UntypedStorage:
        return self._storage

    _untyped_storage = property(untyped)

    def elements(self) -> Any:
        """All elements, as an array that shares this memory."""
        whole = self._storage.bytes_view()
        size = self._kind.itemsize
        return whole[: len(whole) // size * size].view(self._kind.numpy)

    def __len__(self) -> int:
        return int(len(self._storage) // self._kind.itemsize)

    size = _size = __len__

    def nbytes(self) -> int:
        return len(self._storage)

    def element_size(self) -> int:
        return int(self._kind.itemsize)

    def data_ptr(self) -> int:
        return self._storage.data_ptr()

    def tolist(self) -> list[Any]:
        found: list[Any] = self.elements().tolist()
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self.elements()[self._place(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        at = index if isinstance(index, slice) else self._place(index)
        self.elements()[at] = array_from(value, self._kind)

    def _place(self, index: Any) -> int:
        return place(index, len(self), "torch.storage.TypedStorage", RuntimeError)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._storage == other._storage

    def __hash__(self) -> int:
        return hash(self._storage)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __repr__(self) -> str:
        rows = "".join(f" {value}\n" for value in self.tolist())
        return (
            f"{rows}[torch.storage.TypedStorage(dtype={self._kind}, device={self.device}) of size "
            f"{len(self)}]"
        )

    def type(self, kind: Any = None) -> Any:
        """The name of this storage's type, or a copy with another type."""
        if kind is None:
            return f"torch.{LEGACY_NAMES[self._kind]}Storage"
        wanted = getattr(kind, "kind", None) or as_dtype(kind)
        return self._as(wanted)

    def _as(self, kind: Any) -> TypedStorage:
        with np.errstate(all="ignore"):
            made = UntypedStorage.of(self.elements().astype(kind.numpy))
        return TypedStorage(wrap_storage=made, dtype=kind, _internal=True)

    def clone(self) -> TypedStorage:
        return self._as(self._kind)

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        self.elements()[:] = source.elements()
        return self

    def fill_(self, value: Any) -> TypedStorage:
        if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
            raise TypeError(
                f"can't assign a {type(value).__name__} to a torch.{LEGACY_NAMES[self._kind]}Tensor"
            )
        self.elements()[:] = value
        return self

    def resize_(self, size: int) -> None:
        if not is_whole(size):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        self._storage.resize_(int(size) * self._kind.itemsize)

    def resizable(self) -> bool:
        return self._storage.resizable()

    def cpu(self) -> TypedStorage:
        return self

    def is_shared(self) -> bool:
        return self._storage.is_shared()

    def is_pinned(self, device: Any = "cuda") -> bool:
        return False

    def pickle_storage_type(self) -> str:
        """The checkpoint format's name for this kind of storage."""
        return f"{LEGACY_NAMES[self._kind]}Storage"

    def __reduce__(self) -> Any:
        return _typed_from_bytes, (self.elements().tobytes(), self._kind)


def _typed_from_bytes(data: bytes, kind: Any) -> TypedStorage:
    return TypedStorage(wrap_storage=_from_bytes(data), dtype=kind, _internal=True)


_SPOKEN = {"ComplexFloat": "complex_float", "ComplexDouble": "complex_double"}


def _cast_to(kind: Any) -> Any:
    def cast(self: TypedStorage) -> TypedStorage:
        return self._as(kind)

    cast.__doc__ = f"A copy with the elements as {kind}."
    return cast


LEGACY_STORAGES: dict[str, Any] = {}
for _kind in ALL_DTYPES:
    _name = LEGACY_NAMES[_kind]
    LEGACY_STORAGES[f"{_name}Storage"] = _StorageType(
        f"{_name}Storage", (TypedStorage,), {"kind": _kind, "__slots__": (), "__module__": "torch"}
    )
    setattr(TypedStorage, _SPOKEN.get(_name, _name.lower()), _cast_to(_kind))

_warned: list[str] = []


def warn_deprecated() -> None:
    """Warn, once per process, that typed storages are deprecated."""
    import warnings

    from .settings import is_warn_always_enabled

    if _warned and not is_warn_always_enabled():
        return
    _warned.append("typed")
    warnings.warn(_DEPRECATED, UserWarning, stacklevel=warning_level())


class WrongStorage(RuntimeError, TypeError):
    """A storage of another dtype: PyTorch raises RuntimeError, but it is also about an argument's type."""


def check_kind(storage: Any, wanted: Any) -> None:
    """Refuse a typed storage of another dtype than expected."""
    if isinstance(storage, TypedStorage) and storage.dtype is not wanted:
        raise WrongStorage(
            f"Expected a Storage of type {LEGACY_NAMES[wanted]} or an UntypedStorage, but got a "
            f"Storage of type {LEGACY_NAMES[storage.dtype]}"
        )


speak(
    globals(),
    ("UntypedStorage", "TypedStorage"),
    (
        "__init__",
        "__getitem__",
        "__setitem__",
        "__len__",
        "resize_",
        "fill_",
        "copy_",
        "clone",
        "tolist",
    ),
)
