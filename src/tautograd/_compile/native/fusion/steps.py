"""An instruction as a step of a loop nest: the dimensions it runs over, and how it walks through memory.

Dimensions of size 1 are left out, so a step over (64, 1, 10) and one over (64, 10) run over the same
ones. A reduction runs over its input's dimensions and writes where it reads with strides of zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...program.ir import Gather, GatherAlong, Instruction, Map, Number, Product, Reduce, View
from ..llvm.types import is_float

DOT = "dot"  # the function of a step that multiplies two inputs and sums the products
GATHER = "gather"


class Access(NamedTuple):
    """How a step walks through a buffer: bytes from its start, bytes per dimension."""

    buffer: int
    offset: int
    strides: tuple[int, ...]
    dtype: Any


class Index(NamedTuple):
    """Where along an axis of the first input a step reads: numbers in memory."""

    access: Access
    stride: int
    size: int


@dataclass(slots=True)
class Step:
    """One instruction in a loop nest."""

    number: int  # of the instruction
    function: str
    inputs: tuple[Access | Number, ...]
    loop: tuple[Any, ...]  # dtypes, as a Map has them; of a reduction: input, accumulator
    output: Access
    dims: tuple[int, ...]
    reduced: tuple[bool, ...] | None = None  # for a reduction, per dimension
    index: Index | None = None
    adds: bool = False  # a product that is added to its output
    whole: tuple[View, ...] = ()  # what is read in no fixed order
    # Decided when it joins a nest:
    full: bool = True  # runs for every element; else once for each row
    time: int = 0  # 2p: in the loop of pass p; 2p + 1: after it
    stored: bool = True

    @property
    def written_at(self) -> int:
        return self.time if self.reduced is None else self.time + 1

    def reads(self) -> Iterator[Access]:
        first = 1 if self.index is not None else 0
        for x in self.inputs[first:]:
            if isinstance(x, Access):
                yield x
        if self.index is not None:
            yield self.index.access
        if self.adds:
            yield self.output


def step_of(number: int, instruction: Instruction) -> Step | None:
    """An instruction as a step; None if it is none (a large product, a scatter)."""
    if isinstance(instruction, Map):
        step = _map(number, instruction)
    elif isinstance(instruction, Reduce):
        step = _reduce(number, instruction)
    elif isinstance(instruction, Product):
        step = _product(number, instruction)
    elif isinstance(instruction, Gather):
        step = _gather(number, instruction)
    elif isinstance(instruction, GatherAlong):
        step = _gather_along(number, instruction)
    else:
        return None
    return merged(step)


def _walk(view: View, axes: list[int]) -> Access:
    return Access(view.buffer, view.offset, tuple(view.strides[a] for a in axes), view.dtype)


def _kept(shape: tuple[int, ...]) -> list[int]:
    return [axis for axis, n in enumerate(shape) if n != 1]


def _map(number: int, map_: Map) -> Step:
    axes = _kept(map_.output.shape)
    inputs = tuple(x if isinstance(x, Number) else _walk(x, axes) for x in map_.inputs)
    dims = tuple(map_.output.shape[a] for a in axes)
    return Step(number, map_.function, inputs, map_.loop, _walk(map_.output, axes), dims)


def _reduce(number: int, reduce: Reduce) -> Step:
    source = reduce.input
    axes = _kept(source.shape)
    dims = tuple(source.shape[a] for a in axes)
    over = {a % source.ndim for a in reduce.axes} if source.ndim else set()
    reduced = tuple(a in over for a in axes)
    out = reduce.output
    strides = tuple(0 if a in over else out.strides[a] for a in axes)
    output = Access(out.buffer, out.offset, strides, out.dtype)
    if not any(reduced):
        dtype = reduce.dtype
        if reduce.function == "add" and is_float(dtype):  # from zero: a negative zero becomes zero
            inputs = (_walk(source, axes), Number(dtype.type(0)))
            return Step(number, "add", inputs, (dtype, dtype, dtype), output, dims)
        return Step(number, "cast", (_walk(source, axes),), (dtype, dtype), output, dims)
    loop = (source.dtype, reduce.dtype)
    return Step(number, reduce.function, (_walk(source, axes),), loop, output, dims, reduced)


def _product(number: int, product: Product) -> Step:
    """A small product: every element of (…, m, n, k) is a multiplication, and k is summed over."""
    left, right, out = product.left, product.right, product.output
    shape = (*out.shape, left.shape[-1])
    strides = {
        "left": (*left.strides[:-1], 0, left.strides[-1]),
        "right": (*right.strides[:-2], 0, right.strides[-1], right.strides[-2]),
        "out": (*out.strides, 0),
    }
    axes = _kept(shape)

    def walk(view: View, name: str) -> Access:
        picked = tuple(strides[name][a] for a in axes)
        return Access(view.buffer, view.offset, picked, view.dtype)

    dims = tuple(shape[a] for a in axes)
    reduced = tuple(a == len(shape) - 1 for a in axes)
    return Step(
        number,
        DOT,
        (walk(left, "left"), walk(right, "right")),
        (left.dtype, out.dtype),
        walk(out, "out"),
        dims,
        reduced,
        adds=product.adds,
    )


def _gather(number: int, gather: Gather) -> Step:
    source, index, out = gather.source, gather.index, gather.output
    axis = gather.axis % source.ndim
    after = source.ndim - axis - 1
    lead = (*source.strides[:axis], *(0 for _ in index.shape), *source.strides[axis + 1 :])
    where = (*(0 for _ in range(axis)), *index.strides, *(0 for _ in range(after)))
    return _indirect(number, source, index, out, axis, lead, where)


def _gather_along(number: int, gather: GatherAlong) -> Step:
    source, index, out = gather.source, gather.index, gather.output
    axis = gather.axis % source.ndim
    lead = tuple(
        0 if a == axis or source.shape[a] == 1 else stride
        for a, stride in enumerate(source.strides)
    )
    return _indirect(number, source, index, out, axis, lead, index.strides)


def _indirect(
    number: int,
    source: View,
    index: View,
    out: View,
    axis: int,
    strides: tuple[int, ...],
    index_strides: tuple[int, ...],
) -> Step:
    axes = _kept(out.shape)
    read = Access(source.buffer, source.offset, tuple(strides[a] for a in axes), source.dtype)
    places = tuple(index_strides[a] for a in axes)
    where = Index(
        Access(index.buffer, index.offset, places, index.dtype),
        source.strides[axis],
        source.shape[axis],
    )
    dims = tuple(out.shape[a] for a in axes)
    loop = (source.dtype, out.dtype)
    return Step(number, GATHER, (read,), loop, _walk(out, axes), dims, index=where, whole=(source,))


def rewritten(
    step: Step,
    change: Callable[[Access], Access],
    dims: tuple[int, ...],
    reduced: tuple[bool, ...] | None,
    full: bool,
) -> Step:
    """A step with its accesses changed, over other dimensions."""
    inputs = tuple([x if type(x) is Number else change(x) for x in step.inputs])  # type: ignore[arg-type]
    index = step.index and step.index._replace(access=change(step.index.access))
    return Step(
        step.number, step.function, inputs, step.loop, change(step.output), dims, reduced, index,
        step.adds, step.whole, full, step.time, step.stored,
    )  # fmt: skip


def spread(step: Step, reduced: tuple[bool, ...], dims: tuple[int, ...]) -> Step:
    """A step over the kept dimensions as one that also has the reduced ones, with strides of zero."""

    def wider(access: Access) -> Access:
        strides = iter(access.strides)
        return access._replace(strides=tuple(0 if r else next(strides) for r in reduced))

    return rewritten(step, wider, dims, step.reduced, False)


def merged(step: Step) -> Step:
    """Neighbouring dimensions that every access walks through as one, made one."""
    accesses = [x for x in step.inputs if isinstance(x, Access)]
    if step.index is not None:
        accesses.append(step.index.access)
    accesses.append(step.output)
    flags = step.reduced or (False,) * len(step.dims)
    ends: list[int] = []  # the last of the dimensions that become one
    for d in range(len(step.dims)):
        joins = bool(ends) and flags[d] == flags[d - 1]
        if joins and all(a.strides[d - 1] == a.strides[d] * step.dims[d] for a in accesses):
            ends[-1] = d
        else:
            ends.append(d)
    if len(ends) == len(step.dims):
        return step
    starts = [0, *(e + 1 for e in ends[:-1])]
    dims = tuple(math.prod(step.dims[a : b + 1]) for a, b in zip(starts, ends, strict=True))
    reduced = step.reduced and tuple(flags[e] for e in ends)

    def change(access: Access) -> Access:
        return access._replace(strides=tuple(access.strides[e] for e in ends))

    return rewritten(step, change, dims, reduced, step.full)
