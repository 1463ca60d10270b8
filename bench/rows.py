"""What is measured: one function per row of the table."""

from __future__ import annotations

import gc
import importlib.metadata
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.layer_steps import WORK
from bench.measure import interleaved, once_each
from bench.small_work import checked_function
from bench.watched import watched_step
from bench.worker import in_turns

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "src" / "tautograd"


class Figures(NamedTuple):
    """tautograd's figure, PyTorch's, those of other peers by the name of their column, and by how much of itself the
    ratio of the first two may be off, where that is known."""

    ours: float
    peer: float
    others: dict[str, float] = {}  # noqa: RUF012 (never written to)
    spread: float | None = None


@dataclass(frozen=True)
class Row:
    """A line of the table: figures of one unit, and the most the first two's ratio may be."""

    name: str
    measure: Callable[[], tuple[float, float] | Figures]
    target: float
    unit: str


# ---- work on several engines, each in a process of its own ----------------------------------------

COLUMNS = {"torch:fused": "fused", "torch:compiled": "compiled", "jax": "JAX", "torch": "eager"}
PEERS = ("torch:fused", "torch:compiled", "jax")


def own_process(name: str, *engines: str) -> Callable[[], Figures]:
    """Seconds of a piece of work, by turns; the first two engines are those that are compared."""
    wanted = engines or ("tautograd", "torch")

    def measure() -> Figures:
        turns = in_turns(name, wanted)
        found = {engine: turns.median(engine) for engine in turns.times}
        first, second, *others = found
        columns = {COLUMNS[engine]: found[engine] for engine in others}
        return Figures(found[first], found[second], columns, turns.spread)

    return measure


def step_time(name: str) -> Callable[[], Figures]:
    """Seconds of a training step, beside PyTorch's eager, fused and compiled, and JAX's."""
    return own_process(name, "tautograd", "torch", *PEERS)


def compiled_step(name: str, against: str = "torch") -> Callable[[], Figures]:
    """Seconds of the whole step as one program of `tautograd.compile`, beside the same peers."""
    others = [engine for engine in ("torch", *PEERS) if engine != against]
    return own_process(name, "tautograd:compiled", against, *others)


def compiled_work(name: str) -> Callable[[], Figures]:
    """The same for other work, against PyTorch as it is."""
    return own_process(name, "tautograd:compiled", "torch")


def verified(on_pytorch: bool) -> Callable[[], tuple[float, float]]:
    """`verify` of the whole Jacobian, all references, against PyTorch's gradcheck."""

    def measure() -> tuple[float, float]:
        import torch

        import tautograd

        checked, weights = checked_function(torch)
        loss, own = checked_function(torch if on_pytorch else tautograd)
        return interleaved(
            lambda: tautograd.verify(loss, own, mode="full", confirm=False),
            lambda: torch.autograd.gradcheck(checked, (weights,)),
            rounds=9,
        ).medians

    return measure


def compiling(name: str, cold: bool, most: float) -> Callable[[], tuple[float, float]]:
    """Seconds from the call that records a step to its end, against the most it may take."""

    def measure() -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as folder:
            runs = [float(_python("-m", "bench.compiling", name, folder)) for _ in range(4)]
        return (runs[0] if cold else statistics.median(runs[1:])), most

    return measure


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
    command = [sys.executable, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PROJECT)
    return run.stdout


# What `tautograd.compile` takes as a whole; the others draw or read values in the step.
COMPILED = ("lstm", "gru", "transformer", "residual", "depthwise", "signals", "bag", "gan")

ROWS = (
    Row("scalar lesson: x**2, backward()", own_process("scalar"), 0.2, "s"),
    Row("one recorded op: a + b, 32×32", own_process("op"), 0.6, "s"),
    Row("gradient check, 512 parameters, float64", own_process("gradcheck"), 0.2, "s"),
    Row("verify, all references, 512 parameters", verified(on_pytorch=False), 0.2, "s"),
    Row("verify on PyTorch, 512 parameters", verified(on_pytorch=True), 1.0, "s"),
    Row("step: Linear(10,1), batch 32, Adam", step_time("linear"), 0.15, "s"),
    Row("step: MLP 784-256-128-10, batch 64, Adam", step_time("mlp"), 0.9, "s"),
    Row("step: MLP 1024×4, batch 256, Adam", step_time("wide"), 0.9, "s"),
    Row("step: GPT 4×128, 64 tokens, batch 12, AdamW", step_time("gpt"), 0.9, "s"),
    Row("step: CNN 28×28, batch 64, Adam", step_time("cnn"), 0.9, "s"),
    *(Row(title, own_process(name), 0.9, "s") for name, (title, _) in WORK.items()),
    Row("compiled step: Linear(10,1), batch 32, Adam", compiled_step("linear"), 0.01, "s"),
    Row("compiled step: MLP 784-256-128-10, batch 64", compiled_step("mlp"), 0.4, "s"),
    Row("compiled step: MLP 1024×4, batch 256", compiled_step("wide"), 0.8, "s"),
    Row(
        "compiled step: GPT, against torch.compile",
        compiled_step("gpt", "torch:compiled"),
        0.7,
        "s",
    ),
    Row("compiled step: CNN 28×28, batch 64", compiled_step("cnn"), 0.5, "s"),
    *(
        Row(f"compiled: {title}", compiled_work(name), 0.8, "s")
        for name, (title, _) in WORK.items()
        if name in COMPILED
    ),
    # The second figure of these is the most that recording and compiling may take.
    Row("compiling the step of Linear(10,1), cold", compiling("linear", True, 0.3), 1.0, "s"),
    Row("compiling the step of the GPT, cold", compiling("gpt", True, 3.0), 1.0, "s"),
    Row("compiling the step of the GPT, cached", compiling("gpt", False, 0.3), 1.0, "s"),
    # The step of Linear(10,1) holds a few kilobytes: nothing to measure.
    Row("peak memory: MLP 784-256-128-10, batch 64", peak_memory("mlp"), 1.0, "B"),
    Row("peak memory: MLP 1024×4, batch 256", peak_memory("wide"), 1.0, "B"),
    Row("peak memory: GPT 4×128, 64 tokens, batch 12", peak_memory("gpt"), 1.0, "B"),
    Row("peak memory: CNN 28×28, batch 64", peak_memory("cnn"), 1.0, "B"),
    # These compare a step as a program with the same step run eagerly, both on tautograd.
    Row("peak memory, compiled: MLP 1024×4", replay_memory("wide"), 0.9, "B"),
    Row("peak memory, compiled: GPT", replay_memory("gpt"), 0.9, "B"),
    Row("peak memory, compiled: CNN", replay_memory("cnn"), 0.9, "B"),
    Row("import", import_time, 0.15, "s"),
    Row("installed size, with dependencies", installed_size, 0.5, "B"),
    # Both figures of this one are tautograd's: cost per operation must not grow with the graph.
    Row("backward per op in a chain of 1,000,000, against 10,000", long_chain, 1.3, "s"),
    # These compare a step under the doctor with the same step without it, on one engine.
    Row("doctor on tautograd: step of Linear(10,1)", watched_step("linear", "tautograd"), 1.2, "s"),
    Row("doctor on tautograd: step of the MLP", watched_step("mlp", "tautograd"), 1.05, "s"),
    Row("doctor on tautograd: step of the GPT", watched_step("gpt", "tautograd"), 1.02, "s"),
    Row("doctor on PyTorch: step of Linear(10,1)", watched_step("linear", "torch"), 1.2, "s"),
    Row("doctor on PyTorch: step of the MLP", watched_step("mlp", "torch"), 1.05, "s"),
    Row("doctor on PyTorch: step of the GPT", watched_step("gpt", "torch"), 1.02, "s"),
)

HEADLINES = (
    "scalar lesson: x**2, backward()",
    "one recorded op: a + b, 32×32",
    "step: Linear(10,1), batch 32, Adam",
    "step: MLP 784-256-128-10, batch 64, Adam",
    "step: GPT 4×128, 64 tokens, batch 12, AdamW",
    "step: CNN 28×28, batch 64, Adam",
    "LSTM 32→64, 50 steps, batch 32",
    "MAML step, second order, 4 tasks",
    "compiled step: Linear(10,1), batch 32, Adam",
    "compiled step: MLP 784-256-128-10, batch 64",
    "compiled step: GPT, against torch.compile",
    "compiled step: CNN 28×28, batch 64",
    "peak memory: GPT 4×128, 64 tokens, batch 12",
    "import",
    "installed size, with dependencies",
    "doctor on PyTorch: step of the MLP",
)
"""The rows that the README shows."""
