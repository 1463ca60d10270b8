"""The format of before PyTorch 1.6, and of `_use_new_zipfile_serialization=False`: pickles, then the tensors' memory.

Five pickles follow each other (a magic number, a version, the machine, the object, the storages' keys),
then each storage's length and bytes. How wide the elements are stands in the object's pickle, so it is
skimmed first for its storages, by an interpreter that makes nothing of it; then it is read as any
other, with the storages as records. Nothing in the file is run.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import struct
from collections import OrderedDict
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from .._arrays.dtypes import uint8
from .allowance import Allowance
from .pickle_machine import PickleMachine
from .refusals import DamagedFile, UnsafeFile, shown

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001
_START = pickle.dumps(MAGIC, 2)[2:]  # behind the protocol's number
_FRAME = 9  # bytes of a frame's head, from protocol 4 on
_LENGTH = struct.Struct("<q")
_HEADS = 1 << 12  # bytes of a pickle of numbers
_DATA = "data/"


def is_legacy(file: IO[bytes]) -> bool:
    """Whether a file goes on with the old format from where it is; it stays there."""
    place = file.tell()
    start = file.read(2 + _FRAME + len(_START))
    file.seek(place)
    return start[:1] == b"\x80" and start.find(_START) in (2, 2 + _FRAME)


@dataclass
class Record:
    """Bytes of the file."""

    filename: str
    start: int
    file_size: int

    @property
    def compress_size(self) -> int:
        return self.file_size


class LegacyArchive:
    """A file in the old format as an archive: `data.pkl` and a record for each storage."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.records: dict[str, Record] = {}
        if self._plain() != MAGIC:
            raise DamagedFile("Invalid magic number; corrupt file?")
        if self._plain() != VERSION:
            raise DamagedFile("Invalid protocol version")
        machine = self._plain()
        if type(machine) is not dict or machine.get("little_endian") not in (True, False):
            raise DamagedFile("the old format's third pickle says nothing of the machine")
        self._add("data.pkl", *self._extent())
        pickled = self.read(self.records["data.pkl"], at_most=1 << 62).tobytes()
        file.seek(self.records["data.pkl"].start + len(pickled))
        keys = self._plain(at_most=1 << 30)
        if type(keys) is not list or not all(type(key) is str for key in keys):
            raise DamagedFile("the old format's last pickle is no list of storages")
        widths = _widths(pickled)
        for key in keys:
            count = self._number()
            size = count * widths.get(key, 1)
            self._add(_DATA + key, file.tell(), size)
            if file.seek(size, io.SEEK_CUR) > self._end():
                raise DamagedFile(f"storage {shown(key)} is cut off")
        self.end = file.tell()

    def names(self) -> list[str]:
        """The names of all records."""
        return list(self.records)

    def find(self, name: str) -> Record | None:
        """A record by name."""
        return self.records.get(name)

    def read(self, record: Record, at_most: int) -> Any:
        """The bytes of a record, as a writable array."""
        if record.file_size > at_most:
            raise DamagedFile(
                f"record {shown(record.filename)} has {record.file_size} bytes, more than {at_most}"
            )
        self._file.seek(record.start)
        data = self._file.read(record.file_size)
        if len(data) != record.file_size:
            raise DamagedFile(f"record {shown(record.filename)} is cut off")
        return np.frombuffer(bytearray(data), np.uint8)

    def _add(self, name: str, start: int, size: int) -> None:
        if size < 0 or name in self.records:
            raise DamagedFile(f"storage {shown(name)} has a length that none can have")
        self.records[name] = Record(name, start, size)

    def _end(self) -> int:
        place = self._file.tell()
        end = self._file.seek(0, io.SEEK_END)
        self._file.seek(place)
        return end

    def _number(self) -> int:
        data = self._file.read(_LENGTH.size)
        if len(data) != _LENGTH.size:
            raise DamagedFile("the file is cut off before a storage")
        (found,) = _LENGTH.unpack(data)
        if found < 0:
            raise DamagedFile("a storage in the file has a length that none can have")
        return int(found)

    def _extent(self) -> tuple[int, int]:
        """Where the next pickle begins, and how long it is; the file goes to its end."""
        start = self._file.tell()
        for _ in pickletools.genops(self._file):
            pass
        return start, self._file.tell() - start

    def _plain(self, at_most: int = _HEADS) -> Any:
        """The next pickle, of numbers, text and containers."""
        start, size = self._extent()
        if size > at_most:
            raise DamagedFile("a pickle of a few numbers in the file is too long")
        self._file.seek(start)
        return PickleMachine(self._file.read(size), _Nothing(), Allowance(size)).run()


class _Nothing:
    """What a pickle of plain data may name: nothing."""

    def find(self, module: str, name: str) -> Any:
        raise UnsafeFile(f"the file names {shown(f'{module}.{name}')} where only numbers belong")

    def call(self, function: Any, args: Any) -> Any:
        raise UnsafeFile("the file calls something where only numbers belong")

    def build(self, target: Any, state: Any) -> None:
        raise UnsafeFile("the file sets a state where only numbers belong")

    def refer(self, reference: Any) -> Any:
        raise UnsafeFile("the file refers to a storage where only numbers belong")


# ---- skimming ------------------------------------------------------------------------------------


class _Token:
    """What anything in a skimmed pickle is that is no plain data."""


class _Skimming(_Nothing):
    """Notes the storages that a pickle refers to, and makes nothing of the rest."""

    def __init__(self) -> None:
        self.widths: dict[str, int] = {}

    def find(self, module: str, name: str) -> Any:
        from .vocabulary import StorageKind, known_name

        found = known_name(module, name)
        if isinstance(found, StorageKind) or found is OrderedDict:
            return found
        return _Token

    def call(self, function: Any, args: Any) -> Any:
        return OrderedDict() if function is OrderedDict else _Token()

    def build(self, target: Any, state: Any) -> None:
        return None

    def refer(self, reference: Any) -> Any:
        from .vocabulary import StorageKind

        if (
            type(reference) is tuple
            and len(reference) >= 5
            and isinstance(reference[1], StorageKind)
        ):
            key, width = reference[2], reference[1].dtype.numpy.itemsize
            if type(key) is str and self.widths.setdefault(key, width) != width:
                raise DamagedFile(f"storage {shown(key)} in the pickle is of two kinds")
        return _Token if type(reference) is tuple and reference[:1] == ("module",) else _Token()


def _widths(pickled: bytes) -> dict[str, int]:
    """How many bytes an element of each storage has."""
    skimming = _Skimming()
    PickleMachine(pickled, skimming, Allowance(len(pickled), (_Token, type))).run()
    return skimming.widths


# ---- writing -------------------------------------------------------------------------------------


def write_legacy(obj: Any, file: IO[bytes], protocol: int = 2) -> None:
    """Write an object as `torch.save` did before PyTorch 1.6."""
    from .writing import pickled

    text, writer = pickled(obj, protocol, legacy=True)
    for head in (MAGIC, VERSION, _MACHINE):
        pickle.dump(head, file, protocol=protocol)
    file.write(text)
    keys = sorted(str(number) for number in range(len(writer.storages)))
    pickle.dump(keys, file, protocol=protocol)
    for key in keys:
        owner = writer.storages[int(key)]
        width = writer.kind_of(int(key), uint8).numpy.itemsize
        memory = owner if owner.flags.c_contiguous else owner.T
        file.write(_LENGTH.pack(owner.nbytes // width))
        file.write(memory.reshape(-1).view(np.uint8).tobytes())


_MACHINE = {
    "protocol_version": VERSION,
    "little_endian": True,
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}
