"""Memory that several processes see: a file without a name, mapped into each of them.

`share_memory_` moves a tensor's elements there. A process that is forked has the mapping; to others the
file's descriptor is handed over (`multiprocessing.reductions`).
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from typing import Any

import numpy as np


class Region(mmap.mmap):
    """A stretch of shared memory, which arrays in it lead back to (`region_of`), and its file."""

    fd: int

    def array(self, dtype: Any, shape: Any, strides: Any, offset: int) -> Any:
        """The elements that a tensor has here."""
        return np.ndarray(shape, dtype, np.frombuffer(self, np.uint8), offset, strides)

    def start(self) -> int:
        """The address of the first byte."""
        return int(np.frombuffer(self, np.uint8).__array_interface__["data"][0])


def region_at(fd: int, size: int) -> Region:
    """The memory of a file, which is closed when no array is left in it."""
    found = Region(fd, size)
    found.fd = fd
    weakref.finalize(found, os.close, fd)
    return found


def new_region(size: int) -> Region:
    """Shared memory of this many bytes, all zero."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("tautograd")
    else:
        fd, path = tempfile.mkstemp(prefix="tautograd-")
        os.unlink(path)
    os.ftruncate(fd, size)
    return region_at(fd, size)


def region_of(array: Any) -> Region | None:
    """The shared memory in which an array lies, or None."""
    while isinstance(array, (np.ndarray, memoryview)):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array if isinstance(array, Region) else None


def shared(array: Any) -> Any:
    """A copy of an array, laid out as it is, in shared memory; one without elements as it is."""
    if not array.size:
        return array
    low, high = np.lib.array_utils.byte_bounds(array)
    offset = array.__array_interface__["data"][0] - low
    found = new_region(high - low).array(array.dtype, array.shape, array.strides, offset)
    found[...] = array
    return found
