"""The memory of a program: where each buffer lies, and arrays over it."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .ir import Kind, Program, View
from .memory_planning import ALIGNMENT, Use, planned, rounded_up

WORTH_EMPTYING = 1 << 22  # bytes: taking pages anew takes longer than having fewer is worth


def bytes_of(array: Any) -> Any:
    """The memory of an array that owns it, as bytes; the caller keeps the array alive."""
    address = array.__array_interface__["data"][0]
    return bytes_at(address, max(array.nbytes, 1))


def bytes_at(address: int, size: int) -> Any:
    memory = (ctypes.c_char * size).from_address(address)
    return np.frombuffer(memory, np.uint8)  # type: ignore[call-overload]


def give_back() -> None:
    """Hand memory that is free back to the system: a recording keeps every intermediate value for a while."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def empty_pages(memory: Any) -> None:
    """Let the system have the pages of memory whose content nobody needs; at the next touch there are others."""
    advise = getattr(ctypes.CDLL(None), "madvise", None) if sys.platform == "linux" else None
    start = memory.__array_interface__["data"][0]
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    size = (start + memory.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - first
    if advise is not None and size > 0:
        advise(ctypes.c_void_p(first), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


class Memory:
    """The base of every buffer: bytes, and the table of addresses that native code reads."""

    def __init__(
        self,
        program: Program,
        uses: Iterable[Use],
        saved: frozenset[int] = frozenset(),
        places: Mapping[int, tuple[int, int]] = MappingProxyType({}),
    ) -> None:
        """`places` are buffers that lie in others: in which, and where."""
        self.program = program
        offsets, self.scratch_bytes = planned(program, uses, saved)
        for number, (around, at) in places.items():
            offsets[number] = offsets[around] + at
        self.saved_bytes = 0
        # One after the other, so that they can be put aside in one piece.
        for number in sorted(saved):
            offsets[number] = self.scratch_bytes + self.saved_bytes
            self.saved_bytes += rounded_up(program.buffers[number].nbytes)
        total = self.scratch_bytes + self.saved_bytes
        room = np.empty(total + ALIGNMENT, np.uint8)
        skip = -room.__array_interface__["data"][0] % ALIGNMENT
        self.arena = room[skip : skip + total]
        self.saved = self.arena[self.scratch_bytes :]
        self.table = np.zeros(max(len(program.buffers), 1), np.uintp)
        self.bases: list[Any] = [None] * len(program.buffers)
        for buffer in program.buffers:
            base = None
            if buffer.number in offsets:
                at = offsets[buffer.number]
                base = self.arena[at : at + buffer.nbytes]
            elif buffer.kind in (Kind.EXTERNAL, Kind.CONSTANT, Kind.KEPT):
                base = bytes_of(buffer.array)
            if base is not None:
                self.bases[buffer.number] = base
                self.table[buffer.number] = base.__array_interface__["data"][0]

    def empty_scratch(self) -> bool:
        """Between two runs, while the function runs as written: do without the memory that only a run needs."""
        if self.scratch_bytes < WORTH_EMPTYING:
            return False
        empty_pages(self.arena[: self.scratch_bytes])
        return True

    def array(self, view: View) -> Any:
        """A view as an array, over memory that stays where it is."""
        if not view.size:
            return np.empty(view.shape, view.dtype)
        return np.ndarray(
            view.shape, view.dtype, self.bases[view.buffer], view.offset, view.strides
        )
