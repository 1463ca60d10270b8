"""From times of a few ranks and of many on the same cores to the network that explains them.

All is processor time. What an exchange takes has parts of its own: the call, handing it to the background thread, a
round of messages each (an all_reduce has twice as many as an all_gather), copying, and polling while others still
compute. What computing takes in addition, when others have used the caches, has parts too: what comes back after each
exchange, a share of the computing, and the memory that a step touches. Steps that differ in all of these separate the
parts, by least squares on relative errors; no part is negative.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .network import GIGA, MICRO, Network, patience, share_that_waits, ways

_ALL = 1 << 30  # ranks per machine: any number
FEW = 2  # ranks of the first kind of times


class Block(NamedTuple):
    """A training step in equal parts, each with layers forward and backward and then an exchange."""

    width: int
    layers: int
    batch: int
    exchanged: int
    """Bytes."""
    parts: int = 1
    kind: str = "all_reduce"
    background: bool = True
    """Whether exchanges are handed to the background thread, as DDP does, or waited for inside the call."""
    overlaps: bool = False
    """Whether all of them are waited for only at the end."""

    @property
    def memory(self) -> int:
        """Bytes of parameters, gradients and Adam's two states."""
        return self.parts * self.layers * (self.width + 3) * self.width * 4 * 4


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def crowd(count: int) -> int:
    """A number of ranks that shows the cost of crowding: several per core, and not too many."""
    return max(2 * count, min(4 * count, 8))


def network_from(found: dict[str, Any], count: int) -> Network:
    """The network that fits such times: for each block, what computing and exchanging take a rank."""
    blocks = [Block(*fields) for fields in found["blocks"]]
    few, many = found["few"], found["many"]
    ranks = crowd(count)
    table, seconds = [], []
    for which, size in ((few, FEW), (many, ranks)):
        for i, block in enumerate(blocks):
            table.append(_exchange_parts(block, few["computing"][i], size, count))
            seconds.append(which["exchanging"][i])
    calling, handing, hop, per_byte, looking = least_squares(table, seconds, seconds)
    added = [b - a for a, b in zip(few["computing"], many["computing"], strict=True)]
    parts = [(b.parts, a, b.memory) for a, b in zip(few["computing"], blocks, strict=True)]
    returning, slower, per_touched = least_squares(parts, added, many["computing"])
    link = 1 / max(per_byte, 1e-15) / GIGA, hop / MICRO
    return Network(
        *link, _ALL, *link, count, ranks / count, calling / MICRO, handing / MICRO, looking / MICRO,
        returning / MICRO, slower, 1 / per_touched / GIGA if per_touched else math.inf,
    )  # fmt: skip


def _exchange_parts(
    block: Block, computing: float, ranks: int, count: int
) -> tuple[float, float, float, float, float]:
    """How much of each part a step's exchanges have."""
    rounds, volume, _ = ways(block.kind, ranks, block.exchanged)[-1]
    waits = 1 if block.overlaps else block.parts
    polling = waits * share_that_waits(ranks, count) * patience(computing / waits)
    handed = block.parts * block.background
    return (
        block.parts,
        handed,
        block.parts * rounds,
        block.parts * volume * block.exchanged,
        polling,
    )


def least_squares(
    table: Sequence[Sequence[float]], values: Sequence[float], scale: Sequence[float]
) -> list[float]:
    """Coefficients, none negative, with the least squares of errors relative to `scale`."""
    from scipy.optimize import nnls

    columns, per = np.array(table, float), np.array(scale, float)
    largest = np.maximum(columns.max(axis=0), 1e-300)
    found, _ = nnls(columns / largest / per[:, None], np.array(values, float) / per)
    return [float(value) for value in found / largest]
