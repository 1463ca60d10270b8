"""How the time of a training step grows with context length, batch and width, compared with PyTorch.

    python tools/gpu/lengths.py --json lengths.json --plot lengths.svg

A GPT of two layers in bfloat16, run eagerly on both engines, which take turns. The exponent is the
slope of time against size in logarithms over the upper half of the sizes, where launches no longer
matter.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

_USUAL = {"layers": 2, "width": 512, "heads": 8, "tokens": 1024, "batch": 1, "words": 512}
SWEEPS: dict[str, list[int]] = {
    "tokens": [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768],
    "batch": [1, 2, 4, 8, 16, 32, 64],
    "width": [256, 512, 1024, 2048, 4096],
}
_BESIDES = {"width": {"batch": 8}}


def measured(name: str, size: int, seconds: float) -> list[float]:
    """Milliseconds per step, ours and PyTorch's."""
    import torch

    import tautograd
    from bench import gpu_models

    sizes = {**_USUAL, **_BESIDES.get(name, {}), name: size}
    row = gpu_models.Row(f"{name} {size}", gpu_models._gpt, sizes, True)
    engines = (tautograd, torch)
    works = [gpu_models.prepared(row, engine, True)[0] for engine in engines]
    times = gpu_models.milliseconds(works, [e.cuda.synchronize for e in engines], seconds)
    del works
    for engine in engines:
        gpu_models._freed(engine)
    return times


def exponent(sizes: list[int], times: list[float]) -> float:
    """The slope over the upper half of the sizes, by least squares in logarithms."""
    pairs = [(math.log(s), math.log(t)) for s, t in zip(sizes, times, strict=True)]
    pairs = pairs[len(pairs) // 2 :]
    x, y = (sum(p[i] for p in pairs) / len(pairs) for i in range(2))
    return sum((a - x) * (b - y) for a, b in pairs) / sum((a - x) ** 2 for a, b in pairs)


def plot(found: dict[str, Any]) -> str:
    """The sweeps side by side, on logarithmic axes."""
    wide, high, parts = 300, 240, []
    for at, (name, sweep) in enumerate(found.items()):
        sizes, left = sweep["sizes"], 50 + at * (wide + 60)
        every = [t for pair in sweep["ms"] for t in pair]
        low, top = math.log10(min(every)) - 0.1, math.log10(max(every)) + 0.1
        first, last = math.log2(sizes[0]), math.log2(sizes[-1])

        def place(size: float, time: float, left: int = left, low: float = low, top: float = top,
                  first: float = first, last: float = last) -> str:  # fmt: skip
            x = left + (math.log2(size) - first) / (last - first) * wide
            y = 30 + high - (math.log10(time) - low) / (top - low) * high
            return f"{x:.1f},{y:.1f}"

        parts.append(f'<rect x="{left}" y="30" width="{wide}" height="{high}" class="frame"/>')
        parts.append(f'<text x="{left}" y="20">milliseconds against {name}</text>')
        for size in (sizes[0], sizes[len(sizes) // 2], sizes[-1]):
            x, _ = place(size, 10**low).split(",")
            parts.append(f'<text x="{x}" y="{high + 48}" text-anchor="middle">{size:,}</text>')
        for time in (min(every), max(every)):
            _, y = place(sizes[0], time).split(",")
            parts.append(f'<text x="{left - 6}" y="{y}" text-anchor="end">{time:.3g}</text>')
        for i, kind in enumerate(("ours", "theirs")):
            points = " ".join(place(s, pair[i]) for s, pair in zip(sizes, sweep["ms"], strict=True))
            parts.append(f'<polyline points="{points}" class="{kind}"/>')
    width = len(found) * (wide + 60) + 30
    parts.append(
        f'<text x="50" y="{high + 72}" fill="#1668c9">tautograd</text>'
        f'<text x="130" y="{high + 72}" fill="#c2500b">PyTorch (dashed)</text>'
    )
    style = (
        "text{font:12px sans-serif;fill:#666}polyline{fill:none;stroke-width:2}.frame{fill:none;stroke:#999}"
        ".ours{stroke:#1668c9}.theirs{stroke:#c2500b;stroke-dasharray:5 4}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{high + 90}">'
        f"<style>{style}</style>{''.join(parts)}</svg>\n"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Time of a step against its sizes.")
    parser.add_argument("--seconds", type=float, default=0.4, help="per figure; default: 0.4")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--plot", help="write a plot to this file, as SVG")
    given = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    for name, sizes in SWEEPS.items():
        times = [measured(name, size, given.seconds) for size in sizes]
        slopes = [exponent(sizes, [pair[i] for pair in times]) for i in range(2)]
        found[name] = {"sizes": sizes, "ms": times, "exponents": slopes}
        sys.stdout.write(f"{name}: exponents {slopes[0]:.2f} and PyTorch's {slopes[1]:.2f}\n")
        for size, (ours, theirs) in zip(sizes, times, strict=True):
            sys.stdout.write(f"  {size:7,} {ours:9.2f} {theirs:9.2f} ms = {ours / theirs:.2f}\n")
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1))
    if given.plot:
        Path(given.plot).write_text(plot(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
