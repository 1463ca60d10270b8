"""Blocks: a run of instructions that treat each example by itself is done example by example.

A convolution lays patches out as a matrix that is many times larger than its input. Done for the whole batch
that matrix passes through main memory several times; done for one example after the other it stays in the
cache, and the memory for it is that of one example. The sum over examples of such products (a weight's
gradient) is added up in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..ir import (
    Block,
    Buffer,
    Instruction,
    Kind,
    Map,
    Product,
    Program,
    Reduce,
    View,
    rewritten,
    span,
)
from .sums import Sums, new_scratch

LEAST = 1 << 18  # bytes: of a matrix that is worth it
WORTH_THREADS = 8  # examples that are worth a second thread


def in_blocks(program: Program, slots: int, cannot: Callable[[Any], Any]) -> Program:
    """Put runs of instructions around large stacks of products into blocks, for so many threads.

    `cannot` says why an instruction cannot be in a block, if so.
    """
    if not any(_is_large(program, instruction) for instruction in program.instructions):
        return program
    instructions = program.instructions
    uses = _uses(instructions)
    buffers = list(program.buffers)
    found: list[Instruction] = []
    places: list[Any] = []
    at = 0
    while at < len(instructions):
        run = _run(program, uses, at, cannot)
        if run is None:
            found.append(instructions[at])
            places.append(program.sites[at])
            at += 1
            continue
        stop, sums = run
        whole = _block(program, uses, buffers, at, stop, sums, slots)
        found += whole
        places += [program.sites[at]] * len(whole)
        at = stop
    return Program(buffers, found, places)


def _uses(instructions: list[Instruction]) -> dict[int, list[int]]:
    """The instructions that read or write each buffer, in order."""
    uses: dict[int, list[int]] = {}
    for i, instruction in enumerate(instructions):
        for number in {view.buffer for view in (*instruction.reads(), *instruction.writes())}:
            uses.setdefault(number, []).append(i)
    return uses


def _run(
    program: Program, uses: dict[int, list[int]], start: int, cannot: Callable[[Any], Any]
) -> tuple[int, dict[int, View]] | None:
    """Where the run that begins here ends, and the sums in it, if it is worth a block."""
    instructions = program.instructions
    count = _examples(instructions[start])
    if count is None or count < 4:
        return None
    steps: dict[int, int] = {}
    sums: dict[int, View] = {}  # product -> where the sum of it over examples goes
    stop, worth = start, False
    for i in range(start, len(instructions)):
        instruction = instructions[i]
        summed = _summed(program, uses, i, start)
        if summed is not None:
            sums[summed[0]] = summed[1]
            stop = i + 1
            continue
        if _examples(instruction) != count or cannot(instruction):
            break
        if not _apart(instruction, steps):
            break
        worth = worth or _is_large(program, instruction)
        stop = i + 1
    return (stop, sums) if worth and stop - start > 1 else None


def _examples(instruction: Instruction) -> int | None:
    """How many examples an instruction treats one by one: its leading dimension."""
    if isinstance(instruction, Map) and instruction.output.ndim:
        return instruction.output.shape[0]
    if isinstance(instruction, Product) and instruction.output.ndim > 2 and not instruction.adds:
        return instruction.output.shape[0]
    return None


def _is_large(program: Program, instruction: Instruction) -> bool:
    """Whether it is a product with a large matrix of its own for each example."""
    if not isinstance(instruction, Product):
        return False
    views = (instruction.left, instruction.right, instruction.output)
    return any(
        program.buffers[v.buffer].kind is Kind.SCRATCH and abs(v.strides[0]) >= LEAST for v in views
    )


def _apart(instruction: Instruction, steps: dict[int, int]) -> bool:
    """Whether each example has its own part of every buffer that the run writes."""
    new: dict[int, int] = {}
    written = {view.buffer for view in instruction.writes()}
    for view in (*instruction.reads(), *instruction.writes()):
        step = view.strides[0]
        if step == 0 and view.buffer not in written and steps.get(view.buffer, 0) == 0:
            new[view.buffer] = 0
            continue
        low, high = span(_example(view))
        if step <= 0 or low < 0 or high > step or steps.get(view.buffer, step) != step:
            return False
        if new.get(view.buffer, step) != step:
            return False
        new[view.buffer] = step
    steps.update(new)
    return True


def _summed(
    program: Program, uses: dict[int, list[int]], at: int, start: int
) -> tuple[int, View] | None:
    """A sum over examples of products made in this run and read by nobody else."""
    reduce = program.instructions[at]
    if not isinstance(reduce, Reduce) or reduce.function != "add" or reduce.axes != (0,):
        return None
    source = reduce.input
    if program.buffers[source.buffer].kind is not Kind.SCRATCH or reduce.dtype != source.dtype:
        return None
    users = uses[source.buffer]
    if len(users) != 2 or users[1] != at or users[0] < start:
        return None
    product = program.instructions[users[0]]
    if not isinstance(product, Product) or product.output != source:
        return None
    if any(users[0] <= i < at for i in uses[reduce.output.buffer]):
        return None
    return users[0], reduce.output


def _example(view: View) -> View:
    """The part of the first example."""
    return View(view.buffer, view.offset, view.shape[1:], view.strides[1:], view.dtype)


def _block(
    program: Program,
    uses: dict[int, list[int]],
    buffers: list[Buffer],
    start: int,
    stop: int,
    totals: dict[int, View],
    slots: int,
) -> list[Instruction]:
    """A block for a run of instructions, and what comes before and after it for the sake of sums."""
    instructions = program.instructions
    run = instructions[start:stop]
    count = _examples(run[0])
    assert count is not None
    slots = slots if count >= WORTH_THREADS else 1
    body: list[Instruction] = []
    sites: list[Any] = []
    steps: dict[int, int] = {}
    small: dict[int, int] = {}  # buffers of which one example's part is enough
    for i, instruction in enumerate(run, start):
        if isinstance(instruction, Reduce):
            continue
        first: Any = _of_one(instruction)
        if i in totals:
            first = Product(first.left, first.right, _example(totals[i]), adds=True)
        for view in (*instruction.reads(), *instruction.writes()):
            if i in totals and view == instruction.output:  # type: ignore[union-attr]
                continue
            steps.setdefault(view.buffer, view.strides[0])
            buffer = program.buffers[view.buffer]
            at = uses[view.buffer]
            inside = start <= at[0] and at[-1] < stop
            inner = buffer.kind is Kind.SCRATCH and inside and view.strides[0]
            if inner and view.buffer not in small:
                small[view.buffer] = new_scratch(buffers, view.strides[0])
        body.append(first)
        sites.append(program.sites[i])

    def renumbered(view: View) -> View:
        return replace(view, buffer=small.get(view.buffer, view.buffer))

    body = [rewritten(instruction, renumbered) for instruction in body]
    moving = {n: step for n, step in steps.items() if step and n not in small}
    sums = Sums(buffers, totals.values(), slots)
    gone = {*small, *(instructions[i].output.buffer for i in totals)}  # type: ignore[union-attr]
    reads = tuple(v for i in run for v in i.reads() if v.buffer not in gone) + sums.views
    products = [i for i in run if not isinstance(i, Reduce)]
    writes = tuple(v for i in products for v in i.writes() if v.buffer not in gone) + sums.views
    inner_ = tuple(small.values())
    room = new_scratch(buffers, 0)
    block = Block(body, sites, count, slots, moving, reads, writes, inner_, room, sums.others)
    return [*sums.cleared(totals.values()), block, *sums.added()]


def _of_one(instruction: Any) -> Any:
    """An instruction for one example."""
    if isinstance(instruction, Map):
        inputs = tuple(_example(x) if isinstance(x, View) else x for x in instruction.inputs)
        return replace(instruction, inputs=inputs, output=_example(instruction.output))
    return replace(
        instruction,
        left=_example(instruction.left),
        right=_example(instruction.right),
        output=_example(instruction.output),
    )
