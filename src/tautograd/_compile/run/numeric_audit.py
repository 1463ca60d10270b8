"""A replay done aside, to see whether machine code does what the program says: an audit's other half.

That the function still becomes the recorded program says nothing of the machine code made from it. So the program also
runs on copies of whatever it writes, kernel by kernel (`stepwise`), and nobody else sees anything of it: parameters,
states, gradients and arguments are not touched, and step counts, settings and generators are put back. Both
halves together say that a replay does what the function does, up to rounding.
"""

from __future__ import annotations

from typing import Any

from ..._tensor.random_state import Generator
from ..program.ir import Call, Kind
from ..record.arrays import is_on_gpu
from .audit import Difference, shown
from .differentiable import is_cut
from .rollback import STOPS, Undo, can_undo
from .rounding import Unbounded
from .stepwise import Stepwise

# Bytes that an audit may copy without being asked: every value of the program has a place of its own there, while
# the program itself uses memory again and again.
UNASKED = 16 << 20


class Aside:
    """What a replay of a record does, of which nothing is left."""

    def __init__(self, entry: Any, arrays: list[Any], numbers: Any) -> None:
        self.entry = entry
        self.instructions = list(entry.program.instructions)
        cuts = [n for n, i in enumerate(self.instructions) if is_cut(i)]
        if cuts:
            del self.instructions[cuts[0] :]  # what goes backward runs later
        self.why = _why_not(entry, self.instructions)
        self.stopped = False  # at a value, as the function will
        self.steps: Stepwise | None = None
        if not self.why:
            self._run(arrays, numbers)

    def _run(self, arrays: list[Any], numbers: Any) -> None:
        entry, found, replay = self.entry, self.entry.capture, self.entry.replay_of
        drawn = [i for i in self.instructions if isinstance(i, Call) and i.effect]
        undo = Undo(entry, set(), drawn, found.effects)
        if entry.differentiable is not None:
            entry.differentiable.put_aside()
        replay.load(arrays)
        if numbers:
            found.scalars.load(numbers)
        back = undo.keep(())
        try:
            for effect in found.effects:
                effect()
            self.steps = Stepwise(replay, arrays)
            self.steps.run()
        except Unbounded as reason:
            self.why = f"no bound is known for {reason}"
        except STOPS:
            self.stopped = True
        finally:
            undo.put_back((), back)
            if entry.differentiable is not None:
                entry.differentiable.forget()

    def left(self) -> dict[int, Any]:
        """What the program has written that is seen after it: bytes, by buffer."""
        assert self.steps is not None
        buffers = self.entry.replay_of.program.buffers
        written = {view.buffer for i in self.instructions for view in i.writes()}
        seen = (Kind.EXTERNAL, Kind.KEPT)
        numbers = [n for n in written if buffers[n].kind in seen]
        return {n: self.steps.memory.bases[n][: buffers[n].nbytes].copy() for n in numbers}

    def wrong(self) -> Difference | None:
        """What a kernel did that its instructions do not say; the first one."""
        if self.steps is None or self.steps.wrong is None:
            return None
        instruction, site, what = self.steps.wrong
        reads = ", ".join(f"{v.dtype}{list(v.shape)}" for v in instruction.reads())
        return Difference(f"{shown(instruction)} of {reads or 'numbers'} gives {what}", site)


def _why_not(entry: Any, instructions: list[Any]) -> str:
    """Why a replay cannot be done aside, or nothing."""
    if is_on_gpu(entry.program):
        return "it runs on a GPU"
    if entry.parts is not None:
        return "Python decides by values in between"
    if not can_undo(entry.capture.effects):
        return "what Python does in between cannot be put back"
    aside = sum(b.nbytes for b in entry.program.buffers if b.kind is not Kind.CONSTANT)
    if aside > UNASKED and entry.audits.mode != "always":
        return f"it needs {aside >> 20} MB aside, which only audit='always' takes"
    for i in instructions:
        if isinstance(i, Call) and i.effect and not any(isinstance(a, Generator) for a in i.args):
            return f"what `{i.name}` does cannot be put back"
    return ""
