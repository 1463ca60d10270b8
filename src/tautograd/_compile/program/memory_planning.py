"""Where scratch buffers lie: what is never in use at one time shares memory.

A result may take the place of an operand that is read for the last time as it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .ir import Kind, Program

ALIGNMENT = 64
APART = 256  # bytes: what a step on a GPU needs for itself begins at multiples of it
Times = dict[int, list[tuple[int, int]]]  # when a buffer is in use: first and last step, in turn


class Use(NamedTuple):
    """The buffers that a step reads or writes; those of which it writes all, and reads nothing before.

    Of a pair `in_place`, the second may lie where the first does, if that is not needed afterwards.
    """

    buffers: set[int]
    filled: frozenset[int] = frozenset()
    in_place: tuple[tuple[int, int], ...] = ()


def rounded_up(size: int, to: int = ALIGNMENT) -> int:
    return -(-size // to) * to


def planned(
    program: Program,
    uses: Iterable[Use],
    elsewhere: frozenset[int],
    left: frozenset[int] = frozenset(),
    rooms: Mapping[int, int] = MappingProxyType({}),
) -> tuple[dict[int, int], int]:
    """An offset for each scratch buffer and for each of those `left` behind, and the bytes that all need.

    `uses` are what each step of the program reads or writes, in the order of steps. A buffer that is
    written as a whole is not in use between its last reader before and that. What is `left` is memory that the
    program makes anew at each run and somebody reads afterwards: it is in use from its first step to the end.
    `rooms` are bytes that a step needs for itself; the offset of one is that of the buffer -1 - step.
    """
    uses = list(uses)
    times = times_of(program, uses, elsewhere, left)
    pairs = [(i, one, other) for i, use in enumerate(uses) for one, other in use.in_place]
    sizes = {number: rounded_up(program.buffers[number].nbytes) for number in times}
    times |= {-1 - step: [(step, step)] for step in rooms}
    sizes |= {-1 - step: rounded_up(size) for step, size in rooms.items()}
    partners = _partners(sizes, times, pairs)
    by_time = sorted(times, key=lambda n: (times[n][0][0], -sizes[n]))
    by_size = sorted(times, key=lambda n: (-sizes[n], times[n][0][0]))
    plans = [_fitted(sizes, order, times, partners) for order in (by_time, by_size)]
    return min(plans, key=lambda plan: plan[1])


def times_of(
    program: Program, uses: list[Use], elsewhere: frozenset[int], left: frozenset[int]
) -> Times:
    """When each of the buffers that are planned is in use."""
    times: Times = {}
    for i, use in enumerate(uses):
        for number in use.buffers:
            own = program.buffers[number].kind is Kind.SCRATCH and number not in elsewhere
            if not own and number not in left:
                continue
            spans = times.setdefault(number, [])
            if not spans or number in use.filled:
                spans.append((i, i))
            else:
                spans[-1] = (spans[-1][0], i)
    for number in left & times.keys():
        times[number][-1] = times[number][-1][0], len(uses) - 1
    return times


def _partners(
    sizes: dict[int, int], times: Times, pairs: list[tuple[int, int, int]]
) -> dict[int, set[int]]:
    """For each buffer those that may lie in its place: they meet only where one takes over from the other."""
    partners: dict[int, set[int]] = {}
    for i, one, other in pairs:
        if one not in times or other not in times or sizes[one] != sizes[other]:
            continue
        meetings = {
            (max(a, c), min(b, d))
            for a, b in times[one]
            for c, d in times[other]
            if a <= d and c <= b
        }
        if meetings == {(i, i)}:
            partners.setdefault(one, set()).add(other)
            partners.setdefault(other, set()).add(one)
    return partners


def _fitted(
    sizes: dict[int, int], order: list[int], times: Times, partners: dict[int, set[int]]
) -> tuple[dict[int, int], int]:
    """Each buffer in turn in a partner's place, or at the lowest that is free while it is in use."""
    offsets: dict[int, int] = {}
    total = 0
    begins = np.array([times[n][0][0] for n in order], np.int64)
    ends = np.array([times[n][-1][1] for n in order], np.int64)
    breaks = np.array([len(times[n]) > 1 for n in order], np.bool_)
    lows, highs = np.zeros((2, len(order)), np.int64)
    for k, number in enumerate(order):
        size = sizes[number]
        near = np.flatnonzero((begins[:k] <= ends[k]) & (ends[:k] >= begins[k]))
        if breaks[k] or breaks[near].any():
            near = near[[_meet(times[number], times[order[i]]) for i in near]]
        found = {order[i] for i in near} if number in partners else set()
        at = _place_of_partner(offsets, partners.get(number, set()), found, sizes, size)
        if at is None:
            at = _lowest(lows[near], highs[near], size)
        offsets[number] = lows[k] = at
        highs[k] = at + size
        total = max(total, at + size)
    return offsets, total


def _lowest(lows: Any, highs: Any, size: int) -> int:
    """The lowest place for so many bytes beside others."""
    if not lows.size:
        return 0
    order = np.argsort(lows)
    below = np.concatenate(([0], np.maximum.accumulate(highs[order])))  # where each may begin
    gaps = np.flatnonzero(lows[order] - below[:-1] >= size)
    return int(below[gaps[0] if gaps.size else -1])


def _place_of_partner(
    offsets: dict[int, int], partners: set[int], taken: set[int], sizes: dict[int, int], size: int
) -> int | None:
    """Where a partner lies, if nobody else does at that time."""
    for at in sorted(offsets[p] for p in partners if p in offsets):
        others = [n for n in taken if offsets[n] < at + size and at < offsets[n] + sizes[n]]
        if all(n in partners and offsets[n] == at for n in others):
            return at
    return None


def _meet(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    return any(a <= d and c <= b for a, b in one for c, d in other)
