"""How an instruction is done for some of the examples only: along which dimension of each of its views.

Examples lie in a buffer one after the other; the whole of them may be repeated (the queries of all, then the
keys of all). `period` is the size of that whole in bytes: of `count` parts, part number i has the bytes from
i / count to (i + 1) / count of each period.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ..ir import Gather, GatherAlong, Instruction, Map, Product, PutAlong, Reduce, View


class Way(NamedTuple):
    """The dimension along which each operand, by its name, is cut; None: all of it.

    Where `adds`, what the parts write has to be added up.
    """

    dims: dict[str, int | None]
    adds: bool = False


def ways(instruction: Instruction) -> Iterator[Way]:
    """All the ways to do an instruction in parts."""
    if isinstance(instruction, Map):
        for d in range(instruction.output.ndim):
            yield Way({"inputs": d, "output": d})
    elif isinstance(instruction, Reduce):
        for d in range(instruction.output.ndim):
            if d not in instruction.axes:
                yield Way({"input": d, "output": d})
            elif instruction.function == "add" and instruction.dtype == instruction.output.dtype:
                yield Way({"input": d, "output": None}, True)
    elif isinstance(instruction, Product):
        last = instruction.output.ndim - 1
        for d in range(last - 1):
            yield Way({"left": d, "right": d, "output": d})
        yield Way({"left": last - 1, "right": None, "output": last - 1})
        yield Way({"left": None, "right": last, "output": last})
        yield Way({"left": last, "right": last - 1, "output": None}, True)
    elif isinstance(instruction, Gather):
        for d in range(instruction.index.ndim):
            yield Way({"source": None, "index": d, "output": instruction.axis + d})
    elif isinstance(instruction, (GatherAlong, PutAlong)):
        names = [
            n for n in _OPERANDS[type(instruction)] if isinstance(getattr(instruction, n), View)
        ]
        views = [getattr(instruction, n) for n in names]
        for d in range(instruction.index.ndim):
            if d != instruction.axis and len({v.shape[d] for v in views}) == 1:
                yield Way(dict.fromkeys(names, d))


_OPERANDS: dict[Any, tuple[str, ...]] = {
    GatherAlong: ("source", "index", "output"),
    PutAlong: ("target", "index", "source"),
}
_WRITTEN = ("output", "target")


def operands(instruction: Any, way: Way) -> Iterator[tuple[View, int | None, bool]]:
    """Each view, the dimension along which it is cut, and whether it is written."""
    for name, d in way.dims.items():
        operand = getattr(instruction, name)
        for view in operand if name == "inputs" else (operand,):
            if isinstance(view, View):
                yield view, d, name in _WRITTEN


def lies_apart(view: View, d: int, count: int) -> bool:
    """Whether each part of a view has places of its own, by the periods of the dimension that is cut."""
    n, stride = view.shape[d], view.strides[d]
    if not n or n % count or stride <= 0:
        return False
    period = stride * n
    end: int = view.offset % period + view.dtype.itemsize
    for e, (size, step) in enumerate(zip(view.shape, view.strides, strict=True)):
        if e == d or size == 1:
            continue
        if step < 0:
            return False
        if step % period:
            end += (size - 1) * step
    return end <= stride


def in_part(instruction: Any, way: Way, count: int, place: Callable[[View], View]) -> Any:
    """An instruction for the first part of the examples; `place` says where a view of the part lies."""

    def cut(operand: Any, d: int | None) -> Any:
        if not isinstance(operand, View):
            return operand
        if d is None:
            return place(operand)
        shape = (*operand.shape[:d], operand.shape[d] // count, *operand.shape[d + 1 :])
        offset, strides, dtype = operand.offset, operand.strides, operand.dtype
        return place(View(operand.buffer, offset, shape, strides, dtype))

    changed: dict[str, Any] = {}
    for name, d in way.dims.items():
        operand = getattr(instruction, name)
        if name == "inputs":
            changed[name] = tuple([cut(x, d) for x in operand])
        else:
            changed[name] = cut(operand, d)
    return replace(instruction, **changed)


def packed(view: View, buffer: int, period: int, count: int) -> View:
    """A part's view in a buffer that holds that part only: periods follow each other sooner."""
    turns, rest = divmod(view.offset, period)
    strides = tuple([s // count if s % period == 0 else s for s in view.strides])
    return View(buffer, turns * (period // count) + rest, view.shape, strides, view.dtype)
