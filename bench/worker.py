"""`python -m bench.worker ENGINE NAME`: a process that does a piece of work on request.

Each engine has its own process, as users run them, with its own threads, allocator and import-time
settings. A line `count` on standard input is answered with the seconds that one piece took in wall
time and in processor time. An engine is `tautograd` or `torch`, each with `:compiled` for a compiled step, `:fused`
for PyTorch's fused optimizer, or `jax`.
"""

from __future__ import annotations

import importlib
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.measure import LeftOut
from bench.steps import Work

PROJECT = Path(__file__).resolve().parent.parent
NARROW = 0.03  # of the ratio: how far from it the ends of its confidence interval may be
LEAST, MOST = 11, 41  # rounds,
WARM_SECONDS = 2.0
LONGEST = 20  # seconds that rounds beyond the least number may take


class WorkerDied(RuntimeError):
    """A worker's process exited unexpectedly; its output is on the terminal."""


class Seconds(NamedTuple):
    """The duration of a piece of work: in wall time, and in processor time."""

    clock: float
    processor: float


class Worker:
    """A process with an engine and a piece of work, warmed up."""

    def __init__(self, engine: str, name: str) -> None:
        command = [sys.executable, "-m", "bench.worker", engine, name]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT
        )
        answer = self._read()
        if answer != "ready":
            self.end()
            raise LeftOut(answer)

    def run(self, count: int) -> Seconds:
        stream = self._process.stdin
        assert stream is not None
        stream.write(f"{count}\n")
        stream.flush()
        return Seconds(*map(float, self._read().split()))

    def end(self) -> None:
        self._process.communicate()

    def _read(self) -> str:
        stream = self._process.stdout
        assert stream is not None
        line = stream.readline()
        if not line:
            raise WorkerDied(f"the worker has ended: {self._process.args}")
        return line.strip()


class Turns(NamedTuple):
    """The times of each engine's turns, and the uncertainty of the ratio of the first two."""

    times: dict[str, list[Seconds]]
    spread: float

    def median(self, engine: str) -> float:
        return statistics.median(t.clock for t in self.times[engine])


def in_turns(
    name: str,
    engines: Sequence[str] = ("tautograd", "torch"),
    *,
    rounds: int | None = None,
    round_seconds: float = 0.1,
) -> Turns:
    """Run the engines in turn, until the ratio of the first two is known well enough or time is up.

    An engine that cannot do the work is left out.
    """
    workers: dict[str, Worker] = {}
    try:
        for engine in engines:
            try:
                workers[engine] = Worker(engine, name)
            except (LeftOut, WorkerDied) as why:
                if engine in engines[:2] and isinstance(why, WorkerDied):
                    raise
                print(f"left out: {engine} ({why})", file=sys.stderr)
        counts = {
            engine: max(1, min(10_000, int(round_seconds / worker.run(1).clock)))
            for engine, worker in workers.items()
        }
        times: dict[str, list[Seconds]] = {engine: [] for engine in workers}
        first, second = list(workers)[:2]
        started = time.perf_counter()
        for number in range(1, (rounds or MOST) + 1):
            for engine, worker in workers.items():
                worker.run(1 + counts[engine] // 20)
                times[engine].append(worker.run(counts[engine]))
            spread = _spread(times[first], times[second])
            late = time.perf_counter() - started > LONGEST
            if rounds is None and number >= LEAST and (late or spread <= NARROW):
                break
        return Turns(times, spread)
    finally:
        for worker in workers.values():
            worker.end()


def _spread(ours: list[Seconds], theirs: list[Seconds]) -> float:
    """How far the ends of the median ratio's confidence interval (95 %) are from it, relative to it.

    The median lies between the order statistics n/2 ± √n of n ratios with that confidence.
    """
    ratios = sorted(a.clock / b.clock for a, b in zip(ours, theirs, strict=True))
    middle = statistics.median(ratios)
    reach = math.ceil(math.sqrt(len(ratios)))
    low = ratios[max(0, len(ratios) // 2 - reach)]
    high = ratios[min(len(ratios) - 1, len(ratios) // 2 + reach)]
    return max(high - middle, middle - low) / middle


def warmed_up(work: Work) -> None:
    """Do it until an engine has made what it makes while it runs: plans, kernels, machine code, in threads of its own.

    The number of repetitions per turn follows from how long a piece takes then, not from the first ones.
    """
    until = time.perf_counter() + WARM_SECONDS
    done = 0
    while done < 5 or time.perf_counter() < until:
        work()
        done += 1


def work_of(engine: str, name: str) -> Work:
    """A piece of work on an engine; raises LeftOut if the engine cannot do it."""
    which, _, how = engine.partition(":")
    if which == "jax":
        from bench.peers import jax_step

        return jax_step(name)
    torch = importlib.import_module(which)
    from bench.layer_steps import WORK
    from bench.small_work import SMALL
    from bench.steps import STEPS

    if name in SMALL:
        return SMALL[name](torch)
    if which == "torch" and how:
        from bench.peers import pytorch_step

        return pytorch_step(name, how)
    work = WORK[name][1](torch) if name in WORK else STEPS[name].on(torch)
    compiled: Work = torch.compile(work) if how else work
    return compiled


def main(engine: str, name: str) -> None:
    try:
        work = work_of(engine, name)
        warmed_up(work)
    except LeftOut as why:
        print(why, flush=True)
        return
    print("ready", flush=True)
    for line in sys.stdin:
        count = int(line)
        clock, processor = time.perf_counter(), time.process_time()
        for _ in range(count):
            work()
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        print(clock / count, processor / count, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
