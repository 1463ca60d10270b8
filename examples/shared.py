"""What the example programs share: their options, their progress bar and their data."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

DATA = Path(__file__).resolve().parent / "data"


def options(description: str | None, *, steps: int, every: int) -> argparse.ArgumentParser:
    """A parser with the options of every program; the first line of its docstring describes it."""
    name = Path(sys.argv[0]).name
    parser = argparse.ArgumentParser(
        description=(description or "").splitlines()[0],
        epilog=f"example:\n  python {name} --steps {steps // 2} --seed 1",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--steps", type=_count, default=steps, help=f"default: {steps}")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers; default: 0")
    parser.add_argument(
        "--every", type=_count, default=every, help=f"steps between losses; default: {every}"
    )
    return parser


def _count(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {value}")
    return value


def progress(first: int, last: int) -> Iterator[int]:
    """The steps `first` to `last`, with a progress bar on stderr if it is a terminal."""
    steps = range(first, last + 1)
    if not sys.stderr.isatty():
        return iter(steps)
    try:
        from tqdm import tqdm
    except ImportError:
        return _plain_bar(steps)
    return iter(tqdm(steps, leave=False))


def _plain_bar(steps: range, width: int = 30) -> Iterator[int]:
    started = drawn = time.perf_counter()
    for done, step in enumerate(steps):
        now = time.perf_counter()
        if done and now - drawn > 0.1:
            drawn = now
            part = done / len(steps)
            bar = ("#" * int(part * width)).ljust(width, ".")
            left = (now - started) / part * (1 - part)
            print(f"\r[{bar}] {done}/{len(steps)}, {left:.0f} s left ", end="", file=sys.stderr)
        yield step
    print("\r\033[K", end="", file=sys.stderr)


def report(step: int, **figures: float) -> None:
    """Print the figures of a step on a line of their own."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)  # where the bar was
    print(f"step {step:5d}  " + "  ".join(f"{k} {v:.6f}" for k, v in figures.items()), flush=True)


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """1,797 handwritten digits: images and labels to train on, then those to test on.

    Images are (n, 1, 8, 8), from 0 to 1. Their order is that of the data set.
    """
    with np.load(DATA / "digits.npz") as file:
        images = torch.from_numpy(file["images"]).float().unsqueeze(1) / 16
        labels = torch.from_numpy(file["labels"]).long()
    train = 1437
    return images[:train], labels[:train], images[train:], labels[train:]


def text() -> str:
    """The first two thirds of Shakespeare's Coriolanus."""
    return (DATA / "coriolanus.txt").read_text(encoding="utf-8")
