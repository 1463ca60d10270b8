"""Where a program's buffers lie: scratch memory planned so that what is never alive together shares it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from .ir import Kind, Program, View

ALIGNMENT = 64


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


class Memory:
    """The base of every buffer: bytes, and the table of addresses that native code reads."""

    def __init__(
        self, program: Program, touched: Iterable[set[int]], saved: frozenset[int] = frozenset()
    ) -> None:
        self.program = program
        offsets, self.scratch_bytes = planned(program, touched, saved)
        self.saved_bytes = 0
        for number in sorted(
            saved
        ):  # one after the other, so that they can be put aside in one piece
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

    def array(self, view: View) -> Any:
        """A view as an array, over memory that stays where it is."""
        if not view.size:
            return np.empty(view.shape, view.dtype)
        return np.ndarray(
            view.shape, view.dtype, self.bases[view.buffer], view.offset, view.strides
        )


def rounded_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def planned(
    program: Program, touched: Iterable[set[int]], elsewhere: frozenset[int]
) -> tuple[dict[int, int], int]:
    """An offset for each scratch buffer: first fit, in the order of first use.

    `touched` are the buffers that each step of the program reads or writes, in the order of steps.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, numbers in enumerate(touched):
        for number in numbers:
            if program.buffers[number].kind is Kind.SCRATCH:
                first.setdefault(number, i)
                last[number] = i
    offsets: dict[int, int] = {}
    alive: list[tuple[int, int, int]] = []  # (start, end, last use), by start
    total = 0
    for number in sorted(first, key=lambda n: (first[n], -program.buffers[n].nbytes)):
        if number in elsewhere:
            continue
        size = rounded_up(program.buffers[number].nbytes)
        alive = [entry for entry in alive if entry[2] >= first[number]]
        at = 0
        for start, end, _ in alive:
            if start - at >= size:
                break
            at = max(at, end)
        offsets[number] = at
        alive.append((at, at + size, last[number]))
        alive.sort()
        total = max(total, at + size)
    return offsets, total
