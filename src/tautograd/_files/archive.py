"""The zip archive that a `.pt` file is, read with nothing in it believed before it is checked.

Records are plain or deflated, have names of their own, lie one behind the other, and are as long as
the directory says. Sizes are compared with the file's, and with what deflate can make of so few
bytes, before memory is set aside.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from .refusals import DamagedFile, shown

_LOCAL = struct.Struct("<4s22x2H")  # the header before a record: its mark, and two lengths
_DENSEST = 1040  # deflate makes at most 1,032 bytes of one, and some of none
_ENCRYPTED, _UTF8 = 0x1, 0x800  # flags of a record
_PIECE = 1 << 20


class Archive:
    """The records of a zip file, by name."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        file.seek(0, io.SEEK_END)
        self._size = file.tell()
        self._records: dict[str, zipfile.ZipInfo] = {}
        with zipfile.ZipFile(file) as directory:
            records = directory.infolist()
        for record in records:
            self._check(record)
            self._records[record.filename] = record
        _check_apart(records, self._size)

    def _check(self, record: zipfile.ZipInfo) -> None:
        name = shown(record.filename)
        if record.filename in self._records:
            raise DamagedFile(f"its archive has two records {name}")
        if record.flag_bits & _ENCRYPTED:
            raise DamagedFile(f"record {name} of its archive is encrypted")
        if record.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedFile(f"record {name} of its archive is neither plain nor deflated")
        plain = record.compress_type == zipfile.ZIP_STORED
        if plain and record.file_size != record.compress_size:
            raise DamagedFile(f"record {name} of its archive has two sizes")
        if record.file_size > _DENSEST * (record.compress_size + 1):
            raise DamagedFile(f"record {name} of its archive cannot be as large as it says")

    def names(self) -> list[str]:
        """The names of all records."""
        return list(self._records)

    def find(self, name: str) -> zipfile.ZipInfo | None:
        """A record."""
        return self._records.get(name)

    def read(self, record: zipfile.ZipInfo, at_most: int) -> Any:
        """The bytes of a record, as an array that can be written to."""
        name = shown(record.filename)
        if record.file_size > at_most:
            raise DamagedFile(
                f"record {name} of its archive has {record.file_size} bytes, more than {at_most}"
            )
        self._go_to(record)
        out: Any = np.empty(record.file_size, np.uint8)
        if record.compress_type == zipfile.ZIP_STORED:
            done = self._copied(memoryview(out))
        else:
            done = self._inflated(record, memoryview(out))
        if not done or zlib.crc32(out) != record.CRC:
            raise DamagedFile(f"Bad CRC-32 for record {name}")
        return out

    def beginning(self, record: zipfile.ZipInfo, length: int) -> bytes:
        """The first bytes of a record, not checked against its sum."""
        self._go_to(record)
        data = self._file.read(min(length, record.compress_size))
        if record.compress_type == zipfile.ZIP_STORED:
            return data
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, length)

    def _go_to(self, record: zipfile.ZipInfo) -> None:
        """To the first byte of a record, behind its header."""
        name = shown(record.filename)
        self._file.seek(record.header_offset)
        header = self._file.read(_LOCAL.size)
        if len(header) != _LOCAL.size or header[:4] != b"PK\x03\x04":
            raise DamagedFile(f"record {name} of its archive is not where the directory says")
        _, name_length, extra_length = _LOCAL.unpack(header)
        coding = "utf-8" if record.flag_bits & _UTF8 else "cp437"
        if self._file.read(name_length) != record.orig_filename.encode(coding):
            raise DamagedFile(f"record {name} of its archive has two names")
        self._file.seek(extra_length, io.SEEK_CUR)

    def _copied(self, out: memoryview) -> bool:
        """Read as many bytes as there is room for."""
        into = getattr(self._file, "readinto", None)
        start = 0
        while start < len(out):
            if into is not None:
                count = into(out[start:]) or 0
            else:
                piece = self._file.read(min(_PIECE, len(out) - start))
                count = len(piece)
                out[start : start + count] = piece
            if not count:
                return False
            start += count
        return True

    def _inflated(self, record: zipfile.ZipInfo, out: memoryview) -> bool:
        """Inflate into as many bytes as there is room for, and no more."""
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        left, start, waiting = record.compress_size, 0, b""
        while not stream.eof:
            if not waiting:
                waiting = self._file.read(min(_PIECE, left))
                left -= len(waiting)
                if not waiting:
                    return False
            made = stream.decompress(waiting, min(_PIECE, len(out) - start) + 1)
            waiting = stream.unconsumed_tail
            if start + len(made) > len(out):
                return False
            out[start : start + len(made)] = made
            start += len(made)
        return start == len(out)


def _check_apart(records: list[zipfile.ZipInfo], size: int) -> None:
    """Records may not lie over each other: the same bytes would be unpacked again and again."""
    end = 0
    for record in sorted(records, key=lambda record: record.header_offset):
        if record.header_offset < end:
            raise DamagedFile(f"record {shown(record.filename)} of its archive overlaps another")
        end = record.header_offset + _LOCAL.size + record.compress_size
    if end > size:
        raise DamagedFile("its archive ends in the middle of a record")
