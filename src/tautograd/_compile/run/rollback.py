"""What a program has written when it stops half-way, and how it is put back as it was.

A program stops where an index is out of range or a matrix cannot be factorised, and where a decision by a value
comes out otherwise (`record/graph_breaks.py`). Then everything is put back, and the call runs eagerly: so an error
is the one that the function itself raises, and leaves what that leaves. Copies are taken before a run of just
those places that are written before the program can stop, which in a training step are few or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._tensor.random_state import Generator
from ..optimizers.param_group_settings import Setting
from ..optimizers.updates import Update
from ..program.ir import Call, Kind, crosses_processes
from ..record.arrays import is_on_gpu
from ..record.tensor_data import set_grad
from .generator_rollback import Rewinding
from .value_checks import Checks

STOPS = (IndexError, ValueError, RuntimeError)  # what values can be wrong for
SMALL = 1 << 16  # bytes that are copied in any case
SHARE = 8  # copies are not worth more than this part of what a program writes


def can_undo(effects: list[Any]) -> bool:
    """Whether what was done in Python can be put back; a schedule's step cannot."""
    return all(isinstance(effect, (Update, Setting)) for effect in effects)


class Undo:
    """Copies of memory, states of generators and step counts, taken before a run."""

    def __init__(self, entry: Any, written: set[int], drawn: list[Any], effects: list[Any]) -> None:
        found, replay = entry.capture, entry.replay_of
        kinds = replay.kinds
        external = [n for n in sorted(written) if kinds[n] is Kind.EXTERNAL]
        places = [replay.memory.bases[n] for n in external]
        for update in effects:
            if isinstance(update, Update):
                places += [scalar.view(np.uint8) for scalar in update.batch.scalars]
        # Bytes to bytes is several times faster than an assignment between arrays.
        self.memory = [(memoryview(place), memoryview(place.copy())) for place in places]
        staged = set(replay.staged)
        self.arguments = [
            i for i, v in enumerate(found.arguments) if v.buffer in written and i not in staged
        ]
        generators = {id(g): g for i in drawn for g in i.args if isinstance(g, Generator)}
        self.generators = [Rewinding(generator) for generator in generators.values()]
        self.settings = [effect for effect in effects if isinstance(effect, Setting)]

    def keep(self, arrays: Any) -> Any:
        """Take the copies."""
        for place, copy in self.memory:
            copy[:] = place
        for generator in self.generators:
            generator.keep()
        if not self.arguments and not self.settings:
            return ()
        arguments = [arrays[i].copy() for i in self.arguments]
        return arguments, [setting.group.get(setting.name) for setting in self.settings]

    def put_back(self, arrays: Any, back: Any) -> None:
        for place, copy in self.memory:
            place[:] = copy
        for generator in self.generators:
            generator.put_back()
        if not back:
            return
        arguments, values = back
        for i, content in zip(self.arguments, arguments, strict=True):
            np.copyto(arrays[i], content)
        for setting, value in reversed(list(zip(self.settings, values, strict=True))):
            setting.group[setting.name] = value


class Stops:
    """Where a program can stop half-way, and what is put back then.

    `is_whole` says whether that is everything: then the function can run eagerly. `effects` are done
    before the program runs, `late` ones after it, because they cannot be put back.
    """

    def __init__(self, entry: Any) -> None:
        found, replay = entry.capture, entry.replay_of
        self.effects = found.effects
        self.late: list[Any] = []
        self.undo: Undo | None = None  # none if the program cannot stop
        if is_on_gpu(replay.program):  # whose kernels do not
            return
        forward = replay.stretches[:-1] if found.backward is not None else replay.stretches
        buffers = replay.program.buffers
        checks = Checks(replay.program)
        steps = [step for parts in forward for part in parts for step in _steps(part, checks)]
        first: dict[Any, int] = {}  # of each check: what passes it once passes it again
        for at, step in enumerate(steps):
            for check in step.checks:
                first.setdefault(check, at)
        if not first:
            return
        if not found.splits:
            self.effects, self.late = _last_ones_apart(found.effects)
        before = steps[: max(first.values()) + 1]
        written = {n for step in before for n in step.writes} - found.early
        kinds = Kind.EXTERNAL, Kind.ARGUMENT
        copied = sum(buffers[n].nbytes for n in written if buffers[n].kind in kinds)
        total = sum(step.size for step in steps)
        self.is_whole = copied <= max(SMALL, total // SHARE) and can_undo(self.effects)
        # Other processes would not take part a second time.
        self.is_whole &= not any(crosses_processes(call) for step in before for call in step.drawn)
        early = [effect for effect in self.effects if can_undo([effect])]
        drawn = [call for step in before for call in step.drawn]
        whole = self.is_whole
        self.undo = Undo(entry, written if whole else set(), drawn if whole else [], early)
        looked_at = {id(tensor) for tensor, _ in found.grads_before}
        self.cleared = [tensor for tensor, _ in found.grads_after if id(tensor) not in looked_at]

    def put_back(self, arrays: Any, back: Any) -> bool:
        """Undo what was done; whether that was everything."""
        assert self.undo is not None
        self.undo.put_back(arrays, back)
        if not self.is_whole:
            for tensor in self.cleared:  # what is in their gradients is no gradient
                set_grad(tensor, None)
        return self.is_whole


def _last_ones_apart(effects: list[Any]) -> tuple[list[Any], list[Any]]:
    """What can be put back, and behind it what cannot."""
    count = len(effects)
    while count and not can_undo([effects[count - 1]]):
        count -= 1
    return effects[:count], effects[count:]


@dataclass(slots=True)
class _Step:
    """What runs as one: the buffers that it writes, and what it may stop at."""

    writes: frozenset[int]
    size: int  # bytes that are written, also to memory of a block's own
    checks: list[Any] = field(default_factory=list)
    drawn: list[Any] = field(default_factory=list)


def _steps(part: Any, checks: Checks) -> Iterator[_Step]:
    """The kernels or the calls of a part, in the order in which they run."""

    def size_of(writes: Iterable[int]) -> int:
        return sum(checks.buffers[n].nbytes for n in writes)

    if part.block is not None:
        block = part.block
        writes = frozenset(view.buffer for view in block.writes())
        own = sum(size_of(kernel.writes & {*block.inner}) for kernel in part.native.kernels)
        found = [c for i in part.instructions for c in checks.of(i, block)]
        yield _Step(writes, size_of(writes) + block.count * own, found)
    elif part.native is not None:
        for kernel in part.native.lowered.kernels:
            known = [c for i in kernel.instructions for c in checks.of(part.instructions[i])]
            yield _Step(kernel.writes, size_of(kernel.writes), known)
    else:
        for instruction in part.instructions:
            writes = frozenset(view.buffer for view in instruction.writes())
            is_draw = isinstance(instruction, Call) and instruction.effect
            drawn = [instruction] if is_draw else []
            yield _Step(writes, size_of(writes), checks.of(instruction), drawn)
