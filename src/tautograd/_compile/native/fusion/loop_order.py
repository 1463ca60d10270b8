"""The loops of a nest: their order, dimensions merged into one, and the one that is cut into vectors.

A nest without reductions has one row per index of its outer dimensions. With reductions, a row is what
is summed over; if memory lies so that neighbouring results are neighbours (a sum over the batch), the
vector runs across rows instead, and each lane sums its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dynamic.size import example
from ..llvm import vector_math
from ..llvm.types import is_float
from .nests import Nest
from .steps import Access, Step


@dataclass(slots=True)
class Layout:
    """Dimensions as loops: `sizes` of all, which are `outer` and `inner`, and which is the vector's."""

    sizes: list[int]
    outer: list[int]
    inner: list[int]
    vector: int
    strides: dict[Access, tuple[int, ...]]
    lanes: int

    @property
    def across(self) -> bool:
        """Whether the vector runs across rows."""
        return self.vector in self.outer


def arrange(nest: Nest, vector_bytes: int) -> Layout:
    accesses = list(dict.fromkeys(_accesses(nest)))
    reduced = nest.reduced or (False,) * len(nest.dims)
    order = _order(nest, reduced)
    sizes, kinds, strides = _merge(nest.dims, reduced, order, accesses)
    if not sizes:
        sizes, kinds = [1], [False]
        strides = dict.fromkeys(accesses, (0,))
    vector = _vector_dimension(nest, sizes, kinds, strides)
    if nest.reduced is None:
        outer = [d for d in range(len(sizes)) if d != vector]
        inner = [vector]
    else:
        outer = [d for d in range(len(sizes)) if not kinds[d]]
        inner = [d for d in range(len(sizes)) if kinds[d]]
        for part in (outer, inner):
            if vector in part:
                part.remove(vector)
                part.append(vector)
    lanes = _lanes(nest, vector_bytes, vector in outer)
    while lanes > 1 and lanes // 2 >= example(sizes[vector]):
        lanes //= 2
    return Layout(sizes, outer, inner, vector, strides, lanes)


def _accesses(nest: Nest) -> list[Access]:
    found: list[Access] = []
    for step in nest.steps:
        found.extend(x for x in step.inputs if isinstance(x, Access))
        if step.index is not None:
            found.append(step.index.access)
        found.append(step.output)
    return found


def _order(nest: Nest, reduced: tuple[bool, ...]) -> list[int]:
    """Dimensions from the outermost in, by the strides of what is written (of what is read in a sum)."""

    def weight(d: int) -> int:
        for step in reversed(nest.steps):
            if step.full and step.reduced is None:
                return abs(int(example(step.output.strides[d])))
        for step in nest.steps:
            strides = [
                abs(int(example(x.strides[d]))) for x in step.inputs if isinstance(x, Access)
            ]
            if strides:
                return max(strides)
        return 0

    return sorted(range(len(nest.dims)), key=lambda d: -weight(d))


def _merge(
    dims: tuple[int, ...], reduced: tuple[bool, ...], order: list[int], accesses: list[Access]
) -> tuple[list[int], list[bool], dict[Access, tuple[int, ...]]]:
    """Neighbouring dimensions that every access walks through as one become one."""
    sizes: list[int] = []
    kinds: list[bool] = []
    walks: dict[Access, list[int]] = {a: [] for a in accesses}
    for d in order:
        joins = (
            bool(sizes)
            and kinds[-1] == reduced[d]
            and all(w[-1] == a.strides[d] * dims[d] for a, w in walks.items())
        )
        if joins:
            sizes[-1] *= dims[d]
            for a, w in walks.items():
                w[-1] = a.strides[d]
        else:
            sizes.append(dims[d])
            kinds.append(reduced[d])
            for a, w in walks.items():
                w.append(a.strides[d])
    return sizes, kinds, {a: tuple(w) for a, w in walks.items()}


def _vector_dimension(
    nest: Nest, sizes: list[int], kinds: list[bool], strides: dict[Access, tuple[int, ...]]
) -> int:
    """The dimension along which most memory is walked element by element."""
    best, most = len(sizes) - 1, -1e30
    for d, n in enumerate(sizes):
        score = 0.0
        for step in nest.steps:
            for access, weight in _weighted(step):
                stride = strides[access][d]
                if stride == access.dtype.itemsize:
                    score += weight
                elif stride:
                    score -= 2 * weight
        score += min(example(n), 16) / 16 + 0.001 * d
        if example(n) < 4:
            score -= 2
        if score > most:
            best, most = d, score
    return best


def _weighted(step: Step) -> list[tuple[Access, float]]:
    found = [(x, 1.0) for x in step.inputs if isinstance(x, Access)]
    if step.index is not None:
        found.append((step.index.access, 1.0))
    found.append((step.output, 1.5 if step.reduced is None else 0.5))
    return found


def _lanes(nest: Nest, vector_bytes: int, across: bool) -> int:
    """How many numbers at once: one register of the widest float, or several where there is little to do."""
    widest = 1
    for step in nest.steps:
        for dtype in step.loop:
            if is_float(dtype):
                widest = max(widest, 4, dtype.itemsize)
    if widest == 1:
        widest = max(d.itemsize for s in nest.steps for d in s.loop)
    lanes = vector_bytes // widest
    if nest.reduced is not None and (len(nest.steps) <= 3 or (across and _is_light(nest))):
        lanes *= 4
    return lanes


def _is_light(nest: Nest) -> bool:
    return len(nest.steps) <= 8 and not any(s.function in vector_math.RULES for s in nest.steps)
