"""The memory of a compiled step: parameters and state, gradients, scratch, what calls and graphs hold.

    python tools/gpu/step_memory.py gpt-bf16 lstm      # megabytes, and what is alive at peak scratch

`live` is the peak of memory in use: no plan needs less.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]


def parts_of(replay: Any) -> dict[str, float]:
    """Megabytes of a program's GPU memory, by purpose."""
    from tautograd.cuda import memory

    program, found = replay.program, defaultdict(float)
    for buffer in program.buffers:
        if buffer.number not in replay.memory.left:
            found[buffer.kind.value] += buffer.nbytes
    found["scratch"] = replay.memory.scratch_bytes
    found["saved"] = replay.memory.saved_bytes
    for name in ("_own", "_partial", "_tickets"):
        found[name.strip("_")] = int(getattr(replay, name).nbytes)
    found["graphs"] = memory._held_by_graphs()
    found["all"] = memory._used()
    return {name: size / 1e6 for name, size in found.items()}


def fullest(replay: Any) -> tuple[float, list[str]]:
    """The peak scratch bytes in use at one step, and the buffers alive then, the largest first."""
    from tautograd._compile.program.memory_planning import times_of
    from tautograd._compile.run.replay import _touched
    from tautograd._user_code.sites import resolve

    program, memory = replay.program, replay.memory
    uses = list(_touched(replay.stretches))
    times = times_of(program, uses, memory.elsewhere, memory.left)
    total = [0] * len(uses)
    for number, spans in times.items():
        for first, last in spans:
            for i in range(first, last + 1):
                total[i] += program.buffers[number].nbytes
    if not total:
        return 0.0, []
    at = max(range(len(total)), key=total.__getitem__)
    sites: dict[int, Any] = {}
    forms: dict[int, Any] = {}
    for instruction, site in zip(program.instructions, program.sites, strict=True):
        for view in instruction.writes():
            sites.setdefault(view.buffer, site)
            forms.setdefault(view.buffer, (instruction, view))
    alive = [n for n, spans in times.items() if any(a <= at <= b for a, b in spans)]
    lines = [f"fullest at step {at} of {len(total)}"]
    for number in sorted(alive, key=lambda n: -program.buffers[n].nbytes):
        instruction, view = forms.get(number, (None, None))
        what = getattr(instruction, "name", None) or getattr(instruction, "function", "")
        form = f"{view.dtype} {list(view.shape)}" if view is not None else ""
        where = resolve(sites[number]) if number in sites else ""
        kind = type(instruction).__name__
        lines.append(
            f"{program.buffers[number].nbytes / 1e6:9.2f} MB {form:32} {kind} {what} {times[number]} {where or ''}"
        )
    return total[at] / 1e6, lines


def main(arguments: list[str]) -> int:
    from bench import gpu_models

    parser = argparse.ArgumentParser(description="The memory of compiled steps, by what it is for.")
    parser.add_argument("rows", nargs="+", choices=[*gpu_models.ROWS])
    parser.add_argument("--most", type=int, default=30, help="buffers to print; default: 30")
    given = parser.parse_args(arguments)
    import tautograd

    for name in given.rows:
        before = tautograd.cuda.memory_allocated() / 1e6
        work = gpu_models.ours_whole(gpu_models.ROWS[name], tautograd)
        replay = work._last.replay_of
        found = parts_of(replay)
        live, lines = fullest(replay)
        figures = " ".join(f"{part} {size:.1f}" for part, size in found.items() if size >= 0.05)
        sys.stdout.write(f"{name}: before {before:.1f} live {live:.1f} {figures}\n")
        for line in lines[: given.most]:
            sys.stdout.write(f"  {line}\n")
        del work, replay
        gc.collect()
        tautograd.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
