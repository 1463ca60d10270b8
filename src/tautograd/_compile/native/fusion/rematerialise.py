"""What was stored long ago for one reader is computed again for a late one, if what it is made of is there anyway.

The output of a normalization is read by a product, and again by that product's gradient at the other end of
the program. It need not lie in memory in between: the input and its mean do, for the gradient of the
normalization itself.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ...dynamic.size import example
from ...program.ir import Map, Number, View
from .deferred import CHEAP, MOST, Waiting
from .normalise import Normal

FAR = 10  # nests
LARGE = 1 << 16  # bytes
SOON = 48  # instructions, within which the same is computed anyway


class Again:
    """How results in memory were made, and when they were last written."""

    def __init__(self, normal: Normal, waiting: Waiting) -> None:
        self.waiting = waiting
        self.normal = normal
        self.originals = list(normal.instructions)
        self._maker: dict[int, int] = {}  # of a buffer: the one instruction that writes it
        self._placed: dict[int, int] = {}  # of a buffer in memory: the nest that wrote it last
        self._written: dict[int, int] = {}  # of a buffer: the last instruction so far that wrote it
        self._value, self._others = _same_values(normal, waiting)

    def note(self, number: int) -> None:
        """An instruction has come up in its turn."""
        instruction = self.originals[number]
        for view in instruction.writes():
            self._written[view.buffer] = number
        if isinstance(instruction, Map) and self.waiting.is_own(number):
            self._maker[instruction.output.buffer] = number

    def stored(self, number: int, place: int) -> None:
        """A result was written to memory."""
        for view in self.originals[number].writes():
            self._placed[view.buffer] = place

    def revive(self, buffer: int, number: int, place: int) -> None:
        """Let a buffer wait once more, if instruction `number` at nest `place` is far from where it was made."""
        made = self._placed.get(buffer)
        large = example(self.normal.buffers[buffer].nbytes) >= LARGE
        if made is None or not large or place - made <= FAR or buffer not in self._maker:
            return
        found: dict[int, None] = {}
        if not self._recipe(buffer, number, found, self.normal.buffers[buffer].nbytes):
            return
        for maker in found:
            self.normal.instructions[maker] = self.originals[maker]
            self.waiting.put_off(maker)

    def _recipe(self, buffer: int, number: int, found: dict[int, None], size: int) -> bool:
        """Instructions that make a buffer from memory that is in use beyond `number`; False if there are none."""
        maker = self._maker.get(buffer)
        if maker is None or len(found) >= MOST:
            return False
        instruction = self.originals[maker]
        assert isinstance(instruction, Map)
        if instruction.function not in CHEAP and not self._comes_soon(buffer, number):
            return False
        for view in instruction.reads():
            if self._maker.get(view.buffer) in found:
                continue
            changed = self._written.get(view.buffer, -1) > maker
            if not changed and self._is_there(view.buffer, number, size):
                continue
            if not self._recipe(view.buffer, number, found, size):
                return False
        found[maker] = None
        return True

    def _is_there(self, buffer: int, number: int, size: int) -> bool:
        if buffer in self.waiting.at or (buffer not in self._placed and buffer in self._maker):
            return False  # it is not in memory
        small = 16 * example(self.normal.buffers[buffer].nbytes) <= example(size)
        return small or self.waiting.is_used(buffer, number)

    def _comes_soon(self, buffer: int, number: int) -> bool:
        others = self._others.get(self._value.get(buffer, -1), ())
        return any(number <= other <= number + SOON for other in others)


def _same_values(normal: Normal, waiting: Waiting) -> tuple[dict[int, int], dict[int, list[int]]]:
    """For each buffer a number that is the same if its content is; and the instructions that compute it."""
    value: dict[int, int] = {}
    others: dict[int, list[int]] = {}
    known: dict[Hashable, int] = {}
    versions: dict[int, int] = {}

    def name(x: View | Number) -> Hashable:
        if isinstance(x, Number):
            number = np.asarray(x.value)
            return number.dtype, number.tobytes()
        where = value.get(x.buffer, x.buffer), versions.get(x.buffer, 0)
        return where, x.offset, x.shape, x.strides, x.dtype

    for number, instruction in enumerate(normal.instructions):
        if isinstance(instruction, Map) and waiting.is_own(number):
            out = instruction.output
            inputs = tuple(name(x) for x in instruction.inputs)
            place = out.offset, out.shape, out.strides, out.dtype
            key = (instruction.function, instruction.loop, inputs, place)
            value[out.buffer] = known.setdefault(key, out.buffer)
            others.setdefault(value[out.buffer], []).append(number)
            continue
        for view in instruction.writes():
            versions[view.buffer] = versions.get(view.buffer, 0) + 1
    return value, others
