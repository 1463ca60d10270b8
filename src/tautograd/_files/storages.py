"""Tensors' memory: PyTorch's names for its kinds, and a file's storages, each read once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import dtypes
from .._arrays.strided import strided
from .allowance import Allowance
from .archive import Archive
from .refusals import DamagedFile, shown

# `torch.<name>` in a file: the dtype of the elements.
STORAGE_DTYPES: dict[str, Any] = {
    "FloatStorage": dtypes.float32,
    "DoubleStorage": dtypes.float64,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16,
    "LongStorage": dtypes.int64,
    "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8,
    "ByteStorage": dtypes.uint8,
    "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64,
    "ComplexDoubleStorage": dtypes.complex128,
}
STORAGE_NAMES = {dtype: name for name, dtype in STORAGE_DTYPES.items()}

assumed_order = b"little"
"""The byte order of files that do not state theirs, as before PyTorch 2.1."""
_WIDEST = 16  # bytes of an element
DIMENSIONS = 64  # as many as a NumPy array can have


class Storage:
    """The elements of a record, while a file is read; tensors that name the same one share it."""

    __slots__ = ("_dtype", "_key", "_size", "_storages")

    def __init__(self, storages: Storages, key: str, dtype: Any, size: int) -> None:
        self._storages = storages
        self._key = key
        self._dtype = dtype
        self._size = size

    def seen_as(self, dtype: Any) -> Storage:
        """The bytes of this storage as elements of another dtype."""
        if self._dtype is not dtypes.uint8:
            raise DamagedFile("a tensor in the file is of one dtype, and its storage of another")
        return Storage(self._storages, self._key, dtype, self._size // dtype.numpy.itemsize)

    def alone(self) -> Any:
        """The storage object that a program gets if the file has one without a tensor."""
        from .._tensor.storages import TypedStorage, UntypedStorage

        memory = UntypedStorage.of(self.elements())
        return TypedStorage(wrap_storage=memory, dtype=self._dtype, _internal=True)

    def elements(self, conjugated: bool = False, negated: bool = False) -> Any:
        """The elements, copied if a tensor is a view that conjugates or negates them."""
        return self._storages.elements(self._key, self._dtype, conjugated, negated)[: self._size]


class Storages:
    """The storages of a file, each read on first use."""

    def __init__(self, archive: Archive, prefix: str, allowance: Allowance) -> None:
        self.legacy = not isinstance(archive, Archive)
        self._archive = archive
        self._prefix = prefix
        self._allowance = allowance
        self._read: dict[str, Any] = {}
        self._copied: set[str] = set()
        self._elements: dict[tuple[str, Any, bool, bool], Any] = {}
        self._swap = self._byte_order() == b"big"

    def _byte_order(self) -> bytes:
        if self.legacy:  # always this one, whichever machine wrote it
            return b"little"
        record = self._archive.find(self._prefix + "byteorder")
        if record is None:
            return assumed_order
        order = bytes(self._archive.read(record, at_most=16)).strip()
        if order not in (b"little", b"big"):
            raise DamagedFile("its record 'byteorder' is neither 'little' nor 'big'")
        return order

    def get(self, key: str, dtype: Any, size: int) -> Storage:
        """`size` elements of the record `key`."""
        self._memory(key, size, dtype.numpy.itemsize)
        return Storage(self, key, dtype, size)

    def elements(self, key: str, dtype: Any, conjugated: bool, negated: bool) -> Any:
        """All elements of a record that was read, in native byte order."""
        conjugated = conjugated and dtype.is_complex
        if negated and dtype is dtypes.bool_:
            raise DamagedFile("a tensor of bool in the file is negated")
        found = self._elements.get((key, dtype, conjugated, negated))
        if found is None:
            memory = self._read[key]
            width = dtype.numpy.itemsize
            found = memory[: memory.size // width * width].view(dtype.numpy)
            if self._swap or conjugated or negated:
                self._copy(key, found.nbytes)
            if self._swap:
                found = found.byteswap()
            if conjugated:
                found = np.conj(found)
            if negated:
                found = np.negative(found)
            self._elements[key, dtype, conjugated, negated] = found
        return found

    def _copy(self, key: str, size: int) -> None:
        """Charge for copies of a record: the first is its tensor's own, further ones are charged."""
        if key in self._copied:
            self._allowance.take(size)
        self._copied.add(key)

    def _memory(self, key: str, size: int, width: int) -> Any:
        array = self._read.get(key)
        wanted = size * width
        if array is None:
            record = self._archive.find(f"{self._prefix}data/{key}")
            if record is None:
                raise DamagedFile(f"it has no record data/{shown(key)} of a tensor in it")
            have = record.file_size
            # Checked before it is read, so that a few bytes cannot allocate a lot for one number. If a
            # storage's length is not a multiple of the width, the last bytes belong to no element.
            if 0 <= have - wanted < _WIDEST:
                array = self._read[key] = self._archive.read(record, at_most=have)
        else:
            have = array.size
        if array is None or not 0 <= wanted <= have:
            raise DamagedFile(
                f"record data/{shown(key)} has {have} bytes, and {size} elements of {width} bytes "
                "are asked for"
            )
        return array


def tensor_array(elements: Any, offset: Any, size: Any, stride: Any) -> Any:
    """The array of a tensor over its storage, within whose bounds it must lie."""
    if type(size) is not tuple or type(stride) is not tuple or len(size) != len(stride):
        raise DamagedFile("a tensor in the file has no shape")
    if len(size) > DIMENSIONS:
        raise DamagedFile(f"a tensor in the file has {len(size)} dimensions")
    if any(type(n) is not int or not 0 <= n < 1 << 63 for n in (offset, *size, *stride)):
        raise DamagedFile(
            "a tensor in the file has a shape, strides or an offset that none can have"
        )
    if 0 not in size:
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if last >= elements.size:
            raise DamagedFile(
                f"a tensor in the file of shape {list(size)} reaches element {last} of a storage of "
                f"{elements.size}"
            )
    width = elements.dtype.itemsize
    return strided(elements, size, [n * width for n in stride], offset * width)
