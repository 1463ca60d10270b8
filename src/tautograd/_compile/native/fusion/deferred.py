"""Cheap values wait: they are computed where they are read, in registers, and not where they are written.

The difference of a row from its mean is one instruction to compute and one stream of memory to store. So a
cheap elementwise result that only this program sees is not placed when it comes up. Each loop that reads it
computes it again from what it was made of; it is stored only for those who need it in memory (a product,
a reader in another order), or before something it is made of is overwritten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...dynamic.size import example
from ...program.ir import Instruction, Kind, Map, Reduce, View, overlap, rewritten
from .liveness import covers
from .normalise import Normal

CHEAP = frozenset(
    (
        *("add", "subtract", "multiply", "negative", "absolute", "maximum", "minimum", "square"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "where", "cast"),
        *("logical_and", "logical_or", "logical_not", "logical_xor", "invert"),
    )
)
MOST = 12  # instructions that are computed again for one reader
NEARBY = 32  # instructions: what was read last within them is in memory still
MOST_STREAMS = 2  # memory as large as the result that is read for it


class Waiting:
    """Instructions that were put off, by the buffer that they write."""

    def __init__(self, normal: Normal, needed: Iterable[int]) -> None:
        self.normal = normal
        self.needed = frozenset(needed)
        self.at: dict[int, int] = {}
        self._sources: dict[int, frozenset[View]] = {}  # what each is made of, in memory
        self._made_of: dict[int, list[int]] = {}  # the other way round
        self._writers: Counter[int] = Counter()
        self._first_read: dict[int, int] = {}
        self._last_read: dict[int, int] = {}
        for number, instruction in enumerate(normal.instructions):
            for view in instruction.writes():
                self._writers[view.buffer] += 1
            for view in instruction.reads():
                self._first_read.setdefault(view.buffer, number)
                self._last_read[view.buffer] = number

    def take(self, number: int) -> bool:
        """Put an instruction off, if it can wait."""
        instruction = self.normal.instructions[number]
        if not isinstance(instruction, Map) or instruction.function not in CHEAP:
            return False
        if not self.is_own(number):
            return False
        out = instruction.output
        sources = self._made_from(instruction)
        streams = {
            view.buffer
            for view in sources
            if 2 * example(self.normal.buffers[view.buffer].nbytes)
            > example(out.size) * view.dtype.itemsize
        }
        if len(streams) > 1 and self._last_read.get(out.buffer, number) > number + NEARBY:
            return False
        self.put_off(number)
        return True

    def is_own(self, number: int) -> bool:
        """Whether a Map makes all of what is ever in its buffer, and nobody sees that but this program."""
        instruction = self.normal.instructions[number]
        assert isinstance(instruction, Map)
        out = instruction.output
        whole = self.normal.buffers[out.buffer]
        if whole.kind is not Kind.SCRATCH or whole.nbytes != out.size * out.dtype.itemsize:
            return False
        if out.buffer in self.needed or self._writers[out.buffer] != 1:
            return False
        return self._first_read.get(out.buffer, number + 1) > number and covers(out)

    def put_off(self, number: int) -> None:
        instruction = self.normal.instructions[number]
        assert isinstance(instruction, Map)
        buffer = instruction.output.buffer
        self.at[buffer] = number
        self._sources[buffer] = self._made_from(instruction)
        for view in self._sources[buffer]:
            self._made_of.setdefault(view.buffer, []).append(buffer)

    def is_used(self, buffer: int, number: int) -> bool:
        """Whether a buffer is read at an instruction or after it: by itself, or for one that waits."""
        if self.normal.buffers[buffer].kind is not Kind.SCRATCH or buffer in self.needed:
            return True
        readers = (buffer, *(b for b in self._made_of.get(buffer, ()) if b in self.at))
        return any(self._last_read.get(b, -1) >= number for b in readers)

    def _made_from(self, instruction: Map) -> frozenset[View]:
        found: set[View] = set()
        for view in instruction.reads():
            found |= self._sources.get(view.buffer, {view})
        return frozenset(found)

    def read_by(self, instruction: Instruction) -> list[int]:
        """Buffers that an instruction reads and that are not in memory yet."""
        return list(dict.fromkeys(v.buffer for v in instruction.reads() if v.buffer in self.at))

    def overwritten_by(self, number: int) -> list[int]:
        """Buffers that are made of what an instruction overwrites, and are read after it."""
        return [
            buffer
            for written in self.normal.instructions[number].writes()
            for buffer in self._made_of.get(written.buffer, ())
            if buffer in self.at
            and self._last_read.get(buffer, -1) > number
            and any(overlap(view, written) for view in self._sources[buffer])
        ]

    def forget(self, buffer: int) -> int:
        """It is to be stored: its instruction."""
        del self._sources[buffer]
        return self.at.pop(buffer)

    def chain(self, buffers: Iterable[int]) -> list[int]:
        """The instructions that make some buffers, in order, as far as they wait."""
        found: dict[int, None] = {}

        def visit(buffer: int) -> None:
            number = self.at.get(buffer)
            if number is None or number in found:
                return
            for view in self.normal.instructions[number].reads():
                visit(view.buffer)
            found[number] = None

        for buffer in buffers:
            visit(buffer)
        return list(found)

    def with_reader(self, number: int, made_in: dict[int, int]) -> list[int] | None:
        """What a reader needs computed again, in its own loop; None where that is not worth it.

        `made_in` says which nest of loops wrote a buffer.
        """
        instruction = self.normal.instructions[number]
        size = _iterations(instruction)
        if size is None:
            return None
        chain = self.chain(self.read_by(instruction))
        if len(chain) > MOST:
            return None
        most = 0
        sources: dict[int, View] = {}
        for number_of in chain:
            made = self.normal.instructions[number_of]
            assert isinstance(made, Map)
            if made.output.size != size:
                return None
            most = max(most, example(made.output.size) * made.output.dtype.itemsize)
            sources.update({v.buffer: v for v in made.reads() if v.buffer not in self.at})
        last = max(made_in.get(n, -1) for n in (*sources, *(v.buffer for v in instruction.reads())))
        extra = streams = 0
        for buffer, view in sources.items():
            if made_in.get(buffer, -2) == last:
                continue  # by the loop that the reader can join: it is in a register there
            whole = self.normal.buffers[buffer]
            streams += 2 * example(whole.nbytes) > example(size) * view.dtype.itemsize
            if not self.is_used(buffer, number - NEARBY):
                extra += example(whole.nbytes)
        return chain if extra <= most and streams <= MOST_STREAMS else None

    def copies(self, chain: list[int], reader: int) -> list[int]:
        """The chain with results of its own, for one reader: which is made to read them."""
        normal = self.normal
        names: dict[int, int] = {}

        def renamed(view: View) -> View:
            return view.moved(names.get(view.buffer, view.buffer), view.offset)

        copies = []
        for number in chain:
            made = normal.instructions[number]
            assert isinstance(made, Map)
            inputs = tuple(renamed(x) if isinstance(x, View) else x for x in made.inputs)
            names[made.output.buffer] = normal.another(made.output.buffer)
            copies.append(
                normal.append(Map(made.function, inputs, renamed(made.output), made.loop), number)
            )
        if names:
            normal.instructions[reader] = rewritten(normal.instructions[reader], renamed)
        return copies


def _iterations(instruction: Instruction) -> int | None:
    """Elements that an instruction runs over, if it is a loop."""
    if isinstance(instruction, Map):
        return instruction.output.size
    if isinstance(instruction, Reduce):
        return instruction.input.size
    return None
