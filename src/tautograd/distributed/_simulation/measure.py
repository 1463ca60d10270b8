"""Measure what exchanges cost on this machine: training steps of a few ranks and of many that share its cores.

python -m tautograd.distributed._simulation.measure RESULT.json

Ranks on one machine copy messages themselves, so copying competes for the cores, too. Ranks that take turns on a core
find its caches full of each other's data, and poll in vain for ranks that are not running. So all is processor time,
of two ranks and of several per core: steps (layers forward and backward, exchanges, an update) whose exchanges differ
in number, kind, size, in what is computed between them, and in whether a background thread looks after them. Several
steps of a kind follow each other, as in training: two ranks find what the previous step left in their caches, and that
is what many ranks lose. `shared_cores` says what each part of it costs.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .network import Network
from .shared_cores import FEW, Block, cores, crowd, network_from

_GATHER, _SCATTER = "all_gather_into_tensor", "reduce_scatter_tensor"

# Steps with much of one thing and little of another separate the parts.
STEPS = (
    Block(24, 6, 64, 1 << 12),
    Block(48, 4, 512, 1 << 17),
    Block(80, 6, 64, 1 << 20),
    Block(208, 6, 8, 1 << 21),
    Block(144, 3, 256, 1 << 16),
    Block(400, 5, 4, 1 << 18),
    Block(256, 3, 128, 1 << 20),
    Block(64, 2, 64, 1 << 16, 6, overlaps=True),
    Block(192, 2, 32, 1 << 18, 4, overlaps=True),
    Block(128, 1, 64, 1 << 18, 8),
    Block(64, 2, 64, 1 << 16, 6, background=False),
    Block(96, 4, 128, 1 << 16, 3, background=False),
    Block(48, 4, 512, 1 << 17, 1, background=False),
    Block(128, 1, 64, 1 << 18, 10, _GATHER, background=False),
    Block(64, 1, 16, 1 << 12, 12, _GATHER, background=False),
    Block(96, 1, 64, 1 << 16, 12, _SCATTER, background=False),
    Block(224, 1, 96, 1 << 19, 4, _SCATTER, background=False),
)
_TURNS = 6
_IN_A_ROW = 6


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


def _layers(width: int) -> list[Any]:
    """Layers of more than one kind, as in real programs: the interpreter's own data occupies caches, too."""
    import tautograd

    nn = tautograd.nn
    return [nn.Linear(width, width), nn.LayerNorm(width), nn.GELU(), nn.Dropout(0.1)]


class _Training:
    """A block's model, and steps of it on the ranks of a group."""

    def __init__(self, block: Block, group: Any, ranks: int) -> None:
        import tautograd

        self._block, self._group = block, group
        self._models = [
            tautograd.nn.Sequential(*(m for _ in range(block.layers) for m in _layers(block.width)))
            for _ in range(block.parts)
        ]
        self._optimizer = tautograd.optim.Adam([p for m in self._models for p in m.parameters()])
        self._input = tautograd.ones(block.batch, block.width)
        self._wholes = [tautograd.zeros(block.exchanged // 4) for _ in self._models]
        self._shares = [tautograd.zeros(block.exchanged // 4 // ranks) for _ in self._models]

    def _exchange(self, part: int) -> Any:
        from tautograd import distributed

        call = getattr(distributed, self._block.kind)
        whole, share = self._wholes[part], self._shares[part]
        tensors = {_GATHER: (whole, share), _SCATTER: (share, whole)}.get(
            self._block.kind, (whole,)
        )
        return call(*tensors, group=self._group, async_op=self._block.background)

    def step(self) -> tuple[float, float]:
        """Processor time that a step computes, and the rest of it."""
        began, at = time.process_time(), time.thread_time()
        computing, works = 0.0, []
        self._optimizer.zero_grad()
        for part, model in enumerate(self._models):
            model(self._input).sum().backward()
            computing += time.thread_time() - at
            work = self._exchange(part)
            if self._block.overlaps:
                works.append(work)
            elif work is not None:
                work.wait()
            at = time.thread_time()
        for work in works:
            work.wait()
        at = time.thread_time()
        self._optimizer.step()
        computing += time.thread_time() - at
        return computing, time.process_time() - began - computing


class _Load:
    """Training steps of every kind on some ranks, and what they need."""

    def __init__(self, group: Any, ranks: int) -> None:
        self._group, self._ranks = group, ranks
        self._trained = [_Training(block, group, ranks) for block in STEPS]
        self._computing: list[list[float]] = [[] for _ in STEPS]
        self._exchanging: list[list[float]] = [[] for _ in STEPS]

    def run(self) -> None:
        """Run a few steps of each kind; the first starts with cold caches and does not count."""
        for i, trained in enumerate(self._trained):
            for again in range(_IN_A_ROW):
                computing, exchanging = trained.step()
                if again:
                    self._computing[i].append(computing)
                    self._exchanging[i].append(exchanging)

    def times(self) -> dict[str, Any]:
        """The average over the ranks of what a step takes, from steps that the rest of the machine disturbs little."""
        from tautograd import distributed

        told: list[Any] = [None] * self._ranks
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


def main(path: str) -> None:
    """One of the ranks."""
    import tautograd
    from tautograd import distributed

    tautograd.set_num_threads(1)
    distributed.init_process_group("mpi")
    rank, size = distributed.get_rank(), distributed.get_world_size()
    pair = distributed.new_group(list(range(FEW)))
    few, many = _Load(pair, FEW) if rank < FEW else None, _Load(None, size)
    for _ in range(_TURNS):
        if few is not None:
            few.run()
        distributed.barrier()  # the others sleep here
        many.run()
    found = {"blocks": STEPS, "many": many.times()}
    if few is not None:
        found["few"] = few.times()
    if rank == 0:
        Path(path).write_text(json.dumps(found))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
