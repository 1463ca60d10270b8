"""Training steps on a GPU, tautograd beside PyTorch in one run: eager, as CUDA graphs, compiled.

    python -m bench.gpu                     # the tables: small steps, then models (`bench.gpu_models`)
    python -m bench.gpu --json gpu.json     # and the figures as JSON
    python -m bench.gpu --only mlp gpt      # some rows

A step is `zero_grad`, forward, `backward` and the optimizer's `step`, on the same shapes on both
engines, which take turns; a figure is the median. Losses on the GPU are compared with the CPU's.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from bench import gpu_models
from bench.steps import STEPS, Step

Work = Callable[[], object]
_ROUNDS = 21  # interleaved, and enough that a slow phase of the host affects both


def _deep(torch: Any, batch: int, width: int) -> tuple[Any, ...]:
    nn = torch.nn
    layers = [layer for _ in range(3) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*layers[:-1])
    return model, torch.randn(batch, width), torch.randn(batch, width), nn.MSELoss()


ROWS: dict[str, tuple[str, Step, float]] = {
    "linear": ("Linear(10, 1), batch 32, Adam", STEPS["linear"], 0.8),
    "mlp": ("MLP 784-256-128-10, batch 64, Adam", STEPS["mlp"], 0.8),
    "large": (
        "MLP 4096x3, batch 4096, Adam",
        Step(_deep, {"batch": 4096, "width": 4096}, {"batch": 2, "width": 4}),
        1.05,
    ),
    "gpt": ("GPT 4x128, 64 tokens, batch 12, AdamW", STEPS["gpt"], 0.8),
}


def _prepared(step: Step, torch: Any, **options: Any) -> Work:
    """The step with everything on the GPU."""
    torch.set_default_device("cuda")
    torch.manual_seed(0)
    model, inputs, targets, criterion = step.build(torch, **step.sizes)
    optimizer = getattr(torch.optim, step.optimizer)(model.parameters(), lr=1e-3, **options)

    def run() -> object:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    return run


def theirs_captured(step: Step, torch: Any) -> Work:
    """PyTorch's own CUDA graph of the step."""
    run = _prepared(step, torch, capturable=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay  # type: ignore[no-any-return]


def ours_captured(step: Step, torch: Any) -> Work:
    """tautograd's CUDA graph of the step."""
    captured = torch.cuda.make_graphed_step(_prepared(step, torch))
    for _ in range(4):
        captured()
    return captured  # type: ignore[no-any-return]


def ours_compiled(step: Step, torch: Any) -> Work:
    """tautograd's compiled step: its own kernels, in one CUDA graph."""
    compiled = torch.compile(_prepared(step, torch))
    for _ in range(5):
        compiled()
    replay = compiled._last.replay_of
    if not replay.is_graph:
        raise RuntimeError(f"the compiled step is no graph: {replay.why_no_graph}")
    return compiled  # type: ignore[no-any-return]


def measured(works: list[Work], waits: list[Work], seconds: float) -> list[float]:
    """Microseconds of each, interleaved: the median over rounds of the mean in a round."""
    counts = []
    for work, wait in zip(works, waits, strict=True):
        for _ in range(3):
            work()
        wait()
        start = time.perf_counter()
        for _ in range(3):
            work()
        wait()
        once = (time.perf_counter() - start) / 3
        counts.append(max(3, min(200, int(seconds / _ROUNDS / once))))
    found: list[list[float]] = [[] for _ in works]
    for _ in range(_ROUNDS):
        for times, work, wait, count in zip(found, works, waits, counts, strict=True):
            start = time.perf_counter()
            for _ in range(count):
                work()
            wait()
            times.append((time.perf_counter() - start) / count * 1e6)
    return [statistics.median(times) for times in found]


def losses(step: Step, torch: Any, device: str, count: int, how: Any = None) -> list[float]:
    """The losses of a training run that starts from the same numbers on every device."""
    torch.set_default_device("cpu")
    torch.manual_seed(0)
    model, inputs, targets, criterion = step.build(torch, **step.sizes)
    model = model.to(device)
    inputs, targets = inputs.to(device), targets.to(device)
    optimizer = getattr(torch.optim, step.optimizer)(model.parameters(), lr=1e-3)
    torch.set_default_device(device)

    def run() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    work = run if how is None else how(run)
    found = [float(work()) for _ in range(count)]
    torch.set_default_device("cpu")
    return found


def row(name: str, seconds: float) -> dict[str, Any]:
    """One line of the table."""
    import torch

    import tautograd

    label, step, goal = ROWS[name]
    waits = [tautograd.cuda.synchronize, torch.cuda.synchronize]
    pairs = {
        "": (_prepared, _prepared),
        "graph_": (ours_captured, theirs_captured),
        "compiled_": (ours_compiled, theirs_captured),
    }
    found: dict[str, Any] = {"row": label}
    for prefix, (ours, theirs) in pairs.items():
        try:
            works = [ours(step, tautograd), theirs(step, torch)]
            mine, peer = measured(works, waits, seconds)
        except Exception as error:
            found[f"{prefix}error"] = f"{type(error).__name__}: {str(error)[:200]}"
            mine = peer = float("nan")
        found[f"tautograd_{prefix}us"], found[f"pytorch_{prefix}us"] = mine, peer
        found[f"{prefix}ratio"] = mine / peer
        found[f"{prefix}goal"] = 1.0 if prefix else goal
        works = []
    tautograd.set_default_device("cpu")
    torch.set_default_device("cpu")
    return found


def trained(name: str, count: int) -> dict[str, Any]:
    """The difference between the losses on the GPU and on the CPU."""
    import tautograd

    label, step, _ = ROWS.get(name) or (name, STEPS[name], 0.0)
    cpu = losses(step, tautograd, "cpu", count)
    gpu = losses(step, tautograd, "cuda", count)
    graph = losses(step, tautograd, "cuda", count, tautograd.cuda.make_graphed_step)
    compiled = losses(step, tautograd, "cuda", count, tautograd.compile)

    def worst(have: list[float]) -> float:
        return max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(have, cpu, strict=True))

    return {
        "training": label,
        "steps": count,
        "first": cpu[0],
        "last_cpu": cpu[-1],
        "last_gpu": gpu[-1],
        "last_graph": graph[-1],
        "last_compiled": compiled[-1],
        "worst_relative": worst(gpu),
        "worst_relative_graph": worst(graph),
        "worst_relative_compiled": worst(compiled),
    }


def versions() -> dict[str, str]:
    import cupy
    import numpy as np
    import torch

    import tautograd

    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "gpu": tautograd.cuda.get_device_name(),
        "python": platform.python_version(),
        "tautograd": tautograd.__version__,
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "torch": torch.__version__,
    }


def run(seconds: float, steps: int, names: list[str], say: Callable[[str], None]) -> dict[str, Any]:
    """Run the table and the training runs."""
    found: dict[str, Any] = {"rows": [], "trainings": [], "problems": []}
    heads = "".join(
        f"{h:>9}" for head in ("ours", "graph", "compiled") for h in (head, "torch", "ratio")
    )
    say(f"{'step, microseconds':42}{heads}")
    for name in names:
        line = row(name, seconds)
        found["rows"].append(line)
        found["problems"] += [f"{name}: {line[k]}" for k in line if k.endswith("error")]
        figures = [
            line[f"{who}_{prefix}us"] if who else line[f"{prefix}ratio"]
            for prefix in ("", "graph_", "compiled_")
            for who in ("tautograd", "pytorch", "")
        ]
        texts = (f"{f:9.0f}" if i % 3 < 2 else f"{f:9.2f}" for i, f in enumerate(figures))
        say(f"{line['row']:42}{''.join(texts)}")
    for name in ("linear", "mlp", "gpt", "cnn"):
        try:
            line = trained(name, steps)
        except Exception as error:
            found["problems"].append(f"training {name}: {type(error).__name__}: {str(error)[:300]}")
            continue
        found["trainings"].append(line)
        say(
            f"{line['training']:38} loss {line['first']:.5f} to {line['last_cpu']:.5f} on the CPU, "
            f"{line['last_gpu']:.5f} on the GPU, {line['last_graph']:.5f} as a graph, "
            f"{line['last_compiled']:.5f} compiled; apart by {line['worst_relative']:.1e}, "
            f"{line['worst_relative_graph']:.1e} and {line['worst_relative_compiled']:.1e} at most"
        )
    for problem in found["problems"]:
        say(problem)
    return found


def run_models(
    seconds: float, steps: int, names: list[str], with_compile: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """Run the table of models and their training runs."""
    found: dict[str, Any] = {"models": [], "model_trainings": [], "problems": []}
    for name in names:
        line = gpu_models.measured(name, seconds, with_compile)
        found["models"].append(line)
        kinds = [line[kind] for kind in ("eager", "whole")]
        found["problems"] += [f"{name}: {k['error']}" for k in kinds if "error" in k]
    say(gpu_models.table(found["models"]))
    for name in names if steps else ():
        line = gpu_models.trained(name, steps)
        found["model_trainings"].append(line)
        found["problems"] += [f"{name}: {line[k]}" for k in line if k.endswith("_error")]
        say(" ".join(f"{key} {value}" for key, value in line.items()))
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Training steps on a GPU, beside PyTorch.",
        epilog="example:\n  python -m bench.gpu --only mlp --json gpu.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    models = gpu_models.ROWS
    parser.add_argument("--only", nargs="+", choices=[*ROWS, *models], default=[*ROWS, *models])
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--seconds", type=float, default=2.0, help="per figure; default: 2")
    parser.add_argument("--steps", type=int, default=20, help="of the trainings; default: 20")
    parser.add_argument("--model-steps", type=int, default=50, help="of the models'; default: 50")
    parser.add_argument("--json", help="write the figures to this file")
    given = parser.parse_args(arguments)
    print(" ".join(f"{k} {v}" for k, v in versions().items()))
    small = [name for name in given.only if name in ROWS]
    large = [name for name in given.only if name in models]
    found: dict[str, Any] = {"versions": versions()}
    first = run(given.seconds, given.steps, small, print) if small else {"problems": []}
    second = run_models(given.seconds, given.model_steps, large, not given.no_compile, print)
    found |= {**first, **second, "problems": first["problems"] + second["problems"]}
    if given.json:
        temporary = f"{given.json}.tmp"
        with open(temporary, "w") as file:
            json.dump(found, file, indent=1)
        os.replace(temporary, given.json)
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
