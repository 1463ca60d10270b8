"""The program that a recorded computation becomes: instructions that read and write parts of memory.

A record is taken at the level of memory: a `Buffer` is a piece of it, a `View` says which elements of a
buffer an array shows, and an instruction reads views and writes views. What NumPy answers with another
view of the same memory (a transpose, a slice, most reshapes) is therefore no instruction at all, and a
write in place needs no special case: instructions run in their order, and that is what the program
means. Every shape, stride and dtype is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np

from ..._arrays.attributes import ArrayAttributes
from ..._trees.nests import Nests, fields_of_dataclass


class Kind(Enum):
    """Whose memory a buffer is."""

    SCRATCH = "scratch"  # the program's own: nothing of it outlives a run
    ARGUMENT = "argument"  # the caller's, another one at each call; only read unless it is written
    EXTERNAL = "external"  # of a tensor that lives outside (a parameter, a state): read and written in place
    CONSTANT = "constant"  # never written: what the record computed from Python values alone
    KEPT = (
        "kept"  # made by the program and seen after it: a result, a gradient, what backward needs
    )


@dataclass(slots=True, eq=False)
class Buffer:
    """A piece of memory; `array` is the one it was when recorded (flat bytes have no meaning)."""

    number: int
    nbytes: int
    kind: Kind
    array: Any = None


@dataclass(slots=True, unsafe_hash=True)
class View(ArrayAttributes):
    """The elements of a buffer that an array shows: offset and strides are in bytes.

    It is never changed. (A class that Python freezes takes three times as long to make, and a program is thousands.)
    """

    buffer: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any

    def is_contiguous(self) -> bool:
        """Whether the elements lie in rows without gaps."""
        step = self.dtype.itemsize
        for n, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n != 1 and stride != step:
                return False
            step *= n
        return True

    def moved(self, buffer: int, offset: int) -> View:
        """The same form elsewhere."""
        return View(buffer, offset, self.shape, self.strides, self.dtype)

    def broadcast(self, shape: tuple[int, ...]) -> View:
        """The same elements repeated to a shape, by strides of zero."""
        lead = len(shape) - len(self.shape)
        strides = [0] * lead
        for n, wanted, stride in zip(self.shape, shape[lead:], self.strides, strict=True):
            strides.append(stride if n == wanted else 0)
        return View(self.buffer, self.offset, tuple(shape), tuple(strides), self.dtype)


@dataclass(frozen=True, slots=True)
class Number:
    """A constant operand, as a number of the dtype in which it takes part."""

    value: Any  # a NumPy scalar


Operand = View | Number
NESTS = Nests(fields=fields_of_dataclass, atoms=(View, Number, np.ndarray))


class Late:
    """A Python number among the arguments of a call, another one at each run."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(slots=True)
class Map:
    """An elementwise function, named as NumPy's ufunc is; `cast` (one input) converts only.

    Inputs are broadcast to the output's shape already (strides of zero). `loop` are the dtypes in
    which it is computed: one per input, then the result's. An input of another dtype is converted to
    its loop dtype first, and the result to the output's dtype. `where` takes (condition, x, y).
    """

    function: str
    inputs: tuple[Operand, ...]
    output: View
    loop: tuple[Any, ...]

    def reads(self) -> Iterator[View]:
        return (x for x in self.inputs if isinstance(x, View))

    def writes(self) -> Iterator[View]:
        return iter((self.output,))


CHECK = "check"  # the function of a Check


@dataclass(slots=True)
class Check(Map):
    """A condition on values: where its one input, of bools, is not true throughout, the program stops.

    Nobody reads what it writes; it is an elementwise instruction so that it is fused, split and ordered as others
    are. `error` makes the exception that the function itself raises.
    """

    error: Callable[[Any], Exception] = RuntimeError


@dataclass(slots=True)
class Reduce:
    """A ufunc's `reduce` (add, multiply, maximum, minimum, logical_and, logical_or) over `axes`.

    `output` has the input's dimensions, with size 1 where reduced. `dtype` is what is accumulated in.
    """

    function: str
    input: View
    axes: tuple[int, ...]
    output: View
    dtype: Any

    def reads(self) -> Iterator[View]:
        return iter((self.input,))

    def writes(self) -> Iterator[View]:
        return iter((self.output,))


@dataclass(slots=True)
class Product:
    """A stack of matrix products: (…, m, k) times (…, k, n) is (…, m, n); all of one dtype.

    Stack dimensions are broadcast already. With `adds`, the product is added to the output; with a `bias` (on a GPU,
    where one call does both), that row is added to each row of it.
    """

    left: View
    right: View
    output: View
    adds: bool = False
    bias: View | None = None

    def reads(self) -> Iterator[View]:
        yield self.left
        yield self.right
        if self.bias is not None:
            yield self.bias
        if self.adds:
            yield self.output

    def writes(self) -> Iterator[View]:
        return iter((self.output,))


@dataclass(slots=True)
class _Gathering:
    """Elements by an index along `axis`. A negative index counts from the end; one outside is an IndexError."""

    source: View
    index: View
    axis: int
    output: View

    def reads(self) -> Iterator[View]:
        return iter((self.source, self.index))

    def writes(self) -> Iterator[View]:
        return iter((self.output,))


@dataclass(slots=True)
class Gather(_Gathering):
    """`output[…, i…, …] = source[…, index[i…], …]`, as `np.take` does."""


@dataclass(slots=True)
class GatherAlong(_Gathering):
    """`np.take_along_axis`: `output[i, j] = source[i, index[i, j]]`; index has the output's shape."""


@dataclass(slots=True)
class ScatterAdd:
    """`target[index[i], …] += source[i, …]` along axis 0, in the order of the index (`np.add.at`)."""

    target: View
    index: View  # one dimension
    source: View

    def reads(self) -> Iterator[View]:
        return iter((self.target, self.index, self.source))

    def writes(self) -> Iterator[View]:
        return iter((self.target,))


@dataclass(slots=True)
class PutAlong:
    """`np.put_along_axis`: `target[i, index[i, j]] = source[i, j]` along `axis`; shapes of index and source agree."""

    target: View
    index: View
    source: Operand
    axis: int

    def reads(self) -> Iterator[View]:
        yield self.target
        yield self.index
        if isinstance(self.source, View):
            yield self.source

    def writes(self) -> Iterator[View]:
        return iter((self.target,))


@dataclass(slots=True)
class Call:
    """Any other array function, called from Python: `function(*args, **kwargs)`.

    Views stand where arrays go (also inside tuples and lists). Results are copied to `outputs`;
    `changed` are the views that it writes into by itself (`out=`, the target of an assignment). A
    call with an `effect` (a draw of random numbers, a Python function) happens once per run, in its
    place, even if nobody reads what it gives.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[View, ...]
    changed: tuple[View, ...] = ()
    effect: bool = False
    name: str = ""
    takes_out: bool = (
        False  # whether the function can write to its output by `out=` (a tuple of several)
    )
    # On a GPU: which of the pieces of memory that it asks for become which outputs, and how many bytes each has;
    # and the bytes of all others.
    order: tuple[tuple[int, int, int], ...] = field(default=(), compare=False)
    work: int = field(default=0, compare=False)

    def reads(self) -> Iterator[View]:
        return views_in((self.args, self.kwargs))

    def writes(self) -> Iterator[View]:
        yield from self.outputs
        yield from self.changed


def crosses_processes(instruction: Any) -> bool:
    """Whether other processes take part in it, who count on its happening once."""
    return isinstance(instruction, Call) and getattr(
        instruction.function, "crosses_processes", False
    )


@dataclass(slots=True)
class Block:
    """Instructions for a part of the examples, done for all `count` parts; by `slots` threads, each some of them.

    `steps` say how many bytes each buffer moves on from part to part. `of` and `into` are the views that
    all of it reads and writes, `inner` buffers that hold one part's values only: they lie in the buffer `room`,
    which each thread has for itself. `sums` are buffers to which parts are added; every thread but the first
    has others in their place.
    """

    body: list[Any]
    sites: list[Any]
    count: int
    slots: int
    steps: dict[int, int]
    of: tuple[View, ...]
    into: tuple[View, ...]
    inner: tuple[int, ...]
    room: int
    sums: dict[int, tuple[int, ...]]

    def reads(self) -> Iterator[View]:
        return iter(self.of)

    def writes(self) -> Iterator[View]:
        return iter(self.into)


Instruction = Map | Reduce | Product | Gather | GatherAlong | ScatterAdd | PutAlong | Call | Block
NATIVE = (Map, Reduce, Product, Gather, GatherAlong, ScatterAdd, PutAlong)


@dataclass(slots=True)
class Program:
    """Buffers, and the instructions on them in the order in which they happen."""

    buffers: list[Buffer] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    sites: list[Any] = field(default_factory=list)  # the line of the user's code, per instruction


def views_in(value: Any) -> Iterator[View]:
    """The views among arguments, also inside tuples, lists and dictionaries."""
    return (leaf for leaf in NESTS.leaves(value) if isinstance(leaf, View))


def rewritten(instruction: Any, change: Callable[[View], View]) -> Any:
    """An instruction with each of its views changed, also those inside tuples, lists and dictionaries."""

    def changed(leaf: Any) -> Any:
        return change(leaf) if type(leaf) is View else leaf

    if type(instruction) is Map:
        inputs = tuple([changed(x) for x in instruction.inputs])
        return Map(instruction.function, inputs, change(instruction.output), instruction.loop)
    parts = [NESTS.mapped(getattr(instruction, f.name), changed) for f in fields(instruction)]
    return type(instruction)(*parts)


def overlap(a: View, b: View) -> bool:
    """Whether two views may share an element; never wrongly False."""
    if a.buffer != b.buffer or not a.size or not b.size:
        return False
    first, last = span(a)
    start, end = span(b)
    return first < end and start < last


def span(view: View) -> tuple[int, int]:
    """The bytes of its buffer between which a view lies."""
    low = high = view.offset
    for n, stride in zip(view.shape, view.strides, strict=True):
        if stride < 0:
            low += (n - 1) * stride
        else:
            high += (n - 1) * stride
    return low, high + view.dtype.itemsize


def array_of(view: View, base: Any) -> Any:
    """A view of a buffer's bytes (a flat array of uint8) as an array."""
    return np.ndarray(view.shape, view.dtype, base, view.offset, view.strides)
