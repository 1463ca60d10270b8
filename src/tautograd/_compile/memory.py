"""Where a program's buffers lie: scratch memory planned so that what is never alive together shares it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

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


class Use(NamedTuple):
    """The buffers that a step reads or writes, and those of which it writes all and reads nothing."""

    buffers: set[int]
    filled: frozenset[int] = frozenset()


class Memory:
    """The base of every buffer: bytes, and the table of addresses that native code reads."""

    def __init__(
        self, program: Program, uses: Iterable[Use], saved: frozenset[int] = frozenset()
    ) -> None:
        self.program = program
        offsets, self.scratch_bytes = planned(program, uses, saved)
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
    program: Program, uses: Iterable[Use], elsewhere: frozenset[int]
) -> tuple[dict[int, int], int]:
    """An offset for each scratch buffer, so that those which are in use at one time lie apart: first fit.

    `uses` are what each step of the program reads or writes, in the order of steps.
    """
    times: dict[
        int, list[tuple[int, int]]
    ] = {}  # when a buffer is in use: first and last step, in turn
    for i, use in enumerate(uses):
        for number in use.buffers:
            if program.buffers[number].kind is not Kind.SCRATCH or number in elsewhere:
                continue
            spans = times.setdefault(number, [])
            if not spans or number in use.filled:
                spans.append((i, i))
            else:
                spans[-1] = (spans[-1][0], i)
    by_time = sorted(times, key=lambda n: (times[n][0][0], -program.buffers[n].nbytes))
    by_size = sorted(times, key=lambda n: (-program.buffers[n].nbytes, times[n][0][0]))
    plans = [_fitted(program, order, times) for order in (by_time, by_size)]
    return min(plans, key=lambda plan: plan[1])


def _fitted(
    program: Program, order: list[int], times: dict[int, list[tuple[int, int]]]
) -> tuple[dict[int, int], int]:
    """Each buffer in turn at the lowest place that is free while it is in use."""
    offsets: dict[int, int] = {}
    total = 0
    for number in order:
        size = rounded_up(program.buffers[number].nbytes)
        at = 0
        taken = [
            (place, place + rounded_up(program.buffers[other].nbytes))
            for other, place in offsets.items()
            if _meet(times[number], times[other])
        ]
        for start, end in sorted(taken):
            if start - at >= size:
                break
            at = max(at, end)
        offsets[number] = at
        total = max(total, at + size)
    return offsets, total


def _meet(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    return any(a <= d and c <= b for a, b in one for c, d in other)
