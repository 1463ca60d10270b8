"""Lowering from end to end: instructions to text, text to machine code, and the call of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..._tensor.settings import get_num_threads
from ..program.ir import Buffer, Instruction
from .described import Fused
from .disk_cache.lowered import Lowered, lowered
from .llvm import jit, module, thread_pool
from .llvm.c_functions import ONE_ARGUMENT, Method, function_of, symbols_of
from .products import blas

_USED = ("PyLong_AsVoidPtr", "PyLong_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread")


class Native:
    """Compiled instructions. It has memory of its own: one run at a time.

    `call(table)` is the cheapest way in: a function of CPython's own kind made of machine code, which
    takes the address of an array of addresses (by buffer number) and returns the status, 0 if all went
    well and else one more than the number of the instruction that had an index out of range. `address` is
    that of the C function `int (void *table, void *own)`, to be given `own`.
    """

    def __init__(self, lowered: Lowered) -> None:
        self.kernels: list[Fused] = lowered.kernels
        self.functions = lowered.functions
        self.cached = lowered.cached
        self.own_bytes = lowered.scratch
        self._make = lowered.make
        self._loaded = loaded = jit.Loaded(lowered.code, _symbols())
        self.address = loaded.address(module.ENTRY)
        self._method = Method(b"run_program", loaded.address(module.CALL), ONE_ARGUMENT, None)
        self._take_memory()

    def _take_memory(self) -> None:
        self._memory = np.zeros(self.own_bytes + 64, np.uint8)
        start = self._memory.ctypes.data
        self.own = start + (-start) % 64
        self.call: Callable[[int], int] = function_of(self._method, self.own, self._loaded)

    def twin(self) -> Native:
        """The same code with other memory, to run beside this."""
        other = copy.copy(self)
        other._take_memory()
        return other

    @property
    def text(self) -> str:
        """Of the module, in LLVM's assembly language."""
        return self._make().text

    def call_kernel(self, table: int, number: int) -> int:
        """Run one kernel only, of those in `kernels`; the status."""
        words = self._memory[self.own - self._memory.ctypes.data :][: module.START].view(np.int64)
        words[module.FIRST // 8], words[module.LAST // 8] = number, number + 1
        try:
            return self.call(table)
        finally:
            words[module.FIRST // 8] = words[module.LAST // 8] = 0

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


def _symbols() -> dict[str, int]:
    """Functions outside that machine code calls, and where they are."""
    found = blas()
    symbols = (
        {f"taut.{name}": address for name, address in found.addresses.items()} if found else {}
    )
    return symbols | symbols_of(_USED) | thread_pool.symbols()
