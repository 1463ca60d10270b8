"""Sums over examples of which each thread has its own: cleared before a block, added up after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..ir import Buffer, Kind, Map, Number, View


def new_scratch(buffers: list[Buffer], nbytes: int) -> int:
    """The number of a new buffer."""
    buffers.append(Buffer(len(buffers), nbytes, Kind.SCRATCH))
    return len(buffers) - 1


class Sums:
    """Views to which the parts of a block are added; `others` are the buffers of further threads for each."""

    def __init__(self, buffers: list[Buffer], totals: Iterable[View], slots: int) -> None:
        self.totals = tuple(totals)
        self.others: dict[int, tuple[int, ...]] = {}
        for n in dict.fromkeys(view.buffer for view in self.totals):
            new = [new_scratch(buffers, buffers[n].nbytes) for _ in range(1, slots)]
            self.others[n] = tuple(new)

    def _others(self, view: View) -> list[View]:
        return [replace(view, buffer=n) for n in self.others[view.buffer]]

    @property
    def views(self) -> tuple[View, ...]:
        """All of them, those of further threads too."""
        return tuple(v for total in self.totals for v in (total, *self._others(total)))

    def cleared(self, begun: Iterable[View]) -> list[Map]:
        """Zeros for those that begin with nothing, and for all of further threads."""
        fresh = [*begun, *(other for total in self.totals for other in self._others(total))]
        return [Map("cast", (Number(v.dtype.type(0)),), v, (v.dtype, v.dtype)) for v in fresh]

    def added(self) -> list[Map]:
        return [
            Map("add", (total, other), total, (total.dtype,) * 3)
            for total in self.totals
            for other in self._others(total)
        ]
