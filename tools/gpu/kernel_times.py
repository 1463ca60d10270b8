"""Which kernels a whole step spends its time in, ours beside those of `torch.compile`.

    python tools/gpu/kernel_times.py gpt2-bf16 mlp-bf16 --json kernels.json

PyTorch's profiler listens to the driver, and so sees both engines' kernels. A figure is the mean over
the steps.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
_STEPS = 3


def kernels_of(work: Any) -> list[tuple[str, int, float]]:
    """The kernels of a step by name: number of launches, and total microseconds, the longest first."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    for _ in range(3):
        work()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(_STEPS):
            work()
        torch.cuda.synchronize()
    count: dict[str, int] = defaultdict(int)
    total: dict[str, float] = defaultdict(float)
    for event in found.events():
        if "cuda" in str(event.device_type).lower():
            count[event.name] += 1
            total[event.name] += event.time_range.elapsed_us()
    names = sorted(total, key=lambda name: -total[name])
    return [(name, round(count[name] / _STEPS), total[name] / _STEPS) for name in names]


def main(arguments: list[str]) -> int:
    from bench import gpu_models

    parser = argparse.ArgumentParser(description="Kernels of whole steps, by their time.")
    parser.add_argument("rows", nargs="+", choices=[*gpu_models.ROWS])
    parser.add_argument("--json", help="write all of them to this file")
    parser.add_argument("--sources", help="write the text of our kernels to this file")
    parser.add_argument("--most", type=int, default=25, help="lines to print; default: 25")
    given = parser.parse_args(arguments)
    import torch

    import tautograd

    found: dict[str, Any] = {}
    for name in given.rows:
        row = gpu_models.ROWS[name]
        works = {
            "tautograd": lambda row=row: gpu_models.ours_whole(row, tautograd),
            "torch": lambda row=row: gpu_models.theirs_whole(row, torch),
        }
        for engine, make in works.items():
            work = make()
            lines = kernels_of(work)
            if engine == "tautograd":
                replay = work._last.replay_of
                found[f"{name} parts"] = _described(replay)
            found[f"{name} {engine}"] = lines
            total = sum(line[2] for line in lines)
            sys.stdout.write(
                f"{name} {engine}: {total / 1e3:.2f} ms in {sum(line[1] for line in lines)} launches\n"
            )
            for text, count, time in lines[: given.most]:
                sys.stdout.write(f"  {time:9.1f} us {count:4} x {text[:110]}\n")
            del work
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1))
    return 0


def _described(replay: Any) -> Any:
    """Describe each launch of our program: its kind, shape and the bytes it moves."""
    found: list[Any] = []
    memory = replay.memory
    found.append({"scratch_bytes": memory.scratch_bytes, "saved_bytes": memory.saved_bytes,
                  "lent": len(memory.lent)})  # fmt: skip
    for parts in replay.stretches:
        for part in parts:
            if part.native is None:
                found += [{"call": getattr(i, "name", type(i).__name__)} for i in part.instructions]
                continue
            for launch, kernel in zip(part.native.launches, part.native.kernels, strict=True):
                if launch.product is not None:
                    p = launch.product
                    found.append({"product": [list(p.left.shape), list(p.right.shape), str(p.output.dtype)],
                                  "adds": p.adds})  # fmt: skip
                else:
                    found.append({"kernel": kernel.kind, "shape": list(kernel.shape), "read": kernel.bytes_read,
                                  "written": kernel.bytes_written, "blocks": launch.kernel.blocks,
                                  "threads": launch.kernel.threads})  # fmt: skip
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
