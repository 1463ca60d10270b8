"""The zip archive of a `.pt` file, read without trusting anything before it is checked.

Records are stored or deflated, have unique names, do not overlap, and are as long as
the directory says. Sizes are compared with the file's, and with what deflate can produce from so few
bytes, before memory is allocated.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from .refusals import DamagedFile, shown

# The header before a record: its signature, flags, method, two sizes, and the lengths of what follows.
_LOCAL = struct.Struct("<4s2xHH8xIIHH")
_CHECKSUM = 14  # where the checksum stands in the header before a record
_DENSEST = 1040  # deflate expands a byte to at most 1,032, and some to none
_ENCRYPTED, _SIZES_FOLLOW, _UTF8 = 0x1, 0x8, 0x800  # flags of a record
_ELSEWHERE = 0xFFFFFFFF  # a size of more than 32 bits, stored after the name
_PIECE = 1 << 20


class ZipFile(zipfile.ZipFile):
    """A zip archive that is closed only explicitly, not when it is garbage-collected.

    Python's `ZipFile` has a destructor written in Python. A Ctrl-C that arrives while one runs is printed and
    lost: no caller can catch what it raises. This one's runs no line of Python. Nor is half an archive
    closed: that would fail, and hide the original error of a full disk.
    """

    __del__ = object.__init__

    def leave_out_checksums(self) -> None:
        """Write 0 for each record's checksum, here and before the record; to be called before closing."""
        for record in self.filelist:
            record.CRC = 0
            assert self.fp is not None
            place = self.fp.tell()
            self.fp.seek(record.header_offset + _CHECKSUM)
            self.fp.write(bytes(4))
            self.fp.seek(place)


class Archive:
    """The records of a zip file, by name."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._records: dict[str, zipfile.ZipInfo] = {}
        with ZipFile(file) as directory:
            records = directory.infolist()
            end = directory.start_dir
        for record in records:
            self._check(record)
            self._records[record.filename] = record
        self._ends = _ends(records, end)

    def _check(self, record: zipfile.ZipInfo) -> None:
        name = shown(record.filename)
        if record.filename in self._records:
            raise DamagedFile(f"its archive has two records {name}")
        if record.header_offset < 0:
            raise DamagedFile(f"record {name} of its archive begins before the file does")
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
        """A record by name."""
        return self._records.get(name)

    def read(self, record: zipfile.ZipInfo, at_most: int) -> Any:
        """The bytes of a record, as a writable array."""
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
        # A checksum of 0 was left out, as by `set_crc32_options(False)`; PyTorch asks for none.
        if not done or (record.CRC and zlib.crc32(out) != record.CRC):
            raise DamagedFile(f"Bad CRC-32 for record {name}")
        return out

    def beginning(self, record: zipfile.ZipInfo, length: int) -> bytes:
        """The first bytes of a record, not verified against its checksum."""
        self._go_to(record)
        data = self._file.read(min(length, record.compress_size))
        if record.compress_type == zipfile.ZIP_STORED:
            return data
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, length)

    def _go_to(self, record: zipfile.ZipInfo) -> None:
        """Seek to the first byte of a record, after its header."""
        name = shown(record.filename)
        self._file.seek(record.header_offset)
        header = self._file.read(_LOCAL.size)
        if len(header) != _LOCAL.size or header[:4] != b"PK\x03\x04":
            raise DamagedFile(f"record {name} of its archive is not where the directory says")
        _, flags, method, stored, size, name_length, extra_length = _LOCAL.unpack(header)
        coding = "utf-8" if record.flag_bits & _UTF8 else "cp437"
        if self._file.read(name_length) != record.orig_filename.encode(coding):
            raise DamagedFile(f"record {name} of its archive has two names")
        # Other programs trust this header instead of the directory: the two must agree.
        if flags & _ENCRYPTED or method != record.compress_type:
            raise DamagedFile(f"record {name} of its archive is packed in two ways")
        told = ((stored, record.compress_size), (size, record.file_size))
        if not flags & _SIZES_FOLLOW and any(n not in (true, _ELSEWHERE) for n, true in told):
            raise DamagedFile(f"record {name} of its archive has two sizes")
        start = record.header_offset + _LOCAL.size + name_length + extra_length
        if start + record.compress_size > self._ends[record.filename]:
            raise DamagedFile(f"record {name} of its archive overlaps what follows it")
        self._file.seek(start)

    def _copied(self, out: memoryview) -> bool:
        """Read as many bytes as `out` has room for."""
        into = getattr(self._file, "readinto", None)
        start = 0
        while start < len(out):
            if into is not None:
                count = into(out[start:]) or 0
            else:
                piece = self._file.read(min(_PIECE, len(out) - start))
                count = len(piece)
                out[start : start + count] = piece
            if not 0 < count <= len(out) - start:
                return False
            start += count
        return True

    def _inflated(self, record: zipfile.ZipInfo, out: memoryview) -> bool:
        """Inflate into as many bytes as `out` has room for, and no more."""
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


def _ends(records: list[zipfile.ZipInfo], end: int) -> dict[str, int]:
    """Where each record must end at the latest: where the next one begins, or the directory.

    Records must not overlap: the same bytes would be unpacked again and again.
    """
    ends = {}
    for record in sorted(records, key=lambda record: record.header_offset, reverse=True):
        if record.header_offset + _LOCAL.size + record.compress_size > end:
            raise DamagedFile(f"record {shown(record.filename)} of its archive overlaps another")
        ends[record.filename] = end
        end = record.header_offset
    return ends
