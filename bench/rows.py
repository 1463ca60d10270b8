"""What is measured: one function per row of the table."""

from __future__ import annotations

import gc
import importlib.metadata
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure import interleaved, once_each

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "tautograd"


@dataclass(frozen=True)
class Row:
    """A line of the table: two figures of one unit, and the most their ratio may be."""

    name: str
    measure: Callable[[], tuple[float, float]]
    target: float
    unit: str


def engines() -> tuple[Any, Any]:
    import torch

    import tautograd

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


def gradient_check() -> tuple[float, float]:
    def make(torch: Any) -> Callable[[], object]:
        torch.manual_seed(0)
        inputs = torch.randn(8, 16, dtype=torch.float64)
        weights = torch.randn(16, 32, dtype=torch.float64, requires_grad=True)  # 512 of them

        def loss(w: Any) -> Any:
            return (inputs @ w).tanh().square().mean()

        return lambda: torch.autograd.gradcheck(loss, (weights,))

    return on_both(make, rounds=9)


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

_STEP = """
import sys
import {engine} as torch
if {engine!r} == "torch":
    torch.set_num_threads(2)

def status(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) * 1024

def step():
    hidden = inputs
    for w, b in layers[:-1]:
        hidden = (hidden @ w + b).relu()
    w, b = layers[-1]
    loss = ((hidden @ w + b - targets) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for pair in layers:
            for parameter in pair:
                parameter -= 0.01 * parameter.grad
                parameter.grad = None

small = torch.ones(2, 2, requires_grad=True)  # start-up costs of a first step are not the step's
(small @ small).relu().sum().backward()
before = status("VmRSS")
torch.manual_seed(0)
inputs, targets = torch.randn(256, 1024), torch.randn(256, 1024)
layers = [
    ((torch.randn(1024, 1024) / 32).requires_grad_(), torch.zeros(1024, requires_grad=True))
    for _ in range(4)
]
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the high-water mark starts again from here
for _ in range(5):
    step()
print(status("VmHWM") - before)
"""


def peak_memory() -> tuple[float, float]:
    """Bytes by which an MLP of 4 layers of 1024, batch 256, makes the process grow at its peak."""

    def grown(engine: str) -> float:
        return float(_python(_STEP.format(engine=engine)))

    return once_each(lambda: grown("tautograd"), lambda: grown("torch"), rounds=5).medians


# ---- start-up and size ---------------------------------------------------------------------------


def import_time() -> tuple[float, float]:
    text = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"

    def seconds(engine: str) -> float:
        return float(_python(text.format(engine)))

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


def _python(text: str) -> str:
    # Byte code is kept, as it is on any machine where a package has been imported before.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", text]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return run.stdout


ROWS = (
    Row("scalar lesson: x**2, backward()", scalar_lesson, 0.35, "s"),
    Row("one recorded op: a + b, 32×32", one_recorded_op, 0.8, "s"),
    Row("gradient check, 512 parameters, float64", gradient_check, 0.2, "s"),
    Row("peak memory, MLP 1024×4, batch 256", peak_memory, 1.1, "B"),
    Row("import", import_time, 0.15, "s"),
    Row("installed size, with dependencies", installed_size, 0.3, "B"),
    # Both figures of this one are tautograd's: cost per operation must not grow with the graph.
    Row("backward per op in a chain of 1,000,000, against 10,000", long_chain, 1.3, "s"),
)
