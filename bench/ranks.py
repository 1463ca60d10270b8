"""`python -m bench.ranks`: all_reduce and a wrapped model's step on a few ranks, beside PyTorch with gloo.

Ranks share a machine's cores with each other and with whatever else runs, so two figures are taken, both
interleaved between the engines: the fastest run in wall time, and the median of a rank's processor time, which is
least affected by others. Every rank computes on one thread.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = {"1 kB": 1 << 10, "64 kB": 1 << 16, "1 MB": 1 << 20, "16 MB": 1 << 24}
ENGINES = ("tautograd", "torch")


def timed(work: Callable[[], Any], before: Callable[[], Any], count: int) -> list[float]:
    """The fastest run in wall time, and the median of the processor time."""
    walls, cpus = [], []
    for _ in range(count):
        before()
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return [min(walls), statistics.median(cpus)]


def rank(engine: str, path: str) -> None:
    """Run as one rank of one engine."""
    torch: Any = importlib.import_module(engine)
    dist: Any = importlib.import_module(f"{engine}.distributed")
    parallel: Any = importlib.import_module(f"{engine}.nn.parallel")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found = {}
    for name, size in SIZES.items():
        x = torch.ones(size // 4)
        reduce = lambda x=x: dist.all_reduce(x)  # noqa: E731
        timed(reduce, dist.barrier, 5)
        found[f"all_reduce, {name}"] = timed(reduce, dist.barrier, 200 if size < 1 << 20 else 40)
    for name, widths, batch in (("MLP", (784, 256, 128, 10), 64), ("wide MLP", (1024,) * 5, 64)):
        torch.manual_seed(0)
        layers = [torch.nn.Linear(m, n) for m, n in itertools.pairwise(widths)]
        model = parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        x = torch.randn(batch, widths[0])

        def step(model: Any = model, optimizer: Any = optimizer, x: Any = x) -> None:
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()

        timed(step, dist.barrier, 5)
        found[f"DDP step, {name}"] = timed(step, dist.barrier, 60)
    if dist.get_rank() == 0:
        Path(path).write_text(json.dumps(found))
    dist.destroy_process_group()


def main() -> int:
    """Measure both engines in turns, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.ranks", description=__doc__)
    parser.add_argument("-n", type=int, default=2, help="ranks (default: 2)")
    parser.add_argument("--turns", type=int, default=3, help="of each engine (default: 3)")
    options = parser.parse_args()
    from tautograd.distributed._launcher import Options, launch

    seen: dict[str, dict[str, list[list[float]]]] = {engine: {} for engine in ENGINES}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.turns):
            for engine in ENGINES:
                path = Path(folder) / "times.json"
                command = [sys.executable, "-m", "bench.ranks", "--rank", engine, str(path)]
                if launch(Options(command, options.n)):
                    return 1
                for name, figures in json.loads(path.read_text()).items():
                    seen[engine].setdefault(name, []).append(figures)
    print(
        f"{options.n} ranks, {options.turns} turns; milliseconds, tautograd / PyTorch with gloo = ratio"
    )
    for name in seen["torch"]:
        texts = []
        for which, label in ((0, "wall"), (1, "processor")):
            own, other = (min(f[which] for f in seen[e][name]) * 1e3 for e in ENGINES)
            texts.append(f"{label} {own:8.3f} / {other:8.3f} = {own / other:5.2f}")
        print(f"{name:20}  {'   '.join(texts)}")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank(*sys.argv[2:])
    else:
        sys.exit(main())
