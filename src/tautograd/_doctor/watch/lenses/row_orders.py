"""In which order rows were taken that predictions and their targets are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._user_code.sites import Site
from ...._user_code.stack import user_stack
from .base import LOSSES, Lens, rows_taken

_MEETINGS = frozenset(("sub", "rsub", "__rsub__", "mul"))
"""Calls in which a prediction meets its target, beside losses."""


class RowOrders(Lens):
    """Predictions of rows in one order that meet targets in another."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[list[Site], list[Site]]] = []  # where they met, where the rows were taken
        self.sliced: list[tuple[list[Site], list[Site], int]] = []  # the same, for rows taken by their place
        self.equal: list[tuple[list[Site], int]] = []  # predictions that equal their target
        self._orders: dict[bytes, list[Site]] = {}  # the rows, and where they were first taken
        self._slices: dict[bytes, tuple[int, list[Site]]] = {}  # of how many rows

    def see(self, name: str, args: Any, kwargs: Any, given: list[Any], made: list[Any]) -> None:
        orders: frozenset[bytes] = frozenset().union(*(self.known.get(t) or () for t in given))
        if name in ("__getitem__", "index_select") and (rows := rows_taken(args[-1])) is not None:
            content = rows.tobytes()
            self._orders.setdefault(content, user_stack())
            orders |= {content}
        elif name == "__getitem__" and (many := _sliced(given, made)):
            place = f"{many} rows".encode()
            self._slices[place] = many, user_stack()
            orders |= {place}
        if (name in LOSSES or name == "sub") and len(given) == 2:
            self._compare(given)
        if not orders:
            return
        if name in LOSSES or name in _MEETINGS:
            self._meet(given)
        for tensor in made:
            self.known.put(tensor, orders)

    def _compare(self, given: list[Any]) -> None:
        """A prediction and its target, number for number."""
        one, other = sorted(given, key=lambda t: not t.requires_grad)
        if other.requires_grad or not one.requires_grad or one.shape != other.shape:
            return
        if one.is_leaf or one.numel() < 4 or one.dtype != other.dtype or str(one.device) != "cpu":
            return
        if not bool((one != other).any()) and bool((other != other.reshape(-1)[:1]).any()):
            self.equal.append((user_stack(), one.numel()))

    def _meet(self, given: list[Any]) -> None:
        if len(given) != 2 or given[0].requires_grad == given[1].requires_grad:
            return
        learned, target = sorted(given, key=lambda t: not t.requires_grad)
        one, other = (self.known.get(t) or frozenset() for t in (learned, target))
        if not learned.dim() or not target.dim() or len(learned) != len(target):
            return
        for place in other - one:
            if place in self._slices:
                many, taken = self._slices[place]
                self.sliced.append((user_stack(), taken, many))
        one, other = one - self._slices.keys(), other - self._slices.keys()
        apart = [(a, b) for a in one - other for b in other - one if len(a) == len(b)]
        for a, b in apart:
            if all(_is_shuffle(np.frombuffer(c, np.int64)) for c in (a, b)):
                self.found.append((user_stack(), self._orders[b]))
                return


def _sliced(given: list[Any], made: list[Any]) -> int:
    """Of how many rows this takes a few that lie together; 0 if it does something else."""
    if len(given) != 1 or len(made) != 1 or given[0].dim() != made[0].dim() or not made[0].dim():
        return 0
    before, after = tuple(given[0].shape), tuple(made[0].shape)
    return before[0] if 1 < after[0] < before[0] and before[1:] == after[1:] else 0


def _is_shuffle(rows: Any) -> bool:
    """Whether these are all rows of a batch, in no order that says something."""
    if not np.array_equal(np.sort(rows), np.arange(len(rows))):
        return False
    steps = np.diff(rows)
    return len(set(steps.tolist())) > max(2, len(rows) // 4)
