"""What a program asks of values before it goes on: its checks, indices within bounds, matrices that can be factorised.

An index that was found within a bound is so wherever it is used again. Backward functions often compute theirs
anew, so indices are known by how they came about.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..program.ir import (
    Block,
    Call,
    Check,
    Gather,
    GatherAlong,
    Kind,
    Map,
    Program,
    PutAlong,
    ScatterAdd,
    View,
    crosses_processes,
)
from .differentiable import is_cut


def cleared_before(program: Program, cleared: dict[int, Any]) -> set[int]:
    """Which were cleared before anything that can stop the program; `cleared` after which instruction each was."""
    checks = Checks(program)
    found = {key for key, instruction in cleared.items() if instruction is None}
    waiting: dict[int, list[int]] = {}
    for key, instruction in cleared.items():
        waiting.setdefault(id(instruction), []).append(key)
    for instruction in program.instructions:
        if checks.of(instruction):
            break
        found.update(waiting.get(id(instruction), ()))
    return found


class Checks:
    """What each instruction may stop at; the same check has the same key."""

    def __init__(self, program: Program) -> None:
        self.buffers = program.buffers
        instructions = [
            part for i in program.instructions for part in (i.body if isinstance(i, Block) else [i])
        ]
        writers = Counter(view.buffer for i in instructions for view in i.writes())
        own = (Kind.SCRATCH, Kind.KEPT)
        # Those whose content is one and the same wherever it is read.
        self.steady = {b.number for b in program.buffers if writers[b.number] <= (b.kind in own)}
        self.makers = {i.output.buffer: i for i in instructions if isinstance(i, Map)}
        self.known: dict[tuple[View, int], int | None] = {}
        self.numbers: dict[Any, int] = {}  # of elements, by how they came about

    def of(self, instruction: Any, block: Block | None = None) -> list[Any]:
        """The checks of an instruction, in all parts of the examples if it is in a block."""
        if isinstance(instruction, (Gather, GatherAlong)):
            bound = instruction.source.shape[instruction.axis]
            return self._within(instruction, bound, block)
        if isinstance(instruction, ScatterAdd):
            return self._within(instruction, instruction.target.shape[0], block)
        if isinstance(instruction, PutAlong):
            bound = instruction.target.shape[instruction.axis]
            return self._within(instruction, bound, block)
        if isinstance(instruction, Check):
            (good,) = instruction.inputs
            found = self._elements(good, block) if isinstance(good, View) else None
            return [id(instruction)] if found is None else [found]
        if isinstance(instruction, Call) and _may_fail(instruction):
            return [id(instruction)]
        return []

    def _within(self, instruction: Any, bound: int, block: Block | None) -> list[Any]:
        if self.buffers[instruction.index.buffer].kind is Kind.CONSTANT:
            return []
        found = self._elements(instruction.index, block)
        return [id(instruction)] if found is None else [(found, bound)]

    def _elements(self, view: View, block: Block | None) -> int | None:
        """A number for the elements of a view in their order; None if it is not known how they came about."""
        key = view, id(block)
        if key not in self.known:
            self.known[key] = None  # in case it depends on itself
            self.known[key] = self._found(view, block)
        return self.known[key]

    def _found(self, view: View, block: Block | None) -> int | None:
        if view.buffer not in self.steady:
            return None
        made = self.makers.get(view.buffer)
        if made is None or not _is_all_of(view, made.output):
            return self._number((view.buffer, view.offset, _dimensions(view, block), view.dtype))
        parts: list[Any] = [
            self._elements(x, block) if isinstance(x, View) else x for x in made.inputs
        ]
        if None in parts:
            return None
        if made.function == "cast" and len(set(made.loop)) == 1 and made.loop[0] == view.dtype:
            return parts[0]  # type: ignore[no-any-return]
        return self._number((made.function, made.loop, view.dtype, *parts))

    def _number(self, key: Any) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


def _is_all_of(view: View, output: View) -> bool:
    alike = view.offset == output.offset and view.size == output.size and view.dtype == output.dtype
    return alike and view.is_contiguous() and output.is_contiguous()


def _dimensions(view: View, block: Block | None) -> tuple[tuple[int, int], ...]:
    """Sizes and strides, with those that can be one joined; a block's parts are a dimension too."""
    found: list[tuple[int, int]] = []
    parts = [] if block is None else [(block.count, block.steps.get(view.buffer, 0))]
    for n, stride in [*parts, *zip(view.shape, view.strides, strict=True)]:
        if n == 1:
            continue
        if found and found[-1][1] == n * stride:
            found[-1] = found[-1][0] * n, stride
        else:
            found.append((n, stride))
    return tuple(found)


def _may_fail(call: Call) -> bool:
    if is_cut(call) or crosses_processes(call):
        return False
    reads = list(call.reads())
    if call.effect:  # a draw, of a distribution whose parameters may be wrong
        return bool(reads)
    home = getattr(call.function, "home", getattr(call.function, "__module__", None)) or ""
    return "linalg" in home or any(view.dtype.kind in "iu" for view in reads)
