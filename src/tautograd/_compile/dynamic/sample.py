"""A record that is never replayed: it says what a function does at one size, for a template to be fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program.ir import Kind, View
from ..program.memory import bytes_of
from ..run.entry import Entry
from ..run.replay import Replay


class Unlowered(Replay):
    """A program that does not run: of it there is what the recording left."""

    def __init__(self, program: Any, arguments: list[View]) -> None:
        self.program = program
        self.arguments = arguments
        self.why_not_native = "it is a sample"
        self.stretches = []
        self.staged = []
        self.memory = self  # type: ignore[assignment]
        self.saved = frozenset()

    @property
    def scratch_bytes(self) -> int:
        return 0

    def take_over(self) -> bool:
        """What the recording computed on its way is not needed; the next call will want the memory."""
        for buffer in self.program.buffers:
            if buffer.kind in (Kind.SCRATCH, Kind.ARGUMENT):
                buffer.array = None
        return False

    def array(self, view: View) -> Any:
        """What the recording left in a place."""
        base = bytes_of(self.program.buffers[view.buffer].array)
        return np.ndarray(view.shape, view.dtype, base, view.offset, view.strides)


class Sample(Entry):
    """A record of which there is no code, unless what it gives goes backward later, through this record."""

    @property
    def goes_backward(self) -> bool:
        return self.capture.backward is not None

    def _ready(self, native: bool) -> Any:
        if self.goes_backward:
            return super()._ready(native)
        return Unlowered(self.program, self.capture.inputs)

    def _way_in(self) -> Any:
        return None
