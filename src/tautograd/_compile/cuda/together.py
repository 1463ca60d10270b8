"""Launches of one kernel on different memory put together: every parameter's update in one launch.

A nest over one dimension, whose memory lies one element after the other (or is one number), becomes a kernel
that reads from a table where its memory is and how long. Nests that differ in nothing else, and do not depend
on each other or on what comes between, are then one launch: a block finds in the table whose elements it has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..native.described import Fused
from ..native.fusion.nests import Nest
from ..native.loops import shape_of
from ..program.ir import Buffer, Kind
from .kernels import THREADS
from .vectors import Vectors

EACH = 4  # elements of a thread
WORTH_WAITING = (
    1 << 18
)  # bytes: larger results are computed where they are read, and not in an earlier launch
_TABLE = "const long long* table, const long long* owners"


class Flat(Vectors):
    """A thread for a few elements of a nest over one dimension, of a length that the table says.

    It has them at once where all memory begins at a multiple of sixteen bytes; where it does not, and at the end,
    one after the other.
    """

    def write_kernel(self) -> None:
        self.width, self.counters = EACH, {0: "i"}
        self.body()
        self.at_once, self.lines = self.lines, []
        self.width, self.counters = 1, {0: "j"}
        self.body()

    def text(self, name: str) -> str:
        width = len(self.arguments) + 1
        walking = [
            i
            for i, place in enumerate(self.arguments)
            if any(a[:2] == place and s[0] for a, s in self.layout.strides.items())
        ]
        starts = " | ".join(f"row[{i}]" for i in walking) or "0"
        lines = [
            f'extern "C" __global__ void __launch_bounds__({THREADS}) {name}({_TABLE}) {{',
            f"  const long long* row = table + owners[2 * blockIdx.x] * {width};",
            *(f"  char* {a} = (char*)row[{i}];" for i, a in enumerate(self.arguments.values())),
            f"  const long long size = row[{width - 1}];",
            f"  const long long i = owners[2 * blockIdx.x + 1] + threadIdx.x * {EACH};",
            f"  if ((({starts}) & 15) == 0 && i + {EACH} <= size) {{",
            *self.at_once,
            f"  }} else for (long long j = i; j < size && j < i + {EACH}; ++j) {{",
            *self.lines,
            "  }",
            "}\n",
        ]
        return "\n".join(lines)


@dataclass(slots=True)
class Group:
    """Nests that become one launch, or one that stays alone."""

    nests: list[Nest]
    signature: Any = None  # what nests of one launch have in common


def groups_of(
    nests: list[Nest], lent: frozenset[int], buffers: Mapping[int, Buffer]
) -> list[Group]:
    """Nests in their order, those that can be one launch at the place of the first."""
    found: list[Group] = []
    for nest in nests:
        signature = _signature(nest, lent)
        if signature is None:
            found.append(Group([nest]))
            continue
        place = _place(found, nest, signature, _waits(nest, buffers))
        if place is None:
            found.append(Group([nest], signature))
        else:
            found[place].nests.append(nest)
    return found


def _waits(nest: Nest, buffers: Mapping[int, Buffer]) -> bool:
    """Whether a nest makes much that would lie in the program's own memory from an earlier launch on."""
    touched = {t.view.buffer for t in nest.touched if t.writes}
    own = [buffers[n] for n in touched if n in buffers and buffers[n].kind is Kind.SCRATCH]
    return sum(buffer.nbytes for buffer in own) > WORTH_WAITING


def _place(found: list[Group], nest: Nest, signature: Any, waits: bool) -> int | None:
    """The launch that a nest can be part of: nothing from there on has to do with what it touches."""
    for at in range(len(found) - 1, -1 if not waits else max(len(found) - 2, -1), -1):
        if found[at].signature == signature and not _meets(found[at], nest):
            return at
        if _meets(found[at], nest):
            return None
    return None


def _meets(group: Group, nest: Nest) -> bool:
    for other in group.nests:
        touched: dict[int, list[Any]] = {}
        for touch in other.touched:
            touched.setdefault(touch.view.buffer, []).append(touch)
        for touch in nest.touched:
            if any(touch.meets(t) for t in touched.get(touch.view.buffer, ())):
                return True
    return False


def _signature(nest: Nest, lent: frozenset[int]) -> Any:
    """What the kernel of a flat nest depends on; None of any other."""
    if not nest.steps or nest.reduced is not None or len(nest.dims) != 1:
        return None
    for step in nest.steps:
        if step.index is not None:
            return None
    for touch in nest.touched:
        if touch.access is None or touch.view.buffer in lent:
            return None
        if touch.access.strides[0] not in (0, touch.access.dtype.itemsize):
            return None
    shape: Any = shape_of(nest)[0]
    return shape[2]


def table_of(groups: list[tuple[list[int], int]]) -> tuple[Any, Any]:
    """The table of addresses and lengths, and which block has which elements of which row."""
    table = [[*addresses, size] for addresses, size in groups]
    step = THREADS * EACH
    owners = [(i, start) for i, (_, size) in enumerate(groups) for start in range(0, size, step)]
    return np.array(table, np.int64), np.array(owners, np.int64)


def described(parts: list[Fused]) -> Fused:
    """What a launch of several nests does, for people to read and for memory to be planned by."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return replace(
        first,
        instructions=sorted({i for part in parts for i in part.instructions}),
        kind=f"loops of {len(parts)} arrays,",
        shape=(sum(math.prod(part.shape) for part in parts),),
        bytes_read=sum(part.bytes_read for part in parts),
        bytes_written=sum(part.bytes_written for part in parts),
        operations=sum(part.operations for part in parts),
        reads=frozenset().union(*(part.reads for part in parts)),
        writes=frozenset().union(*(part.writes for part in parts)),
        fills=frozenset(),
        in_place=(),
    )
