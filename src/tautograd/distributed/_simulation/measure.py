"""Measure this machine's network: all_reduces of several sizes, and steps of a few ranks and of many.

python -m tautograd.distributed._simulation.measure RESULT.json

Two ranks take A + S / B seconds for S bytes. Ranks on one machine copy messages themselves, so copying competes for the
cores, too. Ranks that take turns on a core find its caches full of each other's data, and poll in vain for ranks that
are not running. The cost of that is the processor time of steps (layers forward and
backward, an all_reduce that is waited for, an update) with several ranks per core, compared with two ranks. Several
steps of a kind follow each other, as in training: two ranks find what the previous step left in their caches, and that
is what many ranks lose. Part of the cost comes with every wait, however little is computed, and part grows with the
work: exchanges with what they take anyway, computing with the memory that a step touches. Steps of several sizes
separate these parts.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .network import GIGA, MICRO, Network

SIZES = tuple(1 << power for power in range(8, 25, 2))  # bytes


class Block(NamedTuple):
    """A step's layers, its batch, and the bytes exchanged after it."""

    width: int
    layers: int
    batch: int
    exchanged: int

    @property
    def memory(self) -> int:
        """Bytes of parameters, gradients and Adam's two states."""
        return self.layers * (self.width + 3) * self.width * 4 * 4


# Steps with much of one and little of the other separate what a step computes from the memory it touches.
STEPS = (
    Block(24, 6, 64, 1 << 12),
    Block(48, 4, 512, 1 << 17),
    Block(80, 6, 64, 1 << 20),
    Block(64, 16, 64, 1 << 18),
    Block(208, 6, 8, 1 << 21),
    Block(144, 3, 256, 1 << 16),
    Block(400, 5, 4, 1 << 18),
    Block(256, 3, 128, 1 << 20),
)
_TURNS = 8
_IN_A_ROW = 8
_ALL = 1 << 30  # ranks per machine: any number


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def crowd(count: int) -> int:
    """A number of ranks that shows the cost of crowding: several per core, and not too many."""
    return max(2 * count, min(4 * count, 8))


def fitted(sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, float]:
    """Latency (s) and bandwidth (B/s) by least squares on relative errors."""
    times, scale = np.array(seconds), 1 / np.array(seconds)
    table = np.stack([scale, np.array(sizes) * scale], axis=1)
    latency, per_byte = np.linalg.lstsq(table, times * scale, rcond=None)[0]
    if latency <= 0 or per_byte <= 0:
        raise RuntimeError(
            "the all_reduces of this machine do not grow with their size: it is too busy to be measured"
        )
    return float(latency), float(1 / per_byte)


def here() -> Network:
    """This machine as a network."""
    return network_from(here_times(), cores())


def here_times() -> dict[str, Any]:
    """Times measured here, with few ranks and with many."""
    from .._launcher import Options, launch

    with tempfile.TemporaryDirectory(prefix="taut-network-") as folder:
        result = Path(folder) / "times.json"
        if launch(Options([sys.executable, "-m", __name__, str(result)], crowd(cores()))):
            raise RuntimeError("the ranks that measure this machine's network have failed")
        found: dict[str, Any] = json.loads(result.read_text())
    return found


def network_from(found: dict[str, Any], count: int) -> Network:
    """The network that fits such times."""
    few, many = found["few"], found["many"]
    latency, bandwidth = fitted(SIZES, found["walls"])
    link = bandwidth / GIGA, latency / MICRO
    alone = Network(*link, _ALL, *link)
    ranks = crowd(count)
    sizes = [block.exchanged for block in STEPS]
    least = [alone.seconds("all_reduce", size, ranks, ranks) for size in sizes]
    looking, waiting = _beyond(least, many["exchanging"])
    memory = [block.memory for block in STEPS]
    returning, slower, per_byte = _added(few["computing"], memory, many["computing"])
    refill = 1 / per_byte / GIGA if per_byte else math.inf
    return Network(
        *link, _ALL, *link, count, waiting, ranks / count, looking / MICRO, returning / MICRO, slower,
        refill,
    )  # fmt: skip


def _beyond(least: Sequence[float], crowded: Sequence[float]) -> tuple[float, float]:
    """What crowding adds each time, and the factor by which the rest slows down: it never speeds anything up."""
    x, y = np.array(least), np.array(crowded)
    table = np.stack([1 / y, x / y], axis=1)  # least squares on relative errors
    constant, factor = np.linalg.lstsq(table, np.ones(len(y)), rcond=None)[0]
    if factor < 1.0:
        return max(0.0, float(np.median(y - x))), 1.0
    if constant < 0.0:
        return 0.0, max(1.0, float(np.median(y / x)))
    return float(constant), float(factor)


def _added(
    few: Sequence[float], memory: Sequence[int], many: Sequence[float]
) -> tuple[float, float, float]:
    """What crowding adds to a step: each time, per second of computing, and per byte of memory touched.

    None of them is negative.
    """
    from scipy.optimize import nnls

    table = np.stack([np.ones(len(few)), np.array(few), np.array(memory, float)], axis=1)
    scale, largest = 1 / np.array(many), table.max(axis=0)  # relative errors
    found, _ = nnls(table / largest * scale[:, None], (np.array(many) - few) * scale)
    constant, share, per_byte = found / largest
    return float(constant), float(share), float(per_byte)


def _block(width: int) -> list[Any]:
    """Layers of more than one kind, as in real programs: the interpreter's own data occupies caches, too."""
    import tautograd

    nn = tautograd.nn
    return [nn.Linear(width, width), nn.LayerNorm(width), nn.GELU(), nn.Dropout(0.1)]


class _Load:
    """Training steps of several sizes on some ranks, and what they need."""

    def __init__(self, group: Any) -> None:
        import tautograd

        self._group = group
        self._models = [
            tautograd.nn.Sequential(
                *(layer for _ in range(block.layers) for layer in _block(block.width))
            )
            for block in STEPS
        ]
        self._optimizers = [tautograd.optim.Adam(m.parameters()) for m in self._models]
        self._inputs = [tautograd.ones(block.batch, block.width) for block in STEPS]
        self._buffers = [tautograd.zeros(block.exchanged // 4) for block in STEPS]
        self._computing: list[list[float]] = [[] for _ in STEPS]
        self._exchanging: list[list[float]] = [[] for _ in STEPS]

    def run(self) -> None:
        """Run a few steps of each size; the first starts with cold caches and does not count."""
        for i in range(len(STEPS)):
            for again in range(_IN_A_ROW):
                computing, exchanging = self._step(i)
                if again:
                    self._computing[i].append(computing)
                    self._exchanging[i].append(exchanging)

    def _step(self, i: int) -> tuple[float, float]:
        from tautograd import distributed

        began, at = time.process_time(), time.thread_time()
        self._optimizers[i].zero_grad()
        self._models[i](self._inputs[i]).sum().backward()
        computing = time.thread_time() - at
        work = distributed.all_reduce(self._buffers[i], group=self._group, async_op=True)
        assert work is not None
        work.wait()
        at = time.thread_time()
        self._optimizers[i].step()
        computing += time.thread_time() - at
        return computing, time.process_time() - began - computing

    def times(self) -> dict[str, Any]:
        """The average over the ranks of what a step takes, from steps that the rest of the machine disturbs little."""
        from tautograd import distributed

        told: list[Any] = [None] * distributed.get_world_size(self._group)
        distributed.all_gather_object(told, (self._computing, self._exchanging), self._group)
        return {
            name: [
                _lower(
                    list(map(statistics.fmean, zip(*(own[which][i] for own in told), strict=True)))
                )
                for i in range(len(STEPS))
            ]
            for which, name in enumerate(("computing", "exchanging"))
        }


def _lower(seconds: list[float]) -> float:
    """The lower quartile: other load on a machine can only add time."""
    return statistics.quantiles(seconds, n=4)[0]


class _Walls:
    """The fastest all_reduces of two ranks."""

    def __init__(self, pair: Any) -> None:
        import tautograd

        self._pair = pair
        self._buffers = [tautograd.zeros(size // 4) for size in SIZES]
        self.seconds = [math.inf for _ in SIZES]

    def run(self) -> None:
        """Three of each size."""
        from tautograd import distributed

        for i, buffer in enumerate(self._buffers):
            for _ in range(3):
                distributed.barrier(self._pair)
                began = time.perf_counter()
                distributed.all_reduce(buffer, group=self._pair)
                self.seconds[i] = min(self.seconds[i], time.perf_counter() - began)


def main(path: str) -> None:
    """One of the ranks."""
    import tautograd
    from tautograd import distributed

    tautograd.set_num_threads(1)
    distributed.init_process_group("mpi")
    rank = distributed.get_rank()
    pair = distributed.new_group([0, 1])
    walls, few, many = _Walls(pair), _Load(pair), _Load(None)
    for _ in range(_TURNS):
        if rank < 2:
            walls.run()
            few.run()
        distributed.barrier()  # the others sleep here
        many.run()
    found = {"walls": walls.seconds, "many": many.times()}
    if rank < 2:
        found["few"] = few.times()
    if rank == 0:
        Path(path).write_text(json.dumps(found))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
