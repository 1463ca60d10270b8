"""Where a step's time goes on a GPU: what the host takes to issue it, how long the GPU is busy, and with which kernels.

    python tools/gpu/step_times.py resnet lstm              # eager steps, beside PyTorch's
    python tools/gpu/step_times.py gpt-f32 --whole --profile 30
    python tools/gpu/step_times.py lstm --ours --set tautograd._ops.on_gpu.lstm._FEW=0      # one way beside another

A step that takes longer to issue than the GPU is busy is bound by the host: by Python, by the driver,
by launches. The kernels are those that CUPTI saw, through PyTorch's profiler, for either engine.
Further down: the cost of single launches.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import json
import os
import platform
import pstats
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench import gpu_models  # noqa: E402

_ROUNDS = 15


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def host() -> str:
    """The host's processor and its load."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}"


def least(
    work: Callable[[], Any], wait: Callable[[], Any], rounds: int = _ROUNDS
) -> tuple[float, float]:
    """Milliseconds until one step is issued, and until it is done: the minimum of several."""
    issued = done = float("inf")
    for _ in range(rounds):
        wait()
        start = time.perf_counter()
        work()
        issued = min(issued, time.perf_counter() - start)
        wait()
        done = min(done, time.perf_counter() - start)
    return issued * 1e3, done * 1e3


def steadily(work: Callable[[], Any], wait: Callable[[], Any], count: int = 20) -> float:
    """Milliseconds per step over many steps: the best of several series."""
    best = float("inf")
    for _ in range(5):
        wait()
        start = time.perf_counter()
        for _ in range(count):
            work()
        wait()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e3


def kernels(
    torch: Any, work: Callable[[], Any], wait: Callable[[], Any], count: int = 3
) -> dict[str, tuple[int, float]]:
    """For each kernel, how often it runs in a step, and its microseconds."""
    wait()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(count):
            work()
        wait()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/trace.json"
        profile.export_chrome_trace(path)
        events = json.loads(Path(path).read_text())["traceEvents"]
    found: dict[str, list[float]] = defaultdict(list)
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            found[event["name"]].append(event["dur"])
    return {name: (len(times) // count, sum(times) / count) for name, times in found.items()}


def told(
    torch: Any, label: str, work: Callable[[], Any], wait: Callable[[], Any], most: int
) -> None:
    """Print the figures of a step."""
    for _ in range(4):
        work()
    issued, done = least(work, wait)
    steady = steadily(work, wait)
    found = kernels(torch, work, wait)
    busy, count = sum(t for _, t in found.values()) / 1e3, sum(n for n, _ in found.values())
    say(f"{label}: {steady:.2f} ms among many, alone {done:.2f}, issued in {issued:.2f}; "
          f"{count} kernels, {busy:.2f} ms")  # fmt: skip
    for name, (n, micro) in sorted(found.items(), key=lambda item: -item[1][1])[:most]:
        say(f"    {micro:9.1f} us  {n:4}  {name[:110]}")


def row(name: str, engines: int, whole: bool, most: int, profile: int) -> None:
    import torch

    import tautograd

    found = gpu_models.ROWS[name]
    for engine in (tautograd, torch)[:engines]:
        wait = engine.cuda.synchronize
        work: Any = gpu_models.prepared(found, engine, found.half)[0]
        told(torch, f"{name} eager, {engine.__name__}", work, wait, most)
        if engine is tautograd and profile:
            watch = cProfile.Profile()
            watch.enable()
            for _ in range(10):
                work()
            watch.disable()
            wait()
            pstats.Stats(watch).sort_stats("tottime").print_stats(profile)
        del work
        if whole:
            make = gpu_models.ours_whole if engine is tautograd else gpu_models.theirs_whole
            told(torch, f"{name} whole, {engine.__name__}", make(found, engine), wait, most)
        gpu_models._freed(engine)


def single_calls() -> None:
    """The host time for one of each: launches, memory, products."""
    import cupy
    import numpy as np

    import tautograd
    from tautograd._arrays.cuda import cuda_array
    from tautograd._ops.on_gpu.activations import RELU
    from tautograd._ops.on_gpu.launch import run_pointwise

    x = tautograd.ones(1024, device="cuda")._data
    y = cuda_array.new(x.shape, x.dtype)
    m = tautograd.ones(64, 64, device="cuda")._data
    big = tautograd.ones(1024, 1024, device="cuda")
    bias = tautograd.ones(1024, device="cuda")
    out = cuda_array.new(m.shape, m.dtype)
    backend = cuda_array.backend
    stream = cupy.cuda.get_current_stream
    image = tautograd.ones(8, 8, 8, 8, device="cuda")
    weight = tautograd.ones(8, 8, 3, 3, device="cuda")
    calls = {
        "get_current_stream().ptr": lambda: stream().ptr,
        "memory of 4 KB": lambda: backend.allocate(4096),
        "an array (new)": lambda: cuda_array.new(x.shape, x.dtype),
        "relu's kernel into given memory": lambda: run_pointwise(RELU, y, x),
        "cuBLAS sgemm 64^3 into given memory": lambda: backend.gemm(m, m, out),
        "cuBLAS sgemm 64^3": lambda: backend.gemm(m, m),
        "cuBLASLt 1024^3 with bias": lambda: backend.gemm.affine(big._data, big._data, bias._data),
        "convolution 8x8x8x8": lambda: tautograd.nn.functional.conv2d(image, weight, padding=1),
        "cupy add": lambda: cupy.add(x.raw, x.raw),
        "cupy copyto": lambda: cupy.copyto(y.raw, x.raw),
        "cupy fill": lambda: y.raw.fill(0),
        "ndarray over memory": lambda: cupy.ndarray(x.shape, np.float32, x.raw.data),
    }
    say(host())
    for name, call in calls.items():
        best = float("inf")
        for _ in range(7):
            backend.synchronize()
            start = time.perf_counter()
            for _ in range(200):
                call()
            best = min(best, time.perf_counter() - start)
        say(f"    {best / 200 * 1e6:7.2f} us  {name}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Where a step's time goes on a GPU.")
    parser.add_argument("rows", nargs="*", help=", ".join(gpu_models.ROWS))
    parser.add_argument("--whole", action="store_true", help="compiled steps, too")
    parser.add_argument("--ours", action="store_true", help="without PyTorch's")
    parser.add_argument("--kernels", type=int, default=14, help="so many of each; default: 14")
    parser.add_argument("--profile", type=int, default=0, help="so many of the host's functions")
    parser.add_argument("--set", nargs="+", default=[], metavar="MODULE.NAME=NUMBER")
    given = parser.parse_args(arguments)
    for text in given.set:
        place, _, number = text.partition("=")
        module, _, attribute = place.rpartition(".")
        setattr(importlib.import_module(module), attribute, int(number))
    single_calls()
    for name in given.rows:
        row(name, 1 if given.ours else 2, given.whole, given.kernels, given.profile)
    say(host())


if __name__ == "__main__":
    main(sys.argv[1:])
