"""The network of this machine, measured: all_reduces of several sizes, between two ranks and between many.

python -m tautograd.distributed._simulation.measure RESULT.json

Two ranks take A + S / B seconds for S bytes. Messages between ranks of a machine are copied by the ranks themselves, so
that they share the cores for that, too. Ranks that take turns on a core find its caches full of each other's numbers,
and look in vain whether the others have come. How much that costs is the processor time that several ranks for each
core need as a rule, over what two ranks need that nobody disturbs, which is the least that was seen. Both costs have a
part that grows with the work and one that every wait has, however little is done: layers and messages of several sizes
tell them apart. Messages are sent and waited for as buckets of gradients are, right after they were computed.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .network import GIGA, MICRO, Network

SIZES = tuple(1 << power for power in range(8, 25, 2))  # bytes
WIDTHS = (64, 128, 256, 512)  # of layers
_TURNS = 20
_ALL = 1 << 30  # ranks on a machine: however many there are


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def crowd(count: int) -> int:
    """How many ranks show what crowding costs: several for each core, and not too many."""
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
    from .._launcher import Options, launch

    with tempfile.TemporaryDirectory(prefix="taut-network-") as folder:
        result = Path(folder) / "times.json"
        if launch(Options([sys.executable, "-m", __name__, str(result)], crowd(cores()))):
            raise RuntimeError("the ranks that measure this machine's network have failed")
        found = json.loads(result.read_text())
    return network_from(found, cores())


def network_from(found: dict[str, Any], count: int) -> Network:
    """The network that such times are of."""
    few, many = found["few"], found["many"]
    latency, bandwidth = fitted(SIZES, few["exchanging"])
    link = bandwidth / GIGA, latency / MICRO
    alone = Network(*link, _ALL, *link)
    ranks = crowd(count)
    least = [alone.seconds("all_reduce", size, ranks, ranks) for size in SIZES]
    looking, waiting = _beyond(least, many["exchanging"])
    returning, turns = _beyond(few["computing"], many["computing"])
    return Network(
        *link, _ALL, *link, count, turns, waiting, ranks / count, looking / MICRO, returning / MICRO,
    )  # fmt: skip


def _beyond(least: Sequence[float], crowded: Sequence[float]) -> tuple[float, float]:
    """What crowding adds each time, and how many times as long the rest takes: neither makes anything faster."""
    x, y = np.array(least), np.array(crowded)
    table = np.stack([1 / y, x / y], axis=1)  # by relative errors
    constant, factor = np.linalg.lstsq(table, np.ones(len(y)), rcond=None)[0]
    if factor < 1.0:
        return max(0.0, float(np.median(y - x))), 1.0
    if constant < 0.0:
        return 0.0, max(1.0, float(np.median(y / x)))
    return float(constant), float(factor)


class _Load:
    """Steps' work: layers of several widths forward and backward, and then an all_reduce of each size."""

    def __init__(
        self, group: Any, clock: Callable[[], float], of: Callable[[list[float]], float]
    ) -> None:
        import tautograd

        self._group, self._clock, self._of = group, clock, of
        self._models = [
            tautograd.nn.Sequential(
                *(
                    layer
                    for _ in range(4)
                    for layer in (tautograd.nn.Linear(width, width), tautograd.nn.ReLU())
                )
            )
            for width in WIDTHS
        ]
        self._inputs = [tautograd.ones(128, width) for width in WIDTHS]
        self._buffers = [tautograd.zeros(size // 4) for size in SIZES]
        self.computing: list[list[float]] = [[] for _ in WIDTHS]
        self.exchanging: list[list[float]] = [[] for _ in SIZES]

    def run(self) -> None:
        """Once."""
        from tautograd import distributed

        for model, x, times in zip(self._models, self._inputs, self.computing, strict=True):
            distributed.barrier(self._group)
            began = time.thread_time()
            model.zero_grad()
            model(x).sum().backward()
            times.append(time.thread_time() - began)
        for buffer, times in zip(self._buffers, self.exchanging, strict=True):
            distributed.barrier(self._group)
            began = self._clock()
            work = distributed.all_reduce(buffer, group=self._group, async_op=True)
            assert work is not None
            work.wait()
            times.append(self._clock() - began)

    def times(self) -> dict[str, Any]:
        """What it takes: undisturbed, or as a rule."""
        return {
            "computing": [self._of(times) for times in self.computing],
            "exchanging": [self._of(times) for times in self.exchanging],
        }


def main(path: str) -> None:
    """One of the ranks."""
    import tautograd
    from tautograd import distributed

    tautograd.set_num_threads(1)
    distributed.init_process_group("mpi")
    rank = distributed.get_rank()
    pair = distributed.new_group([0, 1])
    few = _Load(pair, time.perf_counter, min)
    many = _Load(None, time.process_time, statistics.median)
    for _ in range(_TURNS):
        if rank < 2:
            few.run()
        distributed.barrier()  # the others wait here, asleep
        many.run()
    if rank == 0:
        Path(path).write_text(json.dumps({"few": few.times(), "many": many.times()}))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
