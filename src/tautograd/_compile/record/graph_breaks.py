"""A program that is split where Python asks for a tensor's value (`fallback=True`): parts, and what was decided.

At a replay each part runs, then the value is read; if Python decides by it as it did in the recording, the next part
runs. If not, everything that was written so far is put back, and the call is another record's affair, or runs as it
is written.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..._user_code.sites import mark
from ..messages.errors import asked_for_by
from ..messages.value_readers import asker
from ..program.ir import Call, Kind
from ..run.differentiable import cut, is_cut
from ..run.rollback import Undo

SPLITS = 32  # of one record: a loop that goes on for longer runs eagerly


def read(tape: Any, recorded: Any, what: str, truth: bool) -> Any:
    """The value of an array of one element, after which a new part begins; None where no part can begin.

    A float is a symbol, which may be computed with. A truth or an integer is what it is, and decides.
    """
    if not _can_split(tape, recorded):
        return None
    decides = truth or recorded.dtype.kind != "f"
    if not (tape.can_undo() if decides else tape.may_follow):
        return None
    copied: Any = np.copy(recorded)
    view = tape.view(copied.value)
    tape.program.buffers[view.buffer].kind = Kind.KEPT
    tape.keep(view.buffer)
    cut(tape)
    by = asker()
    what = what if by is None else asked_for_by(by, what)
    tape.splits.append((len(tape.effects), what, mark(3)))
    symbol = tape.scalars.input(copied.value.item(), len(tape.splits), view)
    if truth or type(symbol.value) is bool:
        return tape.scalars.compute(operator.truth, (symbol,))
    if type(symbol.value) is int:
        tape.scalars.compute(operator.eq, (symbol, symbol.value))
        return symbol.value
    return symbol


def _can_split(tape: Any, recorded: Any) -> bool:
    if not tape.may_split or tape.dead or len(tape.splits) >= SPLITS:
        return False
    if type(recorded.value) is not np.ndarray or recorded.size != 1:
        return False
    return recorded.dtype.kind in "fiub"


class Parts:
    """The parts of a record, and what has to be put back if a decision turns out otherwise."""

    def __init__(self, entry: Any) -> None:
        found, replay = entry.capture, entry.replay_of
        self.replay = replay
        self.scalars = found.scalars
        stops = [*(count for count, _, _ in found.splits), len(found.effects)]
        starts = [0, *stops[:-1]]
        self.effects = [found.effects[a:b] for a, b in zip(starts, stops, strict=True)]
        self.count = len(stops)
        self.decides = any(step.stage and step.function for step in found.scalars.steps)
        before = [
            instruction
            for parts in replay.stretches[: self.count - 1]
            for part in parts
            for instruction in ([part.block] if part.block is not None else part.instructions)
        ]
        written = {view.buffer for i in before for view in i.writes()} - found.remade
        drawn = [i for i in before if isinstance(i, Call) and i.effect]
        early = [effect for effects in self.effects[:-1] for effect in effects]
        self.undo = Undo(entry, written, drawn, early)

    def run(self, numbers: list[Any], arrays: list[Any]) -> bool:
        """All parts, one after the other; False if a decision is another one, and nothing has happened."""
        back = self.undo.keep(arrays) if self.decides else None
        for stage in range(self.count):
            if stage:
                for place, view in self.scalars.reads_at(stage):
                    numbers[place] = self.replay.memory.array(view).item()
                if not self.scalars.advance(numbers, stage):
                    assert back is not None
                    self.undo.put_back(arrays, back)
                    return False
                self.scalars.load(numbers, stage)
            for effect in self.effects[stage]:
                effect()
            self.replay.run(stage)
        return True


def remade(tape: Any, gradients: set[int]) -> frozenset[int]:
    """Gradients that the run made, and wrote before its last split: every call that comes there makes them anew."""
    left, found = len(tape.splits), set()
    for instruction in tape.program.instructions:
        if is_cut(instruction):
            left -= 1
            if left == 0:
                break
        found |= {view.buffer for view in instruction.writes()} & gradients
    return frozenset(found) if tape.splits else frozenset()
