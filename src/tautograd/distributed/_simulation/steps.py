"""Recorded steps as one program that any number of ranks can run: what is computed and exchanged, and how it grows.

All ranks of a recording make the same calls; computing time is the median over steps and ranks. How an
exchange grows with the number of ranks follows from two recordings of different sizes. One recording cannot show it:
then a tensor that is reduced or sharded is assumed to have the same size on any number of ranks, and one that is
gathered from all ranks to grow with them.
"""

from __future__ import annotations

import itertools
import json
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .recording import COMPUTE, START, WAIT

WARM_UP = 2  # steps that touch memory for the first time and compile kernels
# Kinds whose result tensors are each rank's share of what is exchanged, not all of it.
_SHARES = ("reduce_scatter", "reduce_scatter_tensor", "scatter")
# Kinds whose tensors have a fixed size, that of a parameter or a gradient; others gather one from each rank.
_OF_ONE_SIZE = (
    "all_reduce", "all_reduce_coalesced", "broadcast", "reduce", "all_gather_into_tensor",
    "reduce_scatter_tensor", "barrier",
    "all_to_all", "all_to_all_single",
)  # fmt: skip


class CannotSimulate(ValueError):
    """A recording that allows no prediction for other numbers of ranks."""


@dataclass(frozen=True)
class Linear:
    """A number that is linear in the number of ranks, or constant."""

    constant: float
    per_rank: float = 0.0

    def at(self, ranks: int) -> float:
        """Its value for this number of ranks."""
        return self.constant + self.per_rank * ranks


@dataclass(frozen=True)
class Exchange:
    """A collective: what it moves, and among which ranks."""

    kind: str
    bytes: Linear
    """Total bytes exchanged: the whole that is gathered, scattered or reduced."""
    group: Linear
    """How many ranks take part."""
    neighbours: bool
    """Whether the ranks are consecutive, so that they fit into one machine."""
    background: bool = False
    """Whether the program goes on before it waits for it."""


@dataclass(frozen=True)
class Step:
    """A training step of any rank."""

    program: tuple[tuple[str, float], ...]
    """Seconds of computing, numbers of exchanges that start, and of exchanges that are waited for."""
    exchanges: tuple[Exchange, ...]
    ranks: int
    """Number of ranks in the (first) recording."""
    seconds: float
    """Wall time of a step there."""
    clock: str
    """Which clock `compute` is in: "cpu" or "wall"."""
    memory: float = 0.0
    """Bytes of parameters, gradients and the optimizer's states that stay from one step to the next."""

    @property
    def computing(self) -> float:
        """Seconds that a rank spends computing."""
        return sum(value for kind, value in self.program if kind == COMPUTE)

    @property
    def returns(self) -> list[float]:
        """How long a rank computes each time that it comes back from an exchange or from starting one."""
        pairs = zip(
            (*self.program[-1:], *self.program), self.program, strict=False
        )  # steps follow steps
        return [value for (before, _), (kind, value) in pairs if kind == COMPUTE != before]

    @property
    def stretches(self) -> list[float]:
        """For each exchange, how long a rank computes between the wait for it and the wait before."""
        found, since = [0.0] * len(self.exchanges), 0.0
        for kind, value in self.program:
            if kind == COMPUTE:
                since += value
            elif kind == WAIT:
                found[int(value)], since = since, 0.0
        return found


def read(folder: Path, ranks: int) -> list[list[dict[str, Any]]]:
    """The steps that each rank has recorded."""
    found = []
    for rank in range(ranks):
        path = folder / f"rank{rank}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        found.append([json.loads(line) for line in lines if line.endswith("}")])
    return found


def step_of(recordings: Sequence[list[list[dict[str, Any]]]], clock: str) -> Step:
    """One step, from recordings (rank by rank, step by step) of one or two numbers of ranks."""
    usual = [_usual(recording) for recording in recordings]
    first = usual[0]
    shapes = [_shape(steps[0]) for steps in usual]
    if len(shapes) > 1 and [name for name, *_ in shapes[0]] != [name for name, *_ in shapes[1]]:
        raise CannotSimulate(
            "the two recordings make different calls, so that no rule can be read off them"
        )
    sizes = [len(recording) for recording in recordings]
    place = 2 if clock == "wall" else 1
    program: list[tuple[str, float]] = []
    open_ones: dict[float, None] = {}
    for i, event in enumerate(first[0]["events"]):
        if event[0] == COMPUTE:
            program.append((COMPUTE, statistics.median(s["events"][i][place] for s in first)))
            continue
        program.append((event[0], event[1]))
        if event[0] == START:
            open_ones[event[1]] = None
        else:
            open_ones.pop(event[1], None)
    program += [(WAIT, number) for number in open_ones]  # no exchange outlasts a step
    at_once = {
        int(a[1]) for a, b in itertools.pairwise(program) if b == (WAIT, a[1]) and a[0] == START
    }
    exchanges = [
        replace(_exchange(_largest(found), sizes), background=i not in at_once)
        for i, found in enumerate(zip(*(_starts(steps) for steps in usual), strict=True))
    ]
    seconds = statistics.median(step["seconds"] for step in first)
    memory = statistics.median(step.get("memory", 0) for step in first)
    return Step(tuple(program), tuple(exchanges), sizes[0], seconds, clock, memory)


def _usual(recording: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The steps, on all ranks, that make the calls that most steps make."""
    steps = [step for own in recording for step in own[WARM_UP:]]
    if not steps:
        raise CannotSimulate(
            f"fewer than {WARM_UP + 1} steps of an optimizer were recorded: let the script run longer"
        )
    counts = Counter(_shape(step) for step in steps)
    shape = counts.most_common(1)[0][0]
    for kind, *_ in shape:
        if kind in ("send", "recv"):
            raise CannotSimulate(
                "the ranks send messages to each other (a pipeline): what each does depends on its place, and a "
                "recording does not say what other numbers of ranks would do"
            )
    lone = [rank for rank, own in enumerate(recording) if shape not in map(_shape, own)]
    if lone:
        raise CannotSimulate(f"rank {lone[0]} makes other calls than the rest in every step")
    return [step for step in steps if _shape(step) == shape]


def _shape(step: dict[str, Any]) -> tuple[Any, ...]:
    """What must be equal for two steps to be the same program; a root's list has its own size."""
    return tuple((event[2] if event[0] == START else event[0], event[1] if event[0] == WAIT else 0)
                 for event in step["events"])  # fmt: skip


def _starts(steps: list[dict[str, Any]]) -> list[list[list[Any]]]:
    """For each exchange, its event in every step."""
    columns = zip(*(step["events"] for step in steps), strict=True)
    return [list(events) for events in columns if events[0][0] == START]


def _largest(found: Sequence[list[list[Any]]]) -> list[list[Any]]:
    """From each recording, the event with the most bytes: a root's, where others have none."""
    return [max(events, key=lambda event: int(event[3])) for events in found]


def _exchange(events: list[list[Any]], sizes: list[int]) -> Exchange:
    kind, members = events[0][2], events[0][4]
    groups = [len(event[4]) for event in events]
    wholes = [
        event[3] * (group if kind in _SHARES else 1)
        for event, group in zip(events, groups, strict=True)
    ]
    neighbours = members == list(range(members[0], members[0] + len(members)))
    if len(sizes) > 1 and groups[0] != groups[1]:
        share = groups[0] / sizes[0]
        if share * sizes[1] != groups[1]:
            raise CannotSimulate(f"{kind}: groups of {groups} ranks of {sizes} follow no rule")
        group = Linear(0.0, share)
    elif groups[0] == sizes[0]:
        group = Linear(0.0, 1.0)
    else:
        group = Linear(float(groups[0]))
    if len(sizes) > 1 and groups[0] != groups[1]:
        slope = (wholes[1] - wholes[0]) / (groups[1] - groups[0])
        whole = Linear(wholes[0] - slope * groups[0], slope)
    elif kind in _OF_ONE_SIZE or group.per_rank == 0:
        whole = Linear(float(wholes[0]))
    else:
        whole = Linear(0.0, wholes[0] / groups[0])
    return Exchange(kind, whole, group, neighbours)
