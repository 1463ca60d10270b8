"""The first call at a size: it runs as written, and what the program for all sizes gives is held against it.

The program runs aside first, from the same memory, numbers and random states, and everything is put back. Then the
function runs, and stands, whatever is found. Results, gradients and whatever else depends on the size must agree within
rounding; so must random states and version counters, to the bit. What an optimizer makes of gradients does not depend
on sizes, so those are compared and not the parameters: Adam turns the rounding of a gradient that is zero into a step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..optimizers.param_group_settings import Settings, settings_of
from ..program.ir import Call, Kind, View
from ..record.results import Made
from ..record.trees import NESTS
from ..run.rollback import STOPS, Undo, can_undo
from ..sound.arguments import same_value
from .fitting import Unlike, has_sizes
from .returned import unlike
from .roundings import apart, coarsest, eps_of, roundings
from .template import Values


class Trial:
    """What a template's program writes, copies of it, and how it is held against a run as written."""

    def __init__(self, template: Any, entry: Any) -> None:
        found = template.base.capture
        if not can_undo(found.effects):
            raise Unlike("something done in Python that cannot be put back")
        program = template.base.program
        drawn = [i for i in program.instructions if isinstance(i, Call) and i.effect]
        for call in drawn:
            if not any(hasattr(a, "_core") for a in call.args):
                raise Unlike(f"what `{call.name}` does cannot be put back")
        written = {view.buffer for i in program.instructions for view in i.writes()}
        outside = {n for n in written if program.buffers[n].kind is Kind.EXTERNAL}
        self.undo = Undo(entry, outside, drawn, found.effects)
        self.grads = [
            (tensor, None if grad is None else grad._data) for tensor, grad in found.grads_after
        ]
        of_grads = {id(array) for _, array in self.grads if array is not None}
        tainted = _depending(template, of_grads)
        self.states = [
            array
            for _, array in found.outside
            if id(array) not in of_grads and _address(array) in tainted
        ]
        self._template = template
        self._buffers = {
            _address(b.array): b.number
            for b in template.base.program.buffers
            if b.array is not None and b.kind is not Kind.SCRATCH
        }
        self._counted: Any = None  # the sizes for which roundings were counted

    def _count(self) -> None:
        """Count roundings for sizes as large as any that comes: for smaller ones there are no more."""
        most = self._template.most
        if self._counted != most:
            self._counted = dict(most)
            self._ways = roundings(self._template.instructions, Values(self._counted).of)
            self._coarsest = coarsest(self._template.instructions)
            self._longest = max(self._ways.values(), default=1)

    def _ways_to(self, array: Any, largest: float) -> tuple[int, float, float]:
        """How many roundings the longest way to memory from outside has, and of which size the coarsest is."""
        number = self._buffers.get(_address(array), -1)
        ways = self._ways.get(number, self._longest)
        return ways, largest, self._coarsest.get(number, 0.0)

    def run(self, entry: Any, arrays: list[Any]) -> Any:
        """What the program gives, of which nothing is left: None if it stops at a value."""
        found, undo = entry.capture, self.undo
        entry.replay_of.load(arrays)
        back = undo.keep(())
        try:
            for effect in found.effects:
                effect()
            entry.replay_of.run(0)
            results = [
                entry.replay_of.result(leaf.view, arrays).copy() if isinstance(leaf, Made) else leaf
                for leaf in NESTS.leaves(found.result)
            ]
            grads = [None if array is None else array.copy() for _, array in self.grads]
            states = [array.copy() for array in self.states]
            drawn = [bytes(g.memory) for g in undo.generators if g.memory is not None]
            return results, grads, states, drawn
        except STOPS:
            return None
        finally:
            undo.put_back((), back)

    def settings(self) -> Settings:
        """The optimizers' settings before a run as written, which tell what it writes."""
        found = self._template.base
        steps = [*found.capture.updates, *found.capture.fixed]
        return Settings([*found.guards.variables.optimizers, *(step.optimizer for step in steps)])

    def difference(
        self,
        entry: Any,
        given: Any,
        result: Any,
        versions: list[int],
        settings: Settings,
        tensors: Any,
        call: Any,
    ) -> str | None:
        """In what a run as written differs from what the program gave."""
        results, grads, states, drawn = given
        written, mine = settings_of(settings.changes(None)), settings_of(entry.capture.effects)
        settings.put_back()
        if written.keys() != mine.keys() or not all(
            same_value(value, mine[key]) for key, value in written.items()
        ):
            return "the settings of optimizers that it writes"
        self._count()
        now = [bytes(g.memory) for g in self.undo.generators if g.memory is not None]
        if now != drawn:
            return "the random numbers that it draws"
        found = unlike(entry.capture.result, result, tensors, call)
        if found is not None:
            return found
        leaves = list(NESTS.leaves(result))
        described = list(NESTS.leaves(entry.capture.result))
        for number, (mine, theirs) in enumerate(zip(results, leaves, strict=True)):
            if not isinstance(mine, np.ndarray):
                continue
            buffer = described[number].view.buffer
            eps, ways = self._coarsest.get(buffer, 0.0), self._ways.get(buffer, 1)
            found = _difference(mine, theirs._data, ways, 0.0, eps)
            if found is not None:
                return f"result {number} {found}"
        largest = max((_largest(a) for a in grads if a is not None), default=0.0)
        for (tensor, array), mine in zip(self.grads, grads, strict=True):
            grad = tensor._grad
            if (mine is None) is not (grad is None):
                return "a gradient that is there in one of them"
            if grad is None:
                continue
            found = _difference(mine, grad._data, *self._ways_to(array, largest))
            if found is not None:
                return f"the gradient of shape {grad._data.shape} {found}"
        for array, mine in zip(self.states, states, strict=True):
            found = _difference(mine, array, *self._ways_to(array, 0.0))
            if found is not None:
                return f"a tensor from outside, of shape {array.shape}, {found}"
        growth = [
            box[0] - before
            for (box, _), before in zip(entry.capture.versions, versions, strict=True)
        ]
        if growth != [n for _, n in entry.capture.versions]:
            return "how often a tensor is written to"
        return None


def _depending(template: Any, of_grads: set[int]) -> set[int]:
    """Where memory from outside lies that sizes have an influence on, apart from gradients, which are compared."""
    buffers = template.base.program.buffers
    compared = {b.number for b in buffers if b.array is not None and id(b.array) in of_grads}
    tainted: set[int] = {n for n, _ in template.floats}
    tainted |= {view.buffer for view in template.arguments}
    for instruction in template.instructions:
        reads = {view.buffer for view in instruction.reads()}
        if has_sizes(instruction) or reads & tainted:
            tainted |= {view.buffer for view in instruction.writes()} - compared
    return {
        _address(b.array)
        for b in buffers
        if b.number in tainted and b.kind is Kind.EXTERNAL and b.array is not None
    }


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _largest(array: Any) -> float:
    """The largest magnitude in an array; of numbers that are none, no account is taken."""
    if not array.size or array.dtype.kind not in "fc":
        return 0.0
    found = _magnitude(array)
    if math.isfinite(found):
        return found
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    return _magnitude(np.nan_to_num(np.asarray(array, wide)))


def _magnitude(array: Any) -> float:
    if array.dtype.kind == "c":
        return float(np.abs(array).max())
    return max(float(array.max()), -float(array.min()))


def _difference(mine: Any, theirs: Any, ways: int, largest: float, coarsest: float) -> str | None:
    """How two arrays differ, if by more than rounding; `ways`, `coarsest`: see `roundings`."""
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return f"has shape {mine.shape} in the program, and {theirs.shape} as written"
    if not mine.size:
        return None
    if mine.dtype.kind in "biu":
        return None if np.array_equal(mine, theirs) else "has other numbers"
    kind = mine.dtype if mine.dtype.itemsize >= 4 else np.dtype(np.float32)
    a, b = np.asarray(mine, kind), np.asarray(theirs, kind)
    eps = max(eps_of(mine.dtype), coarsest)
    with np.errstate(all="ignore"):
        worst, size = _magnitude(a - b), _magnitude(b)
        if not math.isfinite(worst):
            same = (a == b) | ((a != a) & (b != b))
            worst, size = _magnitude(np.where(same, 0, a - b)), _largest(b)
    if worst <= apart(eps, ways, size, largest) or worst < np.finfo(kind).tiny:
        return None
    return f"differs by {worst:.3g} where its largest number is {size:.3g}"


__all__ = ["Trial", "View"]
