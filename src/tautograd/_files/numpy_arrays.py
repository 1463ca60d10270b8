"""Reading `.npy` and `.npz` files of numbers without trusting anything before it is checked.

An array's header says how long the array is; NumPy allocates that much memory before it checks how much
there is, and parses the header as Python syntax. Here the header has one form, and the sizes must agree.
"""

from __future__ import annotations

import io
import math
import os
import re
import struct
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from .archive import Archive
from .refusals import DamagedFile, shown
from .regular import open_regular

_MAGIC = b"\x93NUMPY"
_LONGEST = 10_000  # bytes of a header
_ITEM = (
    r"(?:'descr'\s*:\s*'(?P<descr{0}>[<>|=]?[biufc][0-9]{{1,2}})'"
    r"|'fortran_order'\s*:\s*(?P<fortran{0}>True|False)"
    r"|'shape'\s*:\s*\((?P<shape{0}>[0-9, ]*)\))"
)
_HEADER = re.compile(r"\{\s*" + r"\s*,\s*".join(_ITEM.format(n) for n in "abc") + r"\s*,?\s*\}\s*")

_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError),
    *(IndexError, OverflowError, TypeError, MemoryError),
)


def read_arrays(path: str | os.PathLike[str], most: int) -> list[Any]:
    """The arrays in a file, in file order; a ValueError for one that contradicts its header.

    Together they may have `most` bytes.
    """
    with open_regular(path) as file:
        start = file.read(len(_MAGIC))
        file.seek(0)
        size = os.fstat(file.fileno()).st_size
        try:
            _check_size(size, most)
            if start == _MAGIC:
                return [_array(file, size, "the array")]
            if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
                return _archived(file, most)
        except (DamagedFile, *_DAMAGE) as error:
            raise ValueError(shown(str(error), 300)) from error
    raise ValueError("it begins with neither the mark of a .npy file nor that of an archive")


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise DamagedFile(f"it holds {size} bytes, and {most} are the most")


def _archived(file: IO[bytes], most: int) -> list[Any]:
    archive = Archive(file)
    records = {name: record for name in archive.names() if (record := archive.find(name))}
    _check_size(sum(record.file_size for record in records.values()), most)
    found = []
    for name, record in records.items():
        what = f"the array {shown(name.removesuffix('.npy'))}"
        begin = io.BytesIO(archive.beginning(record, _LONGEST + 100))
        _, _, _, needed = _header(begin, record.file_size, what)
        if needed != record.file_size:  # checked before all of it is unpacked
            raise DamagedFile(f"{what} has more bytes than its shape says")
        whole = archive.read(record, at_most=record.file_size)
        found.append(_array(io.BytesIO(memoryview(whole)), record.file_size, what))
    return found


def _array(file: IO[bytes], size: int, what: str) -> Any:
    kind, shape, order, _ = _header(file, size, what)
    data = bytearray(math.prod(shape) * kind.itemsize)
    if file.readinto(data) != len(data):  # type: ignore[attr-defined]
        raise DamagedFile(f"{what} ends too soon")
    array = np.frombuffer(data, kind).reshape(shape, order=order)
    return array.astype(kind.newbyteorder("="), copy=False)


def _header(file: IO[bytes], size: int, what: str) -> tuple[Any, tuple[int, ...], Any, int]:
    """The dtype, shape and order of an array, and its size in bytes, which must not exceed what there is."""
    start = file.read(12)
    if start[:6] != _MAGIC or len(start) < 12 or start[6] not in (1, 2, 3):
        raise DamagedFile(f"{what} is not in the format .npy")
    length = int.from_bytes(start[8 : 10 if start[6] == 1 else 12], "little")
    begun = 10 if start[6] == 1 else 12
    if length > _LONGEST:
        raise DamagedFile(f"{what} has a header of {length} bytes")
    text = (start[begun:] + file.read(length - (12 - begun))).decode("latin1")
    match = _HEADER.fullmatch(text)
    parts = {k[:-1]: v for k, v in match.groupdict().items() if v is not None} if match else {}
    if len(parts) != 3:
        raise DamagedFile(f"{what} is not one of numbers, or its header is damaged")
    kind = np.dtype(parts["descr"])
    extents = [part.strip() for part in parts["shape"].split(",")]
    shape = tuple(int(part) for part in extents if part)
    if any(len(part) > 19 or " " in part for part in extents) or len(shape) > 64:
        raise DamagedFile(f"{what} has a shape that none can have")
    needed = begun + length + math.prod(shape) * kind.itemsize
    if needed > size:
        raise DamagedFile(f"{what} is of shape {list(shape[:8])}, more than the file has")
    return kind, shape, "F" if parts["fortran"] == "True" else "C", needed
