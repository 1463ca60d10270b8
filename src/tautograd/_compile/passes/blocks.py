"""Blocks: a run of instructions that treat each example by itself is done example by example.

A convolution lays patches out as a matrix that is many times larger than its input. Done for the whole batch
that matrix passes through main memory several times; done for one example after the other it stays in the
cache, and the memory for it is that of one example. The sum over examples of such products (a weight's
gradient) is added up in place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from ..ir import (
    Block,
    Buffer,
    Instruction,
    Kind,
    Map,
    Number,
    Product,
    Program,
    Reduce,
    View,
    rewritten,
    span,
)

LEAST = 1 << 18  # bytes: of a matrix that is worth it


def in_blocks(program: Program) -> Program:
    """Put runs of instructions around large stacks of products into blocks."""
    instructions = list(program.instructions)
    sites = list(program.sites)
    buffers = list(program.buffers)
    found: list[Instruction] = []
    places: list[Any] = []
    at = 0
    while at < len(instructions):
        stop = _stop(program, instructions, at)
        if stop is None:
            found.append(instructions[at])
            places.append(sites[at])
            at += 1
            continue
        before, block = _block(program, buffers, instructions, at, stop)
        found += [*before, block]
        places += [sites[at]] * (len(before) + 1)
        at = stop
    return Program(buffers, found, places)


def _stop(program: Program, instructions: list[Instruction], start: int) -> int | None:
    """Where the run that begins here ends, if it is worth a block."""
    count = _examples(instructions[start])
    if count is None or count < 4:
        return None
    steps: dict[int, int] = {}
    stop, worth = start, False
    for i in range(start, len(instructions)):
        instruction = instructions[i]
        reduced = _summed(program, instructions, i, start)
        if reduced is not None:
            stop = i + 1
            continue
        if _examples(instruction) != count or not _apart(instruction, steps):
            break
        worth = worth or _is_large(program, instruction)
        stop = i + 1
    return stop if worth and stop - start > 1 else None


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
    program: Program, instructions: list[Instruction], at: int, start: int
) -> tuple[int, View] | None:
    """A sum over examples of products made in this run and read by nobody else."""
    reduce = instructions[at]
    if not isinstance(reduce, Reduce) or reduce.function != "add" or reduce.axes != (0,):
        return None
    source = reduce.input
    if program.buffers[source.buffer].kind is not Kind.SCRATCH or reduce.dtype != source.dtype:
        return None
    users = [
        i
        for i, instruction in enumerate(instructions)
        if any(v.buffer == source.buffer for v in (*instruction.reads(), *instruction.writes()))
    ]
    if len(users) != 2 or users[1] != at or users[0] < start:
        return None
    product = instructions[users[0]]
    if not isinstance(product, Product) or product.output != source:
        return None
    between = instructions[users[0] : at]
    target = reduce.output.buffer
    if any(v.buffer == target for i in between for v in (*i.reads(), *i.writes())):
        return None
    return users[0], reduce.output


def _example(view: View) -> View:
    """The part of the first example."""
    return View(view.buffer, view.offset, view.shape[1:], view.strides[1:], view.dtype)


def _block(
    program: Program, buffers: list[Buffer], instructions: list[Instruction], start: int, stop: int
) -> tuple[list[Instruction], Block]:
    run = instructions[start:stop]
    before: list[Instruction] = []
    totals: dict[int, View] = {}  # product -> where its sum goes
    for i in range(start, stop):
        summed = _summed(program, instructions, i, start)
        if summed is not None:
            product, target = summed
            totals[product] = target
            zero = Number(target.dtype.type(0))
            before.append(Map("cast", (zero,), target, (target.dtype, target.dtype)))
    elsewhere = Counter(
        view.buffer
        for i, instruction in enumerate(instructions)
        if not start <= i < stop
        for view in (*instruction.reads(), *instruction.writes())
    )
    body: list[Instruction] = []
    steps: dict[int, int] = {}
    small: dict[int, int] = {}  # buffers of which one example's part is enough
    for i, instruction in enumerate(run, start):
        if isinstance(instruction, Reduce):
            continue
        first: Any = _of_one(instruction)
        if i in totals:
            whole = totals[i]
            first = Product(first.left, first.right, _example(whole), adds=True)
            steps[whole.buffer] = 0
        for view in (*instruction.reads(), *instruction.writes()):
            if i in totals and view == instruction.output:  # type: ignore[union-attr]
                continue
            steps.setdefault(view.buffer, view.strides[0])
            buffer = program.buffers[view.buffer]
            inner = buffer.kind is Kind.SCRATCH and view.buffer not in elsewhere and view.strides[0]
            if inner and view.buffer not in small:
                small[view.buffer] = len(buffers)
                buffers.append(Buffer(len(buffers), view.strides[0], Kind.SCRATCH))
        body.append(first)

    def renumbered(view: View) -> View:
        return replace(view, buffer=small.get(view.buffer, view.buffer))

    body = [rewritten(instruction, renumbered) for instruction in body]
    moving = {n: step for n, step in steps.items() if step and n not in small}
    count = _examples(run[0])
    assert count is not None
    whole_run = [*before, *(i for i in run if not isinstance(i, Reduce))]
    gone = {*small, *(instructions[i].output.buffer for i in totals)}  # type: ignore[union-attr]
    reads = tuple(v for i in run for v in i.reads() if v.buffer not in gone)
    writes = tuple(v for i in whole_run for v in i.writes() if v.buffer not in gone)
    writes += tuple(totals.values())
    sums = tuple(totals.values())
    return before, Block(body, count, moving, reads, writes, tuple(small.values()), sums)


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
