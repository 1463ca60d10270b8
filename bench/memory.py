"""`python -m bench.memory ENGINE STEP`: bytes by which a training step makes its process grow.

The peak over five steps, above what the process held before the model was made. What a process
does once, with a tiny model of the same kind, comes before and is not counted. Linux only.
"""

from __future__ import annotations

import importlib
import sys

from bench.steps import STEPS


def status(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) * 1024


def growth(engine: str, name: str) -> int:
    torch = importlib.import_module(engine)
    torch.set_num_threads(2)
    warm = STEPS[name].on(torch, tiny=True)
    for _ in range(2):
        warm()
    before = status("VmRSS")
    step = STEPS[name].on(torch)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the high-water mark starts again from here
    for _ in range(5):
        step()
    return status("VmHWM") - before


if __name__ == "__main__":
    print(growth(*sys.argv[1:]))
