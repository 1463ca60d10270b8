"""`python -m bench.worker ENGINE NAME`: a process that does a piece of work whenever it is asked to.

One process for each engine, as users run them: an engine's threads, its allocator and the settings it makes when it
is imported are its own. A line `count` on standard input is answered by the seconds that one piece took by the
clock and by the processor.
"""

from __future__ import annotations

import importlib
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent


class Seconds(NamedTuple):
    """How long a piece of work took: by the clock, and of processors' time."""

    clock: float
    processor: float


class Worker:
    """A process with an engine and a piece of work, warmed up."""

    def __init__(self, engine: str, name: str, environment: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "bench.worker", engine, name]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
            env=environment,
        )
        self._read()

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
            raise RuntimeError(f"the worker has ended: {self._process.args}")
        return line


def in_turns(
    name: str,
    engines: Sequence[str] = ("tautograd", "torch"),
    *,
    rounds: int = 15,
    round_seconds: float = 0.1,
    environment: dict[str, str] | None = None,
) -> dict[str, list[Seconds]]:
    """What each turn of each engine took, one engine after the other."""
    workers = {engine: Worker(engine, name, environment) for engine in engines}
    try:
        counts = {
            engine: max(1, min(1000, int(round_seconds / worker.run(1).clock)))
            for engine, worker in workers.items()
        }
        times: dict[str, list[Seconds]] = {engine: [] for engine in engines}
        for _ in range(rounds):
            for engine, worker in workers.items():
                worker.run(1)
                times[engine].append(worker.run(counts[engine]))
        return times
    finally:
        for worker in workers.values():
            worker.end()


def medians(name: str) -> tuple[float, float]:
    """Seconds by the clock on tautograd and on PyTorch."""
    times = in_turns(name)
    ours, theirs = (statistics.median(t.clock for t in times[e]) for e in ("tautograd", "torch"))
    return ours, theirs


def main(engine: str, name: str) -> None:
    torch = importlib.import_module(engine)
    from bench.layer_steps import WORK
    from bench.steps import STEPS

    work = WORK[name][1](torch) if name in WORK else STEPS[name].on(torch)
    for _ in range(5):
        work()
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
