"""Arrays over the bytes of a file: `from_file` of tensors and storages."""

from __future__ import annotations

import mmap
import os
import stat
from typing import Any

import numpy as np

_LARGEST = 2**63 - 1
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def mapped_file(filename: Any, shared: Any, count: Any, kind: Any) -> Any:
    """An array over a file's bytes; the file grows to hold `count` elements if `shared`.

    Without `shared` it is a private mapping: nothing is read before it is used and nothing is written.
    """
    name = _name_of_file(filename)
    if shared is not None and not isinstance(shared, bool):
        raise TypeError(_wrong("shared", 2, "bool", shared))
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
        raise TypeError(_wrong("size", 3, "int", count))
    needed = int(count) * kind.itemsize
    if needed < 0 or needed > _LARGEST:
        raise RuntimeError(
            f"unable to mmap {needed} bytes from file <{name}>: Cannot allocate memory (12)"
        )
    if not needed:
        return np.empty(0, kind)
    return np.frombuffer(_mapping(name, bool(shared), needed), kind)


def _name_of_file(filename: Any) -> str:
    """The name as text; a number would be a descriptor, which belongs to somebody and would be closed."""
    if not isinstance(filename, (str, bytes)):
        raise TypeError(_wrong("filename", 1, "str", filename))
    name = os.fsdecode(filename)
    if not name or "\0" in name:
        raise RuntimeError(f"unable to open file <{name or 'filename not specified'}>: not a name")
    return name


def _wrong(name: str, position: int, wanted: str, given: Any) -> str:
    found = type(given).__name__
    return f"from_file(): argument '{name}' (position {position}) must be {wanted}, not {found}"


def _mapping(name: str, shared: bool, needed: int) -> mmap.mmap:
    mode = "read-write" if shared else "read-only"
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        descriptor = os.open(name, flags | _WITHOUT_WAITING, 0o600)
    except OSError as error:
        raise RuntimeError(
            f"unable to open file <{name}> in {mode} mode: {error.strerror} ({error.errno})"
        ) from None
    try:
        found = os.fstat(descriptor)
        size = found.st_size
        if not stat.S_ISREG(found.st_mode):
            raise RuntimeError(
                f"unable to mmap {needed} bytes from file <{name}>: not a regular file"
            )
        if size < needed and not shared:
            raise RuntimeError(
                f"file <{name}> size <{size}> is smaller than the required mapping size <{needed}>"
            )
        if size < needed:
            os.ftruncate(descriptor, needed)
        return mmap.mmap(
            descriptor, needed, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        )
    except OSError as error:
        raise RuntimeError(
            f"unable to mmap {needed} bytes from file <{name}>: {error.strerror} ({error.errno})"
        ) from None
    finally:
        os.close(descriptor)
