"""A program that is ready to run: memory in place, native code where there is some, calls of NumPy elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._arrays.once import making
from ..._arrays.strided import address, storage_of
from ..._autograd import machine_code
from ..._autograd.modes import modes
from ..._tensor.settings import get_num_threads
from ..program.ir import Block, Call, Instruction, Kind, Program, View, span
from ..program.memory import Memory, bytes_at, bytes_of, give_back
from ..program.memory_planning import Use, planned
from ..program.passes.blocks import in_blocks
from ..program.passes.shards import in_shards
from ..record.tape import in_rows, span_of
from .blocks import failure, repeated
from .differentiable import is_cut
from .numpy_calls import as_call


@dataclass(slots=True)
class Part:
    """Instructions that run together: natively, or one after the other from Python (then why)."""

    instructions: list[Instruction]
    sites: list[Any]
    native: Any = None
    why: str = ""
    block: Block | None = None  # whose body these are, for one part of the examples
    places: dict[int, int] = field(default_factory=dict)  # of a block's own buffers, in its room


class Replay:
    """One or more stretches of a program (forward, backward) over the same memory."""

    array_kind: Any = np.ndarray  # of arguments
    load_quickly: Any = None  # takes arguments that are read in the program's own memory
    copied: Any = None  # makes a copy of a result, if not NumPy

    def __init__(self, program: Program, arguments: list[View], native: bool = True) -> None:
        self.arguments = arguments
        lowered, self.why_not_native = lowering() if native else (None, "not asked for")
        if lowered is not None:
            slots = min(get_num_threads(), lowered.processors())
            program = in_blocks(program, slots, lowered.can_lower)
            program = in_shards(program, slots, lowered.can_lower)
        self.program = program
        cuts = [i for i, instruction in enumerate(program.instructions) if is_cut(instruction)]
        self.saved = _crossing(program, cuts)
        starts, stops = [0, *(cut + 1 for cut in cuts)], [*cuts, len(program.instructions)]
        self.stretches = [
            _parts(program, start, stop, lowered, self.saved)
            for start, stop in zip(starts, stops, strict=True)
        ]
        places = _places_in_rooms(program, self.stretches)
        self.memory = Memory(program, _touched(self.stretches), self.saved, places)
        self.staged = self._staged()
        for i in self.staged:
            self._stage(i)
        self.table = self.memory.table
        self.slots = [(i, v.buffer) for i, v in enumerate(arguments) if i not in self.staged]
        self.runs = [self._bound(parts) for parts in self.stretches]

    def _staged(self) -> list[int]:
        """Arguments that calls from Python read or write: they are copied to memory that stays."""
        touched = {
            view.buffer
            for parts in self.stretches
            for part in parts
            if part.native is None
            for instruction in part.instructions
            for view in (*instruction.reads(), *instruction.writes())
        }
        return [i for i, view in enumerate(self.arguments) if view.buffer in touched]

    def _stage(self, i: int) -> None:
        view = self.arguments[i]
        base = np.zeros(self.program.buffers[view.buffer].nbytes, np.uint8)
        self.memory.bases[view.buffer] = base
        self.memory.table[view.buffer] = base.__array_interface__["data"][0]

    def _bound(self, parts: list[Part]) -> list[Callable[[], Any]]:
        runs: list[Callable[[], Any]] = []
        address = self.table.__array_interface__["data"][0]
        for part in parts:
            if part.block is not None:
                runs.append(repeated(part, self.memory))
            elif part.native is not None:
                runs.append(_native_run(part, address))
            else:
                runs.extend(as_call(i, self.memory.array) for i in part.instructions)
        return runs

    @property
    def scratch_bytes(self) -> int:
        """Memory for what nobody outside sees, that of further threads included."""
        blocks = [i for i in self.program.instructions if isinstance(i, Block)]
        rooms = [self.program.buffers[b.room].nbytes * (b.slots - 1) for b in blocks]
        return self.memory.scratch_bytes + sum(rooms)

    def take_over(self) -> bool:
        """After the recording: what it left for backward comes into place, the rest of it goes."""
        for buffer in self.program.buffers:
            if buffer.number in self.saved and buffer.array is not None:
                self.memory.bases[buffer.number][: buffer.nbytes] = bytes_of(buffer.array)[
                    : buffer.nbytes
                ]
            if buffer.kind in (Kind.SCRATCH, Kind.ARGUMENT):
                buffer.array = None
        give_back()
        return False

    def load(self, arrays: list[Any]) -> None:
        """Take the arguments of this call."""
        table = self.table
        given = len(arrays)
        for i, slot in self.slots:
            if i < given:
                table[slot] = arrays[i].__array_interface__["data"][0] - self.arguments[i].offset
        for i in self.staged:
            if i < given:
                np.copyto(self.memory.array(self.arguments[i]), arrays[i])

    def run(self, stretch: int = 0) -> None:
        self.whole(stretch)()

    def whole(self, stretch: int) -> Callable[[], None]:
        """All of a stretch as one function."""
        runs = self.runs[stretch]
        parts = self.stretches[stretch]
        if len(parts) == 1 and parts[0].native is not None and parts[0].block is None:
            return runs[0]
        return lambda: modes.quietly(_run_all, runs)

    @property
    def asks_natively(self) -> bool:
        """Whether machine code can be made to see that nothing has changed."""
        return not self.why_not_native

    def kind_of(self, view: View) -> Kind:
        return self.program.buffers[view.buffer].kind

    @property
    def kinds(self) -> list[Kind]:
        """Of the buffers, by their numbers."""
        return [buffer.kind for buffer in self.program.buffers]

    def unload(self, arrays: list[Any], written: set[int]) -> None:
        """Give back what the program wrote into arguments."""
        for i in self.staged:
            if i in written:
                np.copyto(arrays[i], self.memory.array(self.arguments[i]))

    def result(self, view: View, arrays: Sequence[Any] = ()) -> Any:
        """What the program left in a place: a copy of its own memory, a view of anyone else's."""
        kind = self.kind_of(view)
        if kind is Kind.EXTERNAL:
            return _seen_as(self.program.buffers[view.buffer].array, view, view.offset)
        if kind is Kind.ARGUMENT:
            for array, whole in zip(arrays, self.arguments, strict=False):
                if whole.buffer == view.buffer:
                    return _seen_as(array, view, view.offset - whole.offset)
        return fresh(self.memory.array(view))


def fresh(array: Any) -> Any:
    """A copy with the same strides: of what lies between, too, if there are gaps or repetitions."""
    copy = array.copy("K")
    if copy.strides == array.strides or not array.size:
        return copy
    low, high = span_of(array)
    room = bytes_at(low, high - low).copy()
    return np.ndarray(array.shape, array.dtype, room, address(array) - low, array.strides)


def _seen_as(array: Any, view: View, offset: int) -> Any:
    """An array's memory as a view has it, `offset` bytes from its first element."""
    owner = storage_of(array)
    base = in_rows(owner)
    start = address(array) - address(owner) + offset
    return np.ndarray(view.shape, view.dtype, base, start if view.size else 0, view.strides)


def _run_all(runs: list[Callable[[], Any]]) -> None:
    for run in runs:
        run()


def _native_run(part: Part, address: int) -> Callable[[], None]:
    call = part.native.call

    def run() -> None:
        status = call(address)
        if status:
            raise failure(status, part)

    machine_code.wanted(run)
    return run


def lowering() -> tuple[Any, str]:
    """The native lowering, or why there is none.

    A fork waits for `making`: a child of a half done import would wait for the rest of it for ever.
    """
    try:
        with making:
            from .. import native
            from ..dynamic import native_at_size  # noqa: F401  (which programs ask for later)
            from ..native import placing, watching  # noqa: F401
    except ImportError as error:
        return None, str(error)
    why = native.why_not()
    return (None, why) if why else (native, "")


def _parts(
    program: Program, start: int, stop: int, lowered: Any, saved: frozenset[int]
) -> list[Part]:
    """Runs of instructions that can be compiled together, and the calls between them."""
    parts: list[Part] = []
    for at in range(start, stop):
        instruction, site = program.instructions[at], program.sites[at]
        if isinstance(instruction, Block):
            part = Part(instruction.body, instruction.sites, block=instruction)
            parts.append(part)
            continue
        why = "a call from Python" if isinstance(instruction, Call) else ""
        if not why:
            why = "no compiler" if lowered is None else lowered.can_lower(instruction) or ""
        if parts and parts[-1].block is None and bool(parts[-1].why) == bool(why):
            parts[-1].instructions.append(instruction)
            parts[-1].sites.append(site)
        else:
            parts.append(Part([instruction], [site], why=why))
    readers: dict[int, int] = {}
    for number, part in enumerate(parts):
        for instruction in [part.block] if part.block is not None else part.instructions:
            for view in instruction.reads():
                readers[view.buffer] = number
    seen = {b.number for b in program.buffers if b.kind is not Kind.SCRATCH} | saved
    for number, part in enumerate(parts):
        if not part.why:
            later = {buffer for buffer, last in readers.items() if last > number}
            needed = seen | later
            alone = part.block is not None
            part.native = lowered.lower(part.instructions, program.buffers, needed, alone)
    return parts


def _touched(stretches: list[list[Part]]) -> Iterator[Use]:
    """What each kernel, or each call from Python, reads and writes, in the order they run."""
    for part in (part for parts in stretches for part in parts):
        if part.block is not None:  # from the last kernel back to the first: all at once
            views = (*part.block.reads(), *part.block.writes())
            pairs = tuple(_in_place(part.block, part.native.kernels))
            yield Use({part.block.room, *(view.buffer for view in views)}, in_place=pairs)
        elif part.native is not None:
            yield from map(_use, part.native.kernels)
        else:
            for instruction in part.instructions:
                views = (*instruction.reads(), *instruction.writes())
                yield Use({view.buffer for view in views}, in_place=_written_over(instruction))


def _written_over(instruction: Instruction) -> tuple[tuple[int, int], ...]:
    """The argument of a call whose memory its result may have, as a pair of buffers; its function says which one."""
    place = getattr(getattr(instruction, "function", None), "writes_over", None)
    if place is None or not isinstance(instruction, Call) or len(instruction.outputs) != 1:
        return ()
    (out,) = instruction.outputs
    source = instruction.args[place] if place < len(instruction.args) else None
    if not isinstance(source, View) or replace(source, buffer=out.buffer) != out:
        return ()
    once = [view.buffer for view in instruction.reads()].count(source.buffer) == 1
    return ((source.buffer, out.buffer),) if once else ()


def _use(kernel: Any) -> Use:
    filled = kernel.fills
    pairs = tuple((one, other) for one, other, _ in kernel.in_place if other in filled)
    return Use({*kernel.reads, *kernel.writes}, filled, pairs)


def _places_in_rooms(program: Program, stretches: list[list[Part]]) -> dict[int, tuple[int, int]]:
    """Where each block's own buffers lie in its room, which becomes as large as they need."""
    found: dict[int, tuple[int, int]] = {}
    for part in (part for parts in stretches for part in parts if part.block is not None):
        assert part.block is not None
        inner, room = set(part.block.inner), part.block.room
        uses = [use._replace(buffers=use.buffers & inner) for use in map(_use, part.native.kernels)]
        part.places, program.buffers[room].nbytes = planned(program, uses, frozenset())
        found |= {number: (room, at) for number, at in part.places.items()}
    return found


def _in_place(block: Block, kernels: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Pairs of buffers of which a block reads one example's part before it writes that of the other."""
    steps = block.steps
    touched = [{*kernel.reads, *kernel.writes} for kernel in kernels]
    for i, kernel in enumerate(kernels):
        for one, other, size in kernel.in_place:
            apart = steps.get(one) == steps.get(other) == size and _by_parts(block, one)
            late = any(one in later for later in touched[i + 1 :])
            if apart and not late and not any(other in earlier for earlier in touched[:i]):
                yield one, other


def _by_parts(block: Block, buffer: int) -> bool:
    """Whether no part of the examples reads or writes what is another's."""
    step = block.steps[buffer]
    spans = [
        span(view)
        for instruction in block.body
        for view in (*instruction.reads(), *instruction.writes())
        if view.buffer == buffer
    ]
    return all(low >= 0 and high <= step for low, high in spans)


def _crossing(program: Program, cuts: list[int]) -> frozenset[int]:
    """Memory of the program's own that is written before a cut and read after it; results too."""
    found: set[int] = set()
    for cut in cuts:
        written = {v.buffer for i in program.instructions[:cut] for v in i.writes()}
        read = {v.buffer for i in program.instructions[cut:] for v in i.reads()}
        found |= written & read
    own = (Kind.SCRATCH, Kind.KEPT)
    return frozenset(n for n in found if program.buffers[n].kind in own)
