"""A random generator that is put back to where it was: its words are copied as memory, which takes no time."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from ..program.memory import bytes_at

_WORDS = 624
_BYTES = 4 * _WORDS + 4  # of the words, and of the place of the next one
_REST = ("_initial_seed", "_untouched", "next_double_normal", "next_float_normal")
_rest_of = attrgetter(*_REST)


class Rewinding:
    """One generator, and where it was when `keep` was called."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator
        self.memory = None if generator.on_gpu else _memory_of(generator._core)
        self.words: Any = None if self.memory is None else memoryview(bytearray(self.memory))
        self.rest: tuple[Any, ...] = ()

    def keep(self) -> None:
        generator = self.generator
        if self.memory is None:
            self.words = generator.get_state()
            return
        self.words[:] = self.memory
        self.rest = _rest_of(generator)

    def put_back(self) -> None:
        generator = self.generator
        if self.memory is None:
            generator.set_state(self.words)
            return
        self.memory[:] = self.words
        for name, value in zip(_REST, self.rest, strict=True):
            setattr(generator, name, value)


def _memory_of(pump: Any) -> Any:
    """The memory of a Mersenne Twister; None where it is not laid out as it is known to be."""
    try:
        memory = bytes_at(pump._bit_generator.ctypes.state_address, _BYTES)
    except AttributeError:
        return None
    found = memory.view(np.uint32)
    _, words, place, _, _ = pump.get_state(legacy=True)
    alike = np.array_equal(found[:_WORDS], words) and found[_WORDS] == place
    return memoryview(memory) if alike else None
