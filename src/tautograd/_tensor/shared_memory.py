"""Memory that several processes see: an unnamed file, mapped into each of them.

`share_memory_` moves a tensor's elements there. A forked process inherits the mapping; others are sent the
file's descriptor (`multiprocessing.reductions`).
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from typing import Any

import numpy as np


class Region(mmap.mmap):
    """A region of shared memory with its file; arrays in it lead back to it (`region_of`)."""

    fd: int

    def array(self, dtype: Any, shape: Any, strides: Any, offset: int) -> Any:
        """A tensor's elements in this region."""
        return np.ndarray(shape, dtype, np.frombuffer(self, np.uint8), offset, strides)

    def start(self) -> int:
        """The address of the first byte."""
        return int(np.frombuffer(self, np.uint8).__array_interface__["data"][0])


def region_at(fd: int, size: int) -> Region:
    """The memory of a file, which is closed when no array uses it any more."""
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
    """A copy of an array, with the same layout, in shared memory; an empty array is returned unchanged."""
    if not array.size:
        return array
    low, high = np.lib.array_utils.byte_bounds(array)
    offset = array.__array_interface__["data"][0] - low
    found = new_region(high - low).array(array.dtype, array.shape, array.strides, offset)
    found[...] = array
    return found
