"""`python -m bench.compiled_layers`: layers one by one, a compiled step against our own eager mode.

A compiled program must not be slower than the eager function, on any operation that eager mode has a kernel
for. Each step is forward, backward of a sum, and gradients set to None; it is recorded whatever that costs
(`dynamic=False`), so that no cost accounting hides a loss. Both take turns in one process, many short ones, and the
shortest time of each counts.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from bench import environment

_CPU = sys.argv[sys.argv.index("--cpu") + 1] if "--cpu" in sys.argv else "this"
environment.set_up(_CPU)  # before an engine reads it
import tautograd as torch  # noqa: E402

BOUND = 1.05
TURNS = 150
TURN_SECONDS = 0.0005  # short: of many, some are undisturbed
LONGEST = 1.5  # seconds for all turns
nn, F = torch.nn, torch.nn.functional


def _layer(make: Callable[[], Any], *shape: int) -> Callable[[], Any]:
    """A step through a module, for an input of one shape."""

    def step() -> Any:
        torch.manual_seed(0)
        module, x = make(), torch.randn(*shape, requires_grad=True)
        leaves = [x, *module.parameters()]

        def run() -> Any:
            for leaf in leaves:
                leaf.grad = None
            y = module(x)
            loss = (y[0] if isinstance(y, tuple) else y).sum()
            loss.backward()
            return loss

        return run

    return step


def _function(call: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], Any]:
    class Calls(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.others = nn.ParameterList([torch.randn(*shape) for shape in shapes[1:]])

        def forward(self, x: Any) -> Any:
            return call(x, *self.others)

    return _layer(Calls, *shapes[0])


LAYERS: dict[str, Callable[[], Any]] = {
    "Conv2d 3→8 3×3, 8×8, batch 1": _layer(lambda: nn.Conv2d(3, 8, 3, padding=1), 1, 3, 8, 8),
    "Conv2d 3→8 3×3, 16×16, batch 4": _layer(lambda: nn.Conv2d(3, 8, 3, padding=1), 4, 3, 16, 16),
    "Conv2d 16→16 3×3, 32×32, batch 16": _layer(
        lambda: nn.Conv2d(16, 16, 3, padding=1), 16, 16, 32, 32
    ),
    "Conv2d 32→64 3×3, 26×26, batch 64": _layer(lambda: nn.Conv2d(32, 64, 3), 64, 32, 26, 26),
    "Conv2d 64→128 3×3 step 2, 16×16, batch 16": _layer(
        lambda: nn.Conv2d(64, 128, 3, stride=2, padding=1), 16, 64, 16, 16
    ),
    "Conv2d 3→32 7×7 step 2, 64×64, batch 8": _layer(
        lambda: nn.Conv2d(3, 32, 7, stride=2, padding=3), 8, 3, 64, 64
    ),
    "Conv2d 64→64 1×1, 28×28, batch 16": _layer(lambda: nn.Conv2d(64, 64, 1), 16, 64, 28, 28),
    "Conv2d 8→8 1×1, 8×8, batch 4": _layer(lambda: nn.Conv2d(8, 8, 1), 4, 8, 8, 8),
    "Conv2d 256→256 3×3, 4×4, batch 32": _layer(
        lambda: nn.Conv2d(256, 256, 3, padding=1), 32, 256, 4, 4
    ),
    "Conv2d 64 depthwise 3×3, 28×28, batch 16": _layer(
        lambda: nn.Conv2d(64, 64, 3, padding=1, groups=64), 16, 64, 28, 28
    ),
    "Conv2d 16→16 3×3 dilated, 32×32, batch 8": _layer(
        lambda: nn.Conv2d(16, 16, 3, padding=2, dilation=2), 8, 16, 32, 32
    ),
    "Conv1d 8→32 5, 256, batch 32": _layer(lambda: nn.Conv1d(8, 32, 5, padding=2), 32, 8, 256),
    "Conv1d 4→4 3, 16, batch 2": _layer(lambda: nn.Conv1d(4, 4, 3), 2, 4, 16),
    "Conv3d 4→8 3, 12³, batch 4": _layer(lambda: nn.Conv3d(4, 8, 3), 4, 4, 12, 12, 12),
    "ConvTranspose2d 32→16 4×4 step 2, 14×14, batch 8": _layer(
        lambda: nn.ConvTranspose2d(32, 16, 4, 2, 1), 8, 32, 14, 14
    ),
    "BatchNorm1d 64, batch 256": _layer(lambda: nn.BatchNorm1d(64), 256, 64),
    "BatchNorm2d 16, 32×32, batch 16": _layer(lambda: nn.BatchNorm2d(16), 16, 16, 32, 32),
    "BatchNorm2d 8, 8×8, batch 4": _layer(lambda: nn.BatchNorm2d(8), 4, 8, 8, 8),
    "LayerNorm 128, 12×64": _layer(lambda: nn.LayerNorm(128), 12, 64, 128),
    "LayerNorm 768, 256": _layer(lambda: nn.LayerNorm(768), 256, 768),
    "GroupNorm 4 of 32, 14×14, batch 8": _layer(lambda: nn.GroupNorm(4, 32), 8, 32, 14, 14),
    "MaxPool2d 2, 64 planes 24×24, batch 64": _layer(lambda: nn.MaxPool2d(2), 64, 64, 24, 24),
    "MaxPool2d 3 step 2, 16 planes 32×32, batch 8": _layer(
        lambda: nn.MaxPool2d(3, 2, 1), 8, 16, 32, 32
    ),
    "MaxPool2d 2, 8 planes 8×8, batch 2": _layer(lambda: nn.MaxPool2d(2), 2, 8, 8, 8),
    "MaxPool1d 2, 32 lines 256, batch 32": _layer(lambda: nn.MaxPool1d(2), 32, 32, 256),
    "AvgPool2d 2, 32 planes 28×28, batch 16": _layer(lambda: nn.AvgPool2d(2), 16, 32, 28, 28),
    "AdaptiveAvgPool2d 1, 64 planes 28×28, batch 16": _layer(
        lambda: nn.AdaptiveAvgPool2d(1), 16, 64, 28, 28
    ),
    "LSTM 32→64, 50 steps, batch 32": _layer(lambda: nn.LSTM(32, 64), 50, 32, 32),
    "LSTM 16→16, 10 steps, batch 4": _layer(lambda: nn.LSTM(16, 16), 10, 4, 16),
    "LSTM 128→256, 20 steps, batch 16": _layer(lambda: nn.LSTM(128, 256), 20, 16, 128),
    "GRU 32→64, 50 steps, batch 32": _layer(lambda: nn.GRU(32, 64), 50, 32, 32),
    "GRU 16→16, 20 steps, batch 16": _layer(lambda: nn.GRU(16, 16), 20, 16, 16),
    "GRU 128→256, 20 steps, batch 16": _layer(lambda: nn.GRU(128, 256), 20, 16, 128),
    "RNN 32→64, 50 steps, batch 32": _layer(lambda: nn.RNN(32, 64), 50, 32, 32),
    "Linear 64→64, batch 32": _layer(lambda: nn.Linear(64, 64), 32, 64),
    "Linear 512→512, batch 128": _layer(lambda: nn.Linear(512, 512), 128, 512),
    "Linear 1024→1024, batch 256": _layer(lambda: nn.Linear(1024, 1024), 256, 1024),
    "bmm 32 of 64×64": _function(torch.bmm, (32, 64, 64), (32, 64, 64)),
    "softmax 768×64": _function(lambda x: torch.softmax(x, -1) ** 2, (768, 64)),
    "softmax 64×4096": _function(lambda x: torch.softmax(x, -1) ** 2, (64, 4096)),
    "log_softmax 64×1000": _function(lambda x: torch.log_softmax(x, -1) ** 2, (64, 1000)),
    "gelu 256×512": _function(F.gelu, (256, 512)),
    "tanh 256×512": _function(torch.tanh, (256, 512)),
    "sigmoid 32×32": _function(torch.sigmoid, (32, 32)),
    "exp 1024×1024": _function(torch.exp, (1024, 1024)),
    "relu 1024×1024": _function(torch.relu, (1024, 1024)),
    "dropout 512×512": _function(lambda x: F.dropout(x, 0.1), (512, 512)),
    "attention 8×4 heads, 64×32": _function(
        F.scaled_dot_product_attention, (8, 4, 64, 32), (8, 4, 64, 32), (8, 4, 64, 32)
    ),
    "mean 512×512": _function(lambda x: x.mean(0) ** 2, (512, 512)),
    "cumsum 256×256": _function(lambda x: torch.cumsum(x, 1), (256, 256)),
    "sort 256×256": _function(lambda x: torch.sort(x, 1)[0], (256, 256)),
    "index_select 1000×64, 256": _function(
        lambda x: x.index_select(0, torch.arange(0, 1000, 4)), (1000, 64)
    ),
    "matmul 96×96": _function(torch.mm, (96, 96), (96, 96)),
}


def _count(step: Callable[[], Any]) -> int:
    began = time.perf_counter()
    step()
    return max(1, int(TURN_SECONDS / max(time.perf_counter() - began, 1e-6)))


def _seconds(step: Callable[[], Any], count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - began) / count


def compared(make: Callable[[], Any]) -> tuple[float, float]:
    """The shortest time of a step, eager and compiled, in seconds."""
    steps = make(), torch.compile(make(), dynamic=False)
    for _ in range(6):
        for step in steps:
            step()
    counts = [_count(step) for step in steps]
    least = [float("inf"), float("inf")]
    began = time.perf_counter()
    for turn in range(TURNS):
        if turn >= 8 and time.perf_counter() - began > LONGEST:
            break
        for i, step in enumerate(steps):
            least[i] = min(least[i], _seconds(step, counts[i]))
    return least[0], least[1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compiled_layers", description=__doc__)
    parser.add_argument("--only", default="", help="layers whose name contains one of these words")
    parser.add_argument("--cpu", choices=environment.CPUS, default="this")
    options = parser.parse_args()
    words = [word for word in options.only.split(",") if word]
    lost = 0
    for name, make in LAYERS.items():
        if words and not any(word in name for word in words):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain, compiled = compared(make)
        ratio = compiled / plain
        lost += ratio > BOUND
        mark = "  slower" if ratio > BOUND else ""
        print(
            f"{name:52} {plain * 1e6:10.1f} µs {compiled * 1e6:10.1f} µs {ratio:7.3f}{mark}",
            flush=True,
        )
    print(f"slower than as written by more than {BOUND - 1:.0%}: {lost}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
