"""Lowering from end to end: instructions to text, text to machine code, and the call of it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..ir import Buffer, Instruction
from . import engine, module
from .module import Fused
from .products import blas


class Native:
    """Compiled instructions. It has memory of its own: one run at a time."""

    def __init__(self, loaded: engine.Loaded, built: module.Module) -> None:
        self.kernels: list[Fused] = built.kernels
        self.functions = built.functions
        self._loaded = loaded
        self._own = np.zeros(built.scratch + 64, np.uint8)
        self.scratch_bytes = built.scratch
        start = self._own.ctypes.data
        self.own = start + (-start) % 64
        self.address = loaded.address(module.ENTRY)
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._function: Any = prototype(self.address)

    def run(self, table: int) -> None:
        """Run on the buffers whose addresses stand in an array at `table`, by buffer number."""
        status = self._function(table, self.own)
        if status:
            raise IndexError(f"index out of range in instruction {status - 1}")


def lower(
    instructions: Sequence[Instruction], buffers: Iterable[Buffer], needed: Iterable[int]
) -> Native:
    """Compile instructions; `needed` are the buffers whose content is read afterwards."""
    vector_bytes = engine.host().vector_bytes
    built = module.build(instructions, {b.number: b for b in buffers}, needed, vector_bytes)
    found = blas()
    symbols = {f"taut.{n}": a for n, a in found.addresses.items()} if found else {}
    code = engine.assemble(built.text)
    return Native(engine.Loaded(code, symbols), built)
