"""The gradient in its own precision, against the same gradient in float64.

float32 code is proved in float64 first, where differences can see. What remains is whether the
gradient computed in float32 (or less) is that gradient rounded. How much it may be off is measured:
the float64 gradient is taken at inputs moved by one rounding of the lower precision, which shows
what rounding does to it, and every entry may be off by some roundings of the tensor's largest one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .findings import Entry
from .noise import EPSILON, noise_level
from .probes import sign_vectors
from .report import Check
from .subject import Subject

_ROUNDINGS = 16  # of the largest entry: sums and a few layers, each rounded
_MOVES = 4  # of the inputs, by which the effect of rounding is measured
_COTANGENTS = 4


def own_precision(low: Subject, double: Subject, seed: int) -> tuple[Check, list[Entry]]:
    """Compare the gradients of a few random cotangents, leaf by leaf."""
    dtype = _names(low)
    check = Check(f"float64 gradient, for {dtype}", f"backward in {dtype} against float64")
    row = low.row
    cotangents = sign_vectors(_COTANGENTS, low.size, seed)
    ours = low.gradients(row, cotangents)
    theirs = double.gradients(row, cotangents)
    epsilon = low.epsilon
    random = np.random.default_rng(seed)
    spread = np.zeros_like(theirs)
    for _ in range(_MOVES):
        moved = row * (1 + epsilon * random.choice([-1.0, 1.0], row.shape))
        with np.errstate(all="ignore"):
            spread = np.fmax(spread, np.abs(double.gradients(moved, cotangents) - theirs))
    entries: list[Entry] = []
    for leaf in low.leaves:
        part = slice(leaf.start, leaf.start + leaf.reals)
        if not leaf.reals:
            continue
        info = low.engine.finfo(leaf.tensor.dtype)
        with np.errstate(all="ignore"):
            largest = np.nanmax(np.abs(theirs[:, part]), axis=1, keepdims=True)
            tolerance = (
                _ROUNDINGS * epsilon * largest
                + 4 * spread[:, part].max(axis=1, keepdims=True)
                + 64 * float(info.tiny)
            )
            gap = np.abs(ours[:, part] - theirs[:, part])
            unseen = ~np.isfinite(theirs[:, part]) | (np.abs(theirs[:, part]) > float(info.max))
            bad = ~(gap <= tolerance) & ~unseen
            ratio = np.where(gap > 0, gap / tolerance, 0.0)
        check.entries += int(gap.size)
        seen = np.where(unseen, 0.0, np.nan_to_num(ratio, nan=np.inf))
        at = np.unravel_index(int(seen.argmax()), seen.shape)
        if seen[at] > check.worst:
            check.worst, check.error = float(seen[at]), float(gap[at])
            check.tolerance = float(np.broadcast_to(tolerance, gap.shape)[at])
        for probe, place in zip(*np.nonzero(bad), strict=True):
            index = leaf.index_of(leaf.start + int(place))
            expected, got = theirs[probe, part][place], ours[probe, part][place]
            allowed = float(np.broadcast_to(tolerance, gap.shape)[probe, place])
            entries.append(Entry(leaf.name, index, float(expected), float(got), allowed))
    check.verdict = "wrong" if entries else "agrees"
    return check, entries


def _names(subject: Subject) -> str:
    names = dict.fromkeys(str(leaf.tensor.dtype).rpartition(".")[2] for leaf in subject.leaves)
    return ", ".join(name for name in names if name not in ("float64", "complex128"))


def gradient_noise(subject: Subject, cotangents: Any, seed: int) -> Any:
    """How far rounding may have moved the gradients: their own noise, measured as a function's."""
    shape = len(cotangents), subject.row.size

    def gradients(points: Any) -> Any:
        return np.array([_or_nan(subject, p, cotangents, shape).reshape(-1) for p in points])

    noise = noise_level(gradients, subject.row, seed, epsilon=max(EPSILON, subject.epsilon))
    return 32 * noise.reshape(shape)  # rounding need not be random: a bias may be some times larger


def _or_nan(subject: Subject, row: Any, cotangents: Any, shape: tuple[int, int]) -> Any:
    try:
        return subject.gradients(row, cotangents)
    except Exception:  # beside the point the function may not be defined
        return np.full(shape, np.nan)
