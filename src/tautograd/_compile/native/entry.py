"""Lowering from end to end: instructions to text, text to machine code, and the call of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..._tensor.settings import get_num_threads
from ..program.ir import Buffer, Instruction
from .described import Fused
from .disk_cache.lowered import Lowered, lowered
from .llvm import jit, player, thread_pool
from .llvm.c_functions import function_of


class Native:
    """Compiled instructions. It has memory of its own: one run at a time.

    `call(table)` is the cheapest way in: a function of CPython's own kind made of machine code, which
    takes the address of an array of addresses (by buffer number) and returns the status, 0 if all went
    well and else one more than the number of the instruction that had an index out of range. `address` is
    that of the C function `int (void *table, void *own)`, to be given `own`.
    """

    def __init__(self, lowered: Lowered) -> None:
        self.kernels: list[Fused] = lowered.kernels
        self.functions = len(lowered.functions)
        self.cached = lowered.cached
        self.own_bytes = lowered.scratch
        self.lowered = lowered
        self._player = player.player()
        self.address = self._player.address
        self._score = _score(lowered)
        self._take_memory()

    def _take_memory(self) -> None:
        at = -(-self.own_bytes // 64) * 64
        self._memory = np.zeros(at + self._score.nbytes + 64, np.uint8)
        start = self._memory.ctypes.data
        self.own = start + (-start) % 64
        inside = self._memory[self.own - start :]
        inside[at : at + self._score.nbytes] = self._score.view(np.uint8)
        self._words = inside[: player.START].view(np.int64)
        self._words[player.SCORE // 8] = self.own + at
        self._words[player.COUNT // 8] = len(self.lowered.calls)
        self._words[player.AROUND // 8] = self.lowered.around
        held = self.lowered.functions, self._memory
        self.call: Callable[[int], int] = function_of(self._player.method, self.own, held)

    def twin(self) -> Native:
        """The same code with other memory, to run beside this."""
        other = copy.copy(self)
        other._take_memory()
        return other

    @property
    def text(self) -> str:
        """Of the module, in LLVM's assembly language."""
        return self.lowered.make().text

    def call_kernel(self, table: int, number: int) -> int:
        """Run one kernel only, of those in `kernels`; the status."""
        words = self._words
        words[player.FIRST // 8], words[player.LAST // 8] = number, number + 1
        try:
            return self.call(table)
        finally:
            words[player.FIRST // 8] = words[player.LAST // 8] = 0

    def run(self, table: int) -> None:
        """Run on the buffers whose addresses stand in an array at `table`, by buffer number."""
        status = self.call(table)
        if status:
            raise IndexError(f"index out of range in instruction {status - 1}")


def lower(
    instructions: Sequence[Instruction],
    buffers: Iterable[Buffer],
    needed: Iterable[int],
    alone: bool = False,
) -> Native:
    """Compile instructions; `needed` are the buffers whose content is read afterwards.

    What is compiled to run `alone` uses one thread, so that others can run the same beside it.
    """
    vector_bytes = jit.host().vector_bytes
    count = 1 if alone else get_num_threads()
    if not alone:
        thread_pool.use_threads(count)
    count = min(count, thread_pool.processors()) if thread_pool.available() else 1
    by_number = {b.number: b for b in buffers}
    return Native(lowered(instructions, by_number, frozenset(needed), vector_bytes, count))


def _score(lowered: Lowered) -> np.ndarray:
    """The calls of a program as `player` reads them."""
    words: list[int] = []
    for function, units, flags, pointers, numbers in lowered.calls:
        words += [lowered.functions[function].address, units, flags, len(pointers), len(numbers)]
        for base, far in pointers:
            words += base, far
        words += [0] * len(pointers)
        words += numbers
    return np.array(words, np.int64)
