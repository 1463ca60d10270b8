"""`python -m bench.memory ENGINE STEP [HOW]`: bytes by which a training step makes its process grow.

The peak over five steps, above what the process held before the model was made. One-time costs of the process are
triggered first, by a tiny model of the same kind, and not counted. With `warm` or
`compiled` for HOW, three steps run first, so that one-time recording is not counted. Linux only.
"""

from __future__ import annotations

import gc
import importlib
import sys

from bench.steps import STEPS


def status(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) * 1024


def growth(engine: str, name: str, how: str = "") -> int:
    torch = importlib.import_module(engine)
    warm = STEPS[name].on(torch, tiny=True)
    if how == "compiled":
        warm = torch.compile(warm)
    for _ in range(3):
        warm()
    torch.relu(torch.randn(2048))  # enough for an engine to load its kernels
    before = status("VmRSS")
    step = STEPS[name].on(torch)
    if how == "compiled":
        step = torch.compile(step)
    if how:
        for _ in range(3):
            step()
        gc.collect()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # resets the high-water mark
    for _ in range(5):
        step()
    return status("VmHWM") - before


if __name__ == "__main__":
    print(growth(*sys.argv[1:]))
