"""A number that multiplies the result of a matrix product goes to BLAS, which multiplies anyway."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...dynamic.size import example
from ...program.ir import Buffer, Instruction, Kind, Map, Number, Product, View, overlap
from .liveness import covers


@dataclass(slots=True)
class Scaled(Product):
    """A stack of matrix products times a number."""

    factor: float = 1.0


def with_factors(
    instructions: Sequence[Instruction],
    buffers: dict[int, Buffer],
    needed: frozenset[int],
    least: int,
) -> list[Instruction | None]:
    """The instructions, with None where one was taken into a product of more than `least` multiplications."""
    found: list[Instruction | None] = list(instructions)
    uses: dict[int, list[int]] = {}
    for i, instruction in enumerate(instructions):
        for buffer in {v.buffer for v in (*instruction.reads(), *instruction.writes())}:
            uses.setdefault(buffer, []).append(i)

    def passes_on(view: View, first: int, last: int) -> bool:
        """Whether a view is all that its buffer ever holds, made by one instruction and read by another."""
        whole = buffers[view.buffer]
        size = view.size * view.dtype.itemsize
        own = whole.kind is Kind.SCRATCH and whole.nbytes == size and view.buffer not in needed
        return own and covers(view) and uses[view.buffer] == [first, last]

    def untouched(view: View, first: int, last: int) -> bool:
        """Whether nobody writes or reads a view between two instructions."""
        for i in uses[view.buffer]:
            between = found[i]
            if first < i < last and between is not None:
                views = (*between.writes(), *between.reads())
                if any(overlap(view, other) for other in views):
                    return False
        return True

    for i, instruction in enumerate(instructions):
        factor = _factor(instruction)
        if factor is None:
            continue
        assert isinstance(instruction, Map)
        source, out = instruction.inputs[0], instruction.output
        assert isinstance(source, View)
        first = uses[source.buffer][0]
        maker = found[first]
        if not isinstance(maker, Product) or maker.output != source or maker.adds:
            continue
        clear = not (overlap(out, maker.left) or overlap(out, maker.right))
        clear = clear and covers(out) and untouched(out, first, i)
        if clear and _is_large(maker, least) and passes_on(source, first, i):
            before = maker.factor if isinstance(maker, Scaled) else 1.0
            found[first] = Scaled(maker.left, maker.right, out, factor=before * factor)
            found[i] = None
            bisect.insort(uses[out.buffer], first)
    return found


def _factor(instruction: Instruction) -> float | None:
    """The number by which a Map multiplies an array of the same dtype."""
    if not isinstance(instruction, Map) or instruction.function != "multiply":
        return None
    source, number = instruction.inputs
    if not isinstance(source, View) or not isinstance(number, Number):
        return None
    dtype: Any = source.dtype
    if set(instruction.loop) != {dtype} or instruction.output.dtype != dtype:
        return None
    if dtype.kind != "f" or dtype.itemsize < 4 or source.shape != instruction.output.shape:
        return None
    factor = float(number.value)
    return factor if math.isfinite(factor) and factor else None


def _is_large(product: Product, least: int) -> bool:
    rows, columns = product.output.shape[-2:]
    depth = product.left.shape[-1]
    size = example(product.output.size * depth)
    return rows > 1 and columns > 1 and depth > 1 and size > least
