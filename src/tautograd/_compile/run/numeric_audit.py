"""A replay done aside and put back, to be compared with the function's own run: so machine code is audited, too.

That the function still becomes the recorded program says nothing of the machine code made from it. So the program
runs before the function does; what it writes is copied, and everything is put back as it was. Then the function runs
as written. Parameters, states, gradients, arguments, results and generators must be what the program left, to the
bound that `rounding` derives for just these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._tensor.random_state import Generator
from ..._tensor.tensor import Tensor
from ..program.ir import Call, Kind, View, array_of
from ..program.memory import bytes_of
from ..record.arrays import is_on_gpu
from ..record.results import Made
from ..record.trees import NESTS
from .audit import Difference, shown
from .differentiable import is_cut
from .rollback import STOPS, Undo, can_undo
from .rounding import Rounding, Unbounded, apart
from .stepwise import Stepwise

_SEEN = (Kind.EXTERNAL, Kind.ARGUMENT, Kind.KEPT)


class Aside:
    """What a replay of a record did, that was put back."""

    def __init__(self, entry: Any, arrays: list[Any], numbers: Any) -> None:
        self.entry = entry
        self.program = entry.program
        self.instructions = list(self.program.instructions)
        cuts = [n for n, i in enumerate(self.instructions) if is_cut(i)]
        if cuts:
            del self.instructions[cuts[0] :]
        self.why = _why_not(entry, self.instructions)
        self.left: dict[int, Any] = {}  # by buffer: the bytes after the run
        self.stopped = False
        self.steps: Stepwise | None = None
        if not self.why:
            self._run(arrays, numbers)

    def _run(self, arrays: list[Any], numbers: Any) -> None:
        entry, found, replay = self.entry, self.entry.capture, self.entry.replay_of
        drawn = [i for i in self.instructions if isinstance(i, Call) and i.effect]
        self.written = {view.buffer for i in self.instructions for view in i.writes()}
        undo = Undo(entry, self.written, drawn, found.effects)
        self.generators = [g.generator for g in undo.generators]
        if entry.differentiable is not None:
            entry.differentiable.put_aside()
        replay.load(arrays)
        if numbers:
            found.scalars.load(numbers)
        back = undo.keep(arrays)
        try:
            for effect in found.effects:
                effect()
            rounding = self._before(arrays)
            try:
                self._step(arrays)
            except STOPS:
                self.stopped = True
            else:
                replay.unload(arrays, found.argument_writes)
                self._take(arrays)
                self.states = [generator.get_state() for generator in self.generators]
                for generator in undo.generators:
                    generator.put_back()
                self._analyse(rounding)
        finally:
            undo.put_back(arrays, back)
            if entry.differentiable is not None:
                entry.differentiable.forget()

    def _step(self, arrays: list[Any]) -> None:
        """Run the program: kernel by kernel where that can be."""
        try:
            self.steps = Stepwise(self.entry.replay_of, arrays)
        except Unbounded:
            self.entry.replay_of.run(0)
        else:
            self.steps.run()

    def _before(self, arrays: list[Any]) -> Rounding | None:
        """Memory as it is before the program runs, for the analysis."""
        memory, buffers = self.entry.replay_of.memory, self.program.buffers
        whole = {view.buffer: i for i, view in enumerate(self.entry.capture.arguments)}
        bases: list[Any] = []
        for buffer in buffers:
            if buffer.kind is Kind.ARGUMENT:
                bases.append(self._argument(arrays, whole.get(buffer.number), buffer))
            elif buffer.kind is Kind.EXTERNAL:
                base = memory.bases[buffer.number]
                bases.append(base.copy() if buffer.number in self.written else base)
            elif buffer.kind is Kind.CONSTANT:
                bases.append(bytes_of(buffer.array))
            else:
                bases.append(np.zeros(buffer.nbytes, np.uint8))
        try:
            return Rounding(self.program, bases)
        except Unbounded as reason:
            self.why = f"no bound is known for {reason}"
            return None

    def _argument(self, arrays: list[Any], place: int | None, buffer: Any) -> Any:
        base = np.zeros(buffer.nbytes, np.uint8)
        if place is not None and place < len(arrays):
            view = self.entry.capture.arguments[place]
            np.copyto(array_of(view, base), arrays[place])
        return base

    def _take(self, arrays: list[Any]) -> None:
        """Copy what the program has left."""
        replay, buffers = self.entry.replay_of, self.program.buffers
        whole = {view.buffer: i for i, view in enumerate(self.entry.capture.arguments)}
        for number in self.written:
            kind = buffers[number].kind
            if kind is Kind.ARGUMENT:
                self.left[number] = self._argument(arrays, whole[number], buffers[number])
            elif kind in _SEEN:
                self.left[number] = replay.memory.bases[number][: buffers[number].nbytes].copy()

    def _analyse(self, rounding: Rounding | None) -> None:
        self.rounding = rounding
        if rounding is None:
            return
        try:
            rounding.run(self.instructions)
        except (Unbounded, *STOPS) as reason:
            self.why = f"no bound is known for {reason}"

    # --- afterwards -----------------------------------------------------------------------------------

    def wrong(self) -> Difference | None:
        """What a kernel did that its instructions do not say; the first one."""
        if self.steps is None or self.steps.wrong is None:
            return None
        instruction, site, what = self.steps.wrong
        return Difference(_told(instruction, what), site)

    def difference(self, arrays: list[Any], result: Any) -> Difference | None:
        """What the function's own run has left otherwise than the program, beyond rounding; the first place."""
        wrong = self.wrong()
        if wrong is not None or self.why or self.stopped:
            return wrong
        states = [generator.get_state() for generator in self.generators]
        if any(
            not np.array_equal(a._data, b._data) for a, b in zip(states, self.states, strict=True)
        ):
            return Difference("the random numbers that come next are others than after a replay")
        for number, instruction in enumerate(self.instructions):
            for view in instruction.writes():
                now = self._now(view, arrays, result)
                if now is not None:
                    found = self._apart(instruction, view, now)
                    if found is not None:
                        return Difference(found, self.program.sites[number])
        return None

    def _now(self, view: View, arrays: list[Any], result: Any) -> Any:
        """What the function has left in a place that a program writes; None if nobody sees that."""
        kind = self.program.buffers[view.buffer].kind
        if view.buffer not in self.left:
            return None
        if kind is Kind.EXTERNAL:
            return array_of(view, self.entry.replay_of.memory.bases[view.buffer])
        if kind is Kind.ARGUMENT:
            for whole, array in zip(self.entry.capture.arguments, arrays, strict=False):
                if whole.buffer == view.buffer and whole == view:
                    return array
            return None
        for leaf, tensor in _paired(self.entry.capture.result, result):
            if isinstance(leaf, Made) and leaf.view == view and isinstance(tensor, Tensor):
                return tensor._data
        return None

    def _apart(self, instruction: Any, view: View, now: Any) -> str | None:
        then = array_of(view, self.left[view.buffer])
        assert self.rounding is not None
        found = apart(then, now, self.rounding.radius(view))
        return None if found is None else _told(instruction, found)


def _paired(described: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The leaves of a result as it was described, and what is there."""
    if not NESTS.is_container(described):
        yield described, value
        return
    parts = zip(NESTS.parts(described), NESTS.parts(value), strict=False)
    for (_, part), (_, other) in parts:
        yield from _paired(part, other)


def _told(instruction: Any, what: str) -> str:
    reads = ", ".join(f"{v.dtype}{list(v.shape)}" for v in instruction.reads())
    return f"{shown(instruction)} of {reads or 'numbers'} gives {what}"


def _why_not(entry: Any, instructions: list[Any]) -> str:
    """Why a replay cannot be done aside, or nothing."""
    if is_on_gpu(entry.program):
        return "it runs on a GPU"
    if entry.parts is not None:
        return "Python decides by values in between"
    if not can_undo(entry.capture.effects):
        return "what Python does in between cannot be put back"
    for i in instructions:
        if isinstance(i, Call) and i.effect and not any(isinstance(a, Generator) for a in i.args):
            return f"what `{i.name}` does cannot be put back"
    return ""
