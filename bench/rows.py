"""What is measured: one function per row of the table."""

from __future__ import annotations

import gc
import importlib.metadata
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench import peers, worker
from bench.layer_steps import WORK
from bench.measure import interleaved, once_each, side_by_side
from bench.steps import STEPS
from bench.watched import watched_step

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "src" / "tautograd"


class Figures(NamedTuple):
    """tautograd's figure, PyTorch's, and those of other peers by the name of their column."""

    ours: float
    peer: float
    others: dict[str, float] = {}  # noqa: RUF012 (never written to)


@dataclass(frozen=True)
class Row:
    """A line of the table: figures of one unit, and the most the first two's ratio may be."""

    name: str
    measure: Callable[[], tuple[float, float] | Figures]
    target: float
    unit: str


def engines() -> tuple[Any, Any]:
    import tautograd  # first, as in a program that uses it alone: it settles how NumPy's threads wait

    import torch  # isort: skip

    torch.set_num_threads(2)
    return tautograd, torch


def on_both(make: Callable[[Any], Callable[[], object]], **options: Any) -> tuple[float, float]:
    """Seconds that the same work takes on either engine."""
    ours, theirs = engines()
    return interleaved(make(ours), make(theirs), **options).medians


# ---- small work: what the engine itself costs ----------------------------------------------------


def scalar_lesson() -> tuple[float, float]:
    def make(torch: Any) -> Callable[[], object]:
        def lesson() -> object:
            x = torch.tensor(3.0, requires_grad=True)
            y = x**2
            y.backward()
            return x.grad

        return lesson

    return on_both(make)


def one_recorded_op() -> tuple[float, float]:
    def make(torch: Any) -> Callable[[], object]:
        a = torch.ones(32, 32, requires_grad=True)
        b = torch.ones(32, 32, requires_grad=True)
        return lambda: a + b

    return on_both(make)


def checked_function(torch: Any) -> tuple[Callable[[Any], Any], Any]:
    """A function of 512 parameters in float64."""
    torch.manual_seed(0)
    inputs = torch.randn(8, 16, dtype=torch.float64)
    weights = torch.randn(16, 32, dtype=torch.float64, requires_grad=True)
    return lambda w: (inputs @ w).tanh().square().mean(), weights


def gradient_check() -> tuple[float, float]:
    def make(torch: Any) -> Callable[[], object]:
        loss, weights = checked_function(torch)
        return lambda: torch.autograd.gradcheck(loss, (weights,))

    return on_both(make, rounds=9)


def verified(on_pytorch: bool) -> Callable[[], tuple[float, float]]:
    """`verify` of the whole Jacobian, all references, against PyTorch's gradcheck."""

    def measure() -> tuple[float, float]:
        ours, theirs = engines()
        checked, weights = checked_function(theirs)
        loss, own = checked_function(theirs if on_pytorch else ours)
        return interleaved(
            lambda: ours.verify(loss, own, mode="full", confirm=False),
            lambda: theirs.autograd.gradcheck(checked, (weights,)),
            rounds=9,
        ).medians

    return measure


# ---- training steps ------------------------------------------------------------------------------


def step_time(name: str) -> Callable[[], Figures]:
    """Seconds of a training step, beside PyTorch's eager, fused and compiled, and JAX's."""

    def measure() -> Figures:
        ours, theirs = engines()
        step = STEPS[name]
        sides = {"tautograd": step.on(ours), "PyTorch": step.on(theirs)}
        found = side_by_side({**sides, **peers.of_step(name, theirs)})
        return Figures(found.pop("tautograd"), found.pop("PyTorch"), found)

    return measure


def compiled_step(name: str, against: str = "PyTorch") -> Callable[[], Figures]:
    """Seconds of the whole step as one program of `tautograd.compile`, beside the same peers."""

    def measure() -> Figures:
        ours, theirs = engines()
        step = STEPS[name]
        sides = {"tautograd": ours.compile(step.on(ours)), "PyTorch": step.on(theirs)}
        found = side_by_side({**sides, **peers.of_step(name, theirs)})
        mine, peer = found.pop("tautograd"), found.pop(against, None)
        if peer is None:  # torch.compile does not work here
            peer = found.pop("PyTorch")
        elif "PyTorch" in found:
            found["eager"] = found.pop("PyTorch")
        return Figures(mine, peer, found)

    return measure


def compiling(name: str, cold: bool, most: float) -> Callable[[], tuple[float, float]]:
    """Seconds from the call that records a step to its end, against the most it may take."""

    def measure() -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as folder:
            runs = [float(_python("-m", "bench.compiling", name, folder)) for _ in range(4)]
        return (runs[0] if cold else statistics.median(runs[1:])), most

    return measure


def own_process(name: str) -> Callable[[], tuple[float, float]]:
    """Seconds of a piece of work, each engine in a process of its own, in turns."""
    return lambda: worker.medians(name)


# ---- long chains: the cost must be linear --------------------------------------------------------

SHORT, LONG = 10_000, 1_000_000


def long_chain() -> tuple[float, float]:
    """Seconds per operation to go backward over a chain and free it: a long one, a short one."""
    import tautograd

    def per_operation(length: int) -> float:
        x = tautograd.ones((), requires_grad=True)
        y = x
        for _ in range(length):
            y = y * 1.0
        gc.collect()
        started = time.perf_counter()
        y.backward()
        del y
        return (time.perf_counter() - started) / length

    def short() -> float:
        # As many operations in all as a tenth of the long chain, so that both are timed well.
        return sum(per_operation(SHORT) for _ in range(10)) / 10

    return once_each(lambda: per_operation(LONG), short, rounds=3).medians


# ---- memory --------------------------------------------------------------------------------------


def peak_memory(step: str) -> Callable[[], tuple[float, float]]:
    """Bytes by which a training step makes the process grow at its peak."""

    def grown(engine: str) -> float:
        return float(_python("-m", "bench.memory", engine, step))

    def measure() -> tuple[float, float]:
        return once_each(lambda: grown("tautograd"), lambda: grown("torch"), rounds=5).medians

    return measure


def replay_memory(step: str) -> Callable[[], tuple[float, float]]:
    """Bytes that replays of a compiled step need at their peak, and those of the step run eagerly."""

    def grown(*how: str) -> float:
        return float(_python("-m", "bench.memory", "tautograd", step, *how))

    def measure() -> tuple[float, float]:
        return once_each(lambda: grown("compiled"), lambda: grown("warm"), rounds=3).medians

    return measure


# ---- start-up and size ---------------------------------------------------------------------------


def import_time() -> tuple[float, float]:
    text = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"

    def seconds(engine: str) -> float:
        return float(_python("-c", text.format(engine)))

    seconds("tautograd")  # compiles what changed since the last time
    return once_each(lambda: seconds("tautograd"), lambda: seconds("torch"), rounds=9).medians


def installed_size() -> tuple[float, float]:
    """Bytes on disk of each engine with all it depends on, byte code not counted."""
    ours = sum(_size_of(name) for name in _closure("tautograd") - {"tautograd"})
    ours += sum(p.stat().st_size for p in PACKAGE.rglob("*") if p.is_file() and p.suffix != ".pyc")
    return float(ours), float(sum(_size_of(name) for name in _closure("torch")))


def _closure(name: str) -> set[str]:
    """A distribution and everything that it needs here, without its extras."""
    from packaging.requirements import Requirement

    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if current in found:
            continue
        found.add(current)
        for text in importlib.metadata.distribution(current).requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def _size_of(name: str) -> int:
    total = 0
    for file in importlib.metadata.distribution(name).files or []:
        path = Path(str(file.locate()))
        if path.suffix != ".pyc" and path.is_file():
            total += path.stat().st_size
    return total


def _python(*arguments: str) -> str:
    # Byte code is kept, as it is on any machine where a package has been imported before.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *arguments]
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=PROJECT
    )
    return run.stdout


ROWS = (
    Row("scalar lesson: x**2, backward()", scalar_lesson, 0.35, "s"),
    Row("one recorded op: a + b, 32×32", one_recorded_op, 0.8, "s"),
    Row("gradient check, 512 parameters, float64", gradient_check, 0.2, "s"),
    Row("verify, all references, 512 parameters", verified(on_pytorch=False), 0.2, "s"),
    Row("verify on PyTorch, 512 parameters", verified(on_pytorch=True), 1.0, "s"),
    Row("step: Linear(10,1), batch 32, Adam", step_time("linear"), 0.2, "s"),
    Row("step: MLP 784-256-128-10, batch 64, Adam", step_time("mlp"), 0.8, "s"),
    Row("step: MLP 1024×4, batch 256, Adam", step_time("wide"), 1.1, "s"),
    Row("step: GPT 4×128, 64 tokens, batch 12, AdamW", step_time("gpt"), 1.3, "s"),
    Row("step: CNN 28×28, batch 64, Adam", step_time("cnn"), 1.5, "s"),
    *(
        Row(f"own process: {title}", own_process(name), 0.9, "s")
        for name, (title, _) in WORK.items()
    ),
    Row("compiled step: Linear(10,1), batch 32, Adam", compiled_step("linear"), 0.02, "s"),
    Row("compiled step: MLP 784-256-128-10, batch 64", compiled_step("mlp"), 0.5, "s"),
    Row("compiled step: MLP 1024×4, batch 256", compiled_step("wide"), 0.9, "s"),
    Row("compiled step: GPT, against torch.compile", compiled_step("gpt", "compiled"), 0.8, "s"),
    Row("compiled step: CNN 28×28, batch 64", compiled_step("cnn"), 1.0, "s"),
    # The second figure of these is the most that recording and compiling may take.
    Row("compiling the step of Linear(10,1), cold", compiling("linear", True, 0.3), 1.0, "s"),
    Row("compiling the step of the GPT, cold", compiling("gpt", True, 3.0), 1.0, "s"),
    Row("compiling the step of the GPT, cached", compiling("gpt", False, 0.3), 1.0, "s"),
    # The step of Linear(10,1) holds a few kilobytes: nothing to measure.
    Row("peak memory: MLP 784-256-128-10, batch 64", peak_memory("mlp"), 1.1, "B"),
    Row("peak memory: MLP 1024×4, batch 256", peak_memory("wide"), 1.1, "B"),
    Row("peak memory: GPT 4×128, 64 tokens, batch 12", peak_memory("gpt"), 1.1, "B"),
    Row("peak memory: CNN 28×28, batch 64", peak_memory("cnn"), 1.1, "B"),
    # These compare a step as a program with the same step run eagerly, both on tautograd.
    Row("peak memory, compiled: MLP 1024×4", replay_memory("wide"), 0.9, "B"),
    Row("peak memory, compiled: GPT", replay_memory("gpt"), 0.9, "B"),
    Row("peak memory, compiled: CNN", replay_memory("cnn"), 0.9, "B"),
    Row("import", import_time, 0.15, "s"),
    Row("installed size, with dependencies", installed_size, 0.5, "B"),
    # Both figures of this one are tautograd's: cost per operation must not grow with the graph.
    Row("backward per op in a chain of 1,000,000, against 10,000", long_chain, 1.3, "s"),
    # These compare a step under the doctor with the same step without it, on one engine.
    Row("doctor on tautograd: step of Linear(10,1)", watched_step("linear", "tautograd"), 1.3, "s"),
    Row("doctor on tautograd: step of the MLP", watched_step("mlp", "tautograd"), 1.05, "s"),
    Row("doctor on tautograd: step of the GPT", watched_step("gpt", "tautograd"), 1.02, "s"),
    Row("doctor on PyTorch: step of Linear(10,1)", watched_step("linear", "torch"), 1.3, "s"),
    Row("doctor on PyTorch: step of the MLP", watched_step("mlp", "torch"), 1.05, "s"),
    Row("doctor on PyTorch: step of the GPT", watched_step("gpt", "torch"), 1.02, "s"),
)
