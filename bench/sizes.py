"""`python -m bench.sizes [--cold] [--dynamic] [--block N] [NAME …]`: compiled steps whose sizes change between calls.

For each step two passes over the same 300 calls, relative to the eager time (interleaved: eager,
compiled, eager): in wall time, and in processor time of the caller's process; the processor time of processes
beside it, in eager calls; what the second and every further recording costs (`dynamic=False`), in
eager calls; and the cost of a replay relative to one.
Each row has its own process. With `--cold` there is no machine code from earlier runs; with `--dynamic` a program
for all sizes is requested at once (`dynamic=True`). On a busy machine, `--block 10` alternates
after every ten calls, so that both see the same load; but then what is compiled in the background has twice the time.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

CALLS = 300
REPLAYS = 8
SETTLING = 3  # passes before anything is measured

Step = Callable[..., Any]


def _trained(modules: list[Any], optimizer: Any, loss_of: Step) -> Step:
    parameters = [p for module in modules for p in module.parameters()]
    by = optimizer(parameters, lr=1e-3)

    def step(x: Any, y: Any) -> Any:
        by.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        by.step()
        return loss

    return step


def _transformer(torch: Any, draw: random.Random) -> tuple[Step, list[Any]]:
    """Two layers of 64 on eight sequences of 40 lengths."""
    nn, words = torch.nn, 100
    embedding, head = nn.Embedding(words, 64), nn.Linear(64, words)
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2)

    def loss_of(x: Any, y: Any) -> Any:
        found = head(encoder(embedding(x))).reshape(-1, words)
        return nn.functional.cross_entropy(found, y.reshape(-1))

    step = _trained([embedding, encoder, head], torch.optim.AdamW, loss_of)
    lengths = [draw.randint(5, 44) for _ in range(CALLS)]
    given = [torch.randint(0, words, (8, n)) for n in lengths]
    return step, [(x, x.clone()) for x in given]


def _gru(torch: Any, draw: random.Random) -> tuple[Step, list[Any]]:
    """A GRU 32→64 on sixteen sequences of 36 lengths."""
    nn = torch.nn
    layer, head = nn.GRU(32, 64, batch_first=True), nn.Linear(64, 1)

    def loss_of(x: Any, y: Any) -> Any:
        return (head(layer(x)[0][:, -1]) - y).square().mean()

    step = _trained([layer, head], torch.optim.Adam, loss_of)
    lengths = [draw.randint(5, 40) for _ in range(CALLS)]
    return step, [(torch.randn(16, n, 32), torch.randn(16, 1)) for n in lengths]


def _ragged(torch: Any, draw: random.Random) -> tuple[Step, list[Any]]:
    """A network of three layers on batches of 64, and of 40 at the end of each epoch."""
    nn = torch.nn
    network = nn.Sequential(
        *(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
    )

    def loss_of(x: Any, y: Any) -> Any:
        return nn.functional.cross_entropy(network(x), y)

    step = _trained([network], torch.optim.Adam, loss_of)
    sizes = [40 if i % 16 == 15 else 64 for i in range(CALLS)]
    return step, [(torch.randn(n, 20), torch.randint(0, 5, (n,))) for n in sizes]


def _tiny(torch: Any, draw: random.Random) -> tuple[Step, list[Any]]:
    """A network 8→16→1 on batches of 40 sizes."""
    nn = torch.nn
    network = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))

    def loss_of(x: Any, y: Any) -> Any:
        return (network(x) - y).square().mean()

    step = _trained([network], torch.optim.SGD, loss_of)
    sizes = [draw.randint(5, 44) for _ in range(CALLS)]
    return step, [(torch.randn(n, 8), torch.randn(n, 1)) for n in sizes]


ROWS = {"transformer": _transformer, "gru": _gru, "ragged": _ragged, "tiny": _tiny}


Seconds = tuple[float, float]  # wall and processor time


def _seconds(step: Step, calls: list[Any]) -> Seconds:
    wall, own = time.perf_counter(), time.process_time()
    for arguments in calls:
        step(*arguments)
    return time.perf_counter() - wall, time.process_time() - own


def _sum(parts: list[Seconds]) -> Seconds:
    return sum(wall for wall, _ in parts), sum(own for _, own in parts)


def _in_turns(
    plain: Step, compiled: Step, calls: list[Any], block: int
) -> tuple[Seconds, Seconds, float]:
    """One pass: the time of both, and of one eager call."""
    if block:
        parts = [calls[i : i + block] for i in range(0, len(calls), block)]
        pairs = [(_seconds(plain, part), _seconds(compiled, part)) for part in parts]
        written, taken = _sum([a for a, _ in pairs]), _sum([b for _, b in pairs])
        return written, taken, written[1] / len(calls)
    before = _seconds(plain, calls)
    taken = _seconds(compiled, calls)
    after = _seconds(plain, calls)
    written = median((before[0], after[0])), median((before[1], after[1]))
    return written, taken, min(before[1], after[1]) / len(calls)


def _settle(plain: Step, calls: list[Any]) -> None:
    """Let the engine's own functions become machine code, in a thread whose time would count for whoever runs then."""
    from tautograd._autograd import machine_code

    for _ in range(SETTLING):
        _seconds(plain, calls)
        while machine_code._worker is not None:
            time.sleep(0.01)


def _row(name: str, dynamic: bool | None, block: int) -> str:
    """A row's figures, measured in this process."""
    import tautograd as torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)

    def made() -> tuple[Step, list[Any]]:
        return ROWS[name](torch, random.Random(1))

    step, calls = made()
    step(*calls[0])  # its machine code is not what is measured
    compiled = torch.compile(step, dynamic=dynamic)
    plain, _ = made()
    _settle(plain, calls)
    ratios, own = [], []
    beside = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(2):
        written, taken, alone = _in_turns(plain, compiled, calls, block)
        ratios += [taken[0] / written[0], taken[1] / written[1]]
        own.append(alone)
    each = min(own)
    compiled._sizes.dismiss()  # what is not waited for has taken no time yet
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    helped = now.ru_utime + now.ru_stime - beside.ru_utime - beside.ru_stime

    step, _ = made()
    every = torch.compile(step, dynamic=False, audit="never")
    prices, shares = [], []
    for arguments in {tuple(a.shape for a in given): given for given in calls}.values():
        alone = min(_seconds(plain, [arguments])[1] for _ in range(REPLAYS))
        every(*arguments)
        prices.append((_seconds(every, [arguments])[1] - alone) / alone)
        shares.append(min(_seconds(every, [arguments])[1] for _ in range(REPLAYS)) / alone)
    first, first_own, second, second_own = ratios
    return (
        f"{name:12} {1e3 * each:7.2f} ms  {first:5.2f} ({first_own:4.2f})  {second:5.2f} ({second_own:4.2f})"
        f"  {helped / each:7.0f}  {compiled.records:7}  {median(prices[1:]):14.0f}  {median(shares):6.2f}"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--cold", action="store_true", help="without machine code of earlier runs")
    parser.add_argument("--dynamic", action="store_true", help="one program for all sizes, at once")
    parser.add_argument("--block", type=int, default=0, help="calls after which turns are taken")
    parser.add_argument("--row", choices=ROWS, help=argparse.SUPPRESS)  # in this process
    given = parser.parse_args(arguments)
    if given.row:
        print(_row(given.row, given.dynamic or None, given.block), flush=True)
        return 0
    print(f"load {os.getloadavg()[0]:.1f}; by the clock (processor time of this process)")
    head = "step         as written   1st pass      2nd pass     beside  records  another (calls)"
    print(f"{head}  replay", flush=True)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    for name in given.names or ROWS:
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | threads | ({"XDG_CACHE_HOME": folder} if given.cold else {})
            command = [sys.executable, "-m", "bench.sizes", "--row", name]
            command += ["--dynamic"] * given.dynamic + ["--block", str(given.block)]
            subprocess.run(command, env=environment, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
