"""Where a program's buffers lie on a GPU, and which of them are told anew from main memory at each run.

Everything that a program touches is there: what the recording found in main memory (an optimizer's numbers, a
tensor on the CPU that takes part as a number) has a place on the GPU to which it is sent before each run.
Results of calls that nobody sees afterwards stay where the call put them (`lent`). Gradients that each run makes
anew lie among the scratch buffers (`left`): until a run writes one, what else it computes may lie there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..._arrays.cuda.cuda_array import CudaArray
from ..._arrays.strided import address, storage_of
from ..program.ir import Call, Kind, Program, View, span
from ..program.memory import bytes_at, bytes_of
from ..program.memory_planning import APART, Use, planned, rounded_up
from ..record.tape import span_of
from .device import device


def _start(array: Any) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def _is_ordinary(array: Any) -> bool:
    """Whether an array's memory is surely NumPy's own."""
    return storage_of(array).base is None


def fitting(call: Call, program: Program) -> list[tuple[int, int, int]]:
    """The allocations of a call that are just the buffer of a result: the number of each, the buffer's, the bytes."""
    found = [(place, call.outputs[result].buffer, size) for place, result, size in call.order]
    return [(place, n, size) for place, n, size in found if program.buffers[n].nbytes == size]


class DeviceMemory:
    """The base of every buffer, as bytes on the GPU."""

    def __init__(
        self,
        program: Program,
        uses: Iterable[Use],
        saved: frozenset[int],
        lent: frozenset[int],
        left: frozenset[int] = frozenset(),
        rooms: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """`rooms` are the bytes that some steps need for themselves."""
        self.program = program
        self.device = device()
        self.lent = lent
        self.elsewhere = saved | lent
        offsets, self.scratch_bytes = planned(program, uses, self.elsewhere, left, rooms)
        self.left = left & offsets.keys()
        self._rooms = {step: (offsets[-1 - step], size) for step, size in rooms.items()}
        self.saved_bytes = 0
        for number in sorted(saved):
            offsets[number] = self.scratch_bytes + self.saved_bytes
            self.saved_bytes += rounded_up(program.buffers[number].nbytes)
        self.arena = self.device.allocate(self.scratch_bytes + self.saved_bytes)
        self.saved = self.device.placed(
            self.arena, (self.saved_bytes,), np.dtype(np.uint8), self.scratch_bytes, (1,)
        )
        self._bases: list[tuple[Any, int] | None] = [None] * len(program.buffers)
        self._arrays: dict[View, Any] = {}
        self._told: list[tuple[Any, int, int]] = []  # bytes of main memory, where they go, how many
        told = 0
        for buffer in program.buffers:
            here = buffer.array is None or type(buffer.array) is CudaArray
            if buffer.number in offsets:
                self._bases[buffer.number] = self.arena, offsets[buffer.number]
            elif buffer.number in lent or buffer.kind is Kind.SCRATCH:
                continue
            elif buffer.kind is Kind.ARGUMENT:
                self._bases[buffer.number] = self.device.allocate(buffer.nbytes), 0
            elif here:
                self._bases[buffer.number] = buffer.array.raw, 0
            elif buffer.kind is Kind.CONSTANT:
                base = self.device.allocate(buffer.nbytes)
                source = bytes_of(buffer.array)
                self._send(self.device.address(base), _start(source), source.nbytes, buffer.array)
                self._bases[buffer.number] = base, 0
            else:
                self._told.append((bytes_of(buffer.array), told, buffer.number))
                told += rounded_up(buffer.nbytes)
        self._numbers = self.device.allocate(told)
        self._staged = np.zeros(max(told, 1), np.uint8)
        for _, at, number in self._told:
            self._bases[number] = self._numbers, at
        if len(self._told) == 1 and _is_ordinary(program.buffers[self._told[0][2]].array):
            self._staged = self._told[0][0]
        self._from, self._to = _start(self._staged), self.device.address(self._numbers)

    def tell(self) -> None:
        """Send what main memory holds and may have changed."""
        if not self._told:
            return
        staged = self._staged
        if staged is not self._told[0][0]:
            for source, at, _ in self._told:
                staged[at : at + source.nbytes] = source
        self.device.send(self._to, self._from, staged.nbytes)

    def take(self, view: View, array: Any) -> None:
        """Copy an argument, with what lies between its elements, to its place."""
        low, high = span_of(array)
        if high <= low:
            return
        place = self.start(view.buffer) + view.offset + low - address(array)
        if type(array) is CudaArray:
            self.device.copy(place, low, high - low)
        else:
            self._send(place, low, high - low, array)

    def _send(self, address: int, source: int, nbytes: int, array: Any) -> None:
        """Send bytes of an array in main memory, which may change as soon as this returns.

        That holds of ordinary memory; what is locked for transfers is read later, and so copied first.
        """
        if _is_ordinary(array):
            self.device.send(address, source, nbytes)
        else:
            room = bytes_at(source, nbytes).copy()
            self.device.send(address, _start(room), nbytes)

    def taking(self, view: View) -> Callable[[Any], None]:
        """A function that takes an argument of the form that was recorded, from the GPU's memory."""
        low, high = span(view)
        copy, place, before, size = (
            self.device.copy,
            self.start(view.buffer),
            low - view.offset,
            high - low,
        )

        def take(array: Any) -> None:
            copy(place + low, array.address + before, size)

        return take if view.size else lambda array: None

    def room_at(self, step: int) -> Callable[[int], Any] | None:
        """A function that hands out the memory that was planned for a step alone; None where there is none."""
        if step not in self._rooms:
            return None
        low = rounded_up(self._rooms[step][0], APART)
        left = [low, sum(self._rooms[step])]

        def room(size: int) -> Any:
            start, end = left
            if not 0 < size <= end - start:
                return None
            left[0] = rounded_up(start + size, APART)
            return self.device.piece(self.arena, start, size)

        return room

    def slots_of(self, call: Call) -> dict[int, tuple[int, Any]]:
        """The places of a call's results by the number of the allocation that makes each, with how many bytes."""
        found: dict[int, tuple[int, Any]] = {}
        for place, number, size in fitting(call, self.program):
            raw, start = self._bases[number] or (None, 0)
            if raw is self.arena:
                found[place] = size, self.device.piece(raw, start, size)
        return found

    def lend(self, number: int, raw: Any) -> None:
        """From now on a buffer is this piece of memory, in which a call has put its result."""
        self._bases[number] = raw, 0

    def left_behind(self, view: View) -> Any:
        """What a run leaves for others, as an array whose memory is nobody else's as far as they can see."""
        base = self._bases[view.buffer]
        assert base is not None
        size = self.program.buffers[view.buffer].nbytes
        own = self.device.apart(*base, size)
        return self.device.placed(own, view.shape, view.dtype, view.offset, view.strides)

    def let_go(self, number: int) -> None:
        """Nobody reads the result of a call any more."""
        self._bases[number] = None

    def start(self, number: int) -> int:
        """Where a buffer begins."""
        found = self._bases[number]
        assert found is not None
        return int(self.device.address(found[0])) + found[1]

    def array(self, view: View, new: bool = False) -> Any:
        """A view as an array; always the same one, unless a new one is asked for."""
        if not view.size:
            return self.device.placed(self.arena, view.shape, view.dtype, 0, view.strides)
        found = self._arrays.get(view)
        if found is None or new:
            base = self._bases[view.buffer]
            assert base is not None
            raw, start = base
            found = self.device.placed(
                raw, view.shape, view.dtype, start + view.offset, view.strides
            )
            if view.buffer not in self.lent and not new:
                self._arrays[view] = found
        return found
