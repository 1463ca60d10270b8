"""Instructions to launches: kernels from nests that are grouped as for a CPU, products, and the memory between.

`can_lower` says whether an instruction can be part of a kernel or a product, `Lowering.lower` makes a list of
them ready to launch; both as `native` has them, so that a program is cut into parts in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..._arrays.cuda.cuda_array import CudaArray
from ..native.described import Fused, describe
from ..native.fusion.liveness import covers
from ..native.fusion.nests import Nest
from ..native.fusion.normalise import SMALL_PRODUCT, Normal
from ..native.llvm.module import Call as Placed
from ..native.llvm.module import _temporary_places as temporary_places
from ..native.loops import shape_of
from ..native.reductions import FUNCTIONS
from ..program.ir import (
    Buffer,
    Gather,
    GatherAlong,
    Instruction,
    Kind,
    Map,
    Product,
    Reduce,
    overlap,
)
from .device import device
from .expressions import cannot
from .grouping import grouped
from .kernels import Kernel
from .rows import kernel_of
from .scalars import FLOAT32, is_half, is_known
from .together import Flat, Group, described, groups_of
from .vectors import AT_ONCE


def can_lower(instruction: Instruction) -> str | None:
    """None if an instruction can become part of a kernel, or a product by cuBLAS; else why not."""
    if not isinstance(instruction, (Map, Reduce, Product, Gather, GatherAlong)):
        return "a call into Python"
    for view in (*instruction.reads(), *instruction.writes()):
        if not is_known(view.dtype):
            return "complex numbers" if view.dtype.kind == "c" else f"no rule for {view.dtype}"
    for view in instruction.writes():
        if view.size and not covers(view):
            return "it writes an element more than once"
    if isinstance(instruction, Map):
        return cannot(instruction.function, instruction.loop)
    if isinstance(instruction, Reduce):
        known = instruction.function in FUNCTIONS and is_known(instruction.dtype)
        if not known or (instruction.dtype.kind == "b" and instruction.function == "multiply"):
            return f"no rule for {instruction.function}.reduce of {instruction.dtype}"
        return None
    if isinstance(instruction, Product):
        dtype = instruction.output.dtype
        alike = all(view.dtype == dtype for view in instruction.reads())
        if not (dtype.kind == "f" or is_half(dtype)) or not alike:
            return f"a product of {dtype}"
        return None
    if instruction.output.size and not instruction.source.shape[instruction.axis]:
        return "nothing to take from"
    kind = instruction.index.dtype.kind
    return None if kind in "iu" else f"an index of {instruction.index.dtype}"


class OnGpu(Normal):
    """Instructions in the form that kernels and cuBLAS can run; long sums are cut where they are launched."""

    def _take(self, instruction: Instruction) -> None:
        if isinstance(instruction, Product) and instruction.bias is not None:
            self._biased(instruction)
            return
        plain = isinstance(instruction, Reduce) and instruction.input.size
        if plain and not overlap(instruction.input, instruction.output):  # type: ignore[union-attr]
            self._emit(instruction)
        else:
            super()._take(instruction)

    def _biased(self, product: Product) -> None:
        """A product with a row that is added: one call if it is large, else one or the other and an addition."""
        left, right, out, bias = product.left, product.right, product.output, product.bias
        assert bias is not None
        large = out.size * left.shape[-1] > SMALL_PRODUCT
        plain = out.ndim == 2 and out.is_contiguous() and bias.is_contiguous()
        if large and plain and not any(overlap(v, out) for v in (left, right, bias)):
            sides = self._for_blas(left), self._for_blas(right)
            self._emit(replace(product, left=sides[0], right=sides[1]))
            return
        self._take(replace(product, bias=None))
        wide = FLOAT32 if is_half(out.dtype) else out.dtype
        self._emit(Map("add", (out, bias.broadcast(out.shape)), out, (wide,) * 3))


@dataclass(slots=True)
class Launch:
    """One kernel with its memory, or one product."""

    name: str  # of the kernel; "" for a product
    arguments: list[tuple[int, int]]  # buffer and offset; of all members one after the other
    kernel: Kernel | None = None
    product: Product | None = None
    sizes: tuple[int, ...] = ()  # of members that share a launch: how many elements each has


@dataclass(slots=True)
class Lowered:
    """Launches in their order, the source of their kernels, and the memory they need for themselves."""

    launches: list[Launch]
    sources: dict[str, str]
    kernels: list[Fused]
    buffers: dict[int, Buffer]
    places: dict[int, int]  # of memory of their own: where in it each buffer lies
    own_bytes: int
    partial_bytes: int = 0
    tickets: int = 0
    functions: dict[str, Any] = field(default_factory=dict)


class Lowering:
    """How instructions are lowered in a program; `lent` are buffers that are elsewhere at each run."""

    can_lower = staticmethod(can_lower)

    def __init__(self, lent: frozenset[int]) -> None:
        self.lent = lent

    def lower(
        self,
        instructions: Sequence[Instruction],
        buffers: Iterable[Buffer],
        needed: Iterable[int],
        alone: bool = False,
    ) -> Lowered:
        """Kernels and products for instructions; `needed` are the buffers that are read afterwards."""
        normal = OnGpu(instructions, {b.number: b for b in buffers})
        nests = grouped(normal, needed)
        groups = groups_of(nests, self.lent, normal.buffers)
        writer = _Writer(normal)
        launches = [writer.launch(group) for group in groups]
        placed = [Placed(x.name, x.arguments, False, 0) for x in launches]
        places, own = temporary_places(normal, placed)
        kernels = [described([describe(nest, normal) for nest in g.nests]) for g in groups]
        found = [x.kernel for x in launches if x.kernel is not None]
        return Lowered(
            launches,
            writer.sources,
            kernels,
            normal.buffers,
            places,
            own,
            max((k.partial_bytes for k in found), default=0),
            max((k.tickets for k in found), default=0),
        )


class _Writer:
    """Kernels as they are written: nests that differ only in where their memory lies share one."""

    def __init__(self, normal: Normal) -> None:
        self.normal = normal
        self.device = device()
        self.sources: dict[str, str] = {}
        self._known: dict[Any, tuple[str, Kernel, list[int]]] = {}

    def launch(self, group: Group) -> Launch:
        if group.signature is None or len(group.nests) == 1:
            return self._alone(group.nests[0])
        arguments = []
        for nest in group.nests:
            _, places = shape_of(nest)
            name, kernel, order = self._kernel(("flat", group.signature), nest, places, Flat)
            arguments += [places[i] for i in order]
        sizes = tuple(nest.size for nest in group.nests)
        return Launch(name, arguments, kernel, sizes=sizes)

    def _alone(self, nest: Nest) -> Launch:
        if not nest.steps:
            product = self.normal.instructions[nest.instructions[0]]
            assert isinstance(product, Product)
            views = (*product.reads(), product.output)
            return Launch("", [(v.buffer, v.offset) for v in views], None, product)
        for step in nest.steps:
            step.number = 0  # no kernel says where an index was out of range
        shape, places = shape_of(nest)
        name, kernel, order = self._kernel(shape, nest, places, kernel_of)
        return Launch(name, [places[i] for i in order], kernel)

    def _kernel(
        self, key: Any, nest: Nest, places: list[tuple[int, int]], make: Any
    ) -> tuple[str, Kernel, list[int]]:
        even = [self._is_even(*place) for place in places]
        key = key, tuple(even)
        known = self._known.get(key)
        if known is None:
            kernel = make(
                nest, frozenset(p for p, is_even in zip(places, even, strict=True) if is_even)
            )
            text = kernel.text("NAME")
            name = self.sources.setdefault(text, f"k{len(self.sources)}")
            order = [places.index(a) for a in kernel.arguments]
            known = self._known[key] = name, kernel, order
        return known

    def _is_even(self, number: int, offset: int) -> bool:
        """Whether a part of a buffer begins at a multiple of sixteen bytes; memory of our own does."""
        buffer = self.normal.buffers.get(number)
        if buffer is None:  # where a kernel on the CPU says what went wrong
            return False
        start = 0
        if type(buffer.array) is CudaArray and buffer.kind not in (Kind.SCRATCH, Kind.ARGUMENT):
            start = self.device.address(buffer.array.raw)
        return (start + offset) % AT_ONCE == 0


__all__ = ["Launch", "Lowered", "Lowering", "can_lower"]
