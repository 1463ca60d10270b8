"""The gradient in its own precision, against the same gradient in float64.

float32 code is verified in float64 first, where differences can resolve it. What remains is whether the
gradient computed in float32 (or less) is that gradient, rounded. The tolerance is measured: the float64
gradient is taken at inputs, and for incoming gradients, moved by one rounding of the lower precision,
which shows the effect of rounding on it; and every entry may be off by some roundings of the tensor's
largest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..numerics.compare import farthest_first
from ..numerics.noise import EPSILON, noise_level
from ..numerics.signs import sign_vectors
from ..report.findings import Entry
from ..report.report import Check
from ..subject.engines import as_reals
from ..subject.leaves import Leaf
from ..subject.lost_precision import Loss
from ..subject.subject import Subject

_ROUNDINGS = 16  # of the largest entry: sums and a few layers, each with its rounding
_MOVES = 4  # moves of the inputs, to measure the effect of rounding
_COTANGENTS = 4


def own_precision(
    low: Subject, double: Subject, seed: int, losses: Sequence[Loss] = ()
) -> tuple[Check, list[Entry]]:
    """Compare the gradients of a few random cotangents, leaf by leaf.

    `losses` are the places where it passes through a lower precision than its leaves have.
    """
    names = [_names(low), *(loss.dtype for loss in losses[:1])]
    dtype = ", ".join(name for name in dict.fromkeys(names) if name)
    check = Check(f"float64 gradient, for {dtype}", f"backward in {dtype} against float64")
    row, epsilon = low.row, max([low.epsilon, *(loss.epsilon for loss in losses)])
    if not _same_values(low, double, epsilon):
        check.verdict = "not applicable"
        check.note = "its values in float64 are others: random numbers, or a branch on the dtype"
        return check, []
    cotangents = sign_vectors(_COTANGENTS, low.size, seed)
    ours, theirs = low.gradients(row, cotangents), double.gradients(row, cotangents)
    random = np.random.default_rng(seed)
    spread = np.zeros_like(theirs)
    for _ in range(_MOVES):
        moved = row * (1 + epsilon * random.choice([-1.0, 1.0], row.shape))
        # What arrives is rounded along the way as well: if sums cancel, only that rounding is left.
        arriving = cotangents * (1 + epsilon * random.choice([-1.0, 1.0], cotangents.shape))
        with np.errstate(all="ignore"):
            spread = np.fmax(spread, np.abs(double.gradients(moved, arriving) - theirs))
    tolerance, unseen = np.zeros_like(theirs), ~np.isfinite(theirs)
    for leaf in low.leaves:
        part = slice(leaf.start, leaf.start + leaf.reals)
        info = _coarsest(low, leaf, losses)
        with np.errstate(all="ignore"):
            size = np.abs(np.where(unseen[:, part], 0.0, theirs[:, part]))
            largest = size.max(axis=1, initial=0.0, keepdims=True)
            reach = spread[:, part].max(axis=1, initial=0.0, keepdims=True)
            tolerance[:, part] = _ROUNDINGS * epsilon * largest + 4 * reach + 64 * float(info.tiny)
            unseen[:, part] |= size > float(info.max)
    with np.errstate(all="ignore"):
        gap = np.where(unseen, 0.0, np.abs(ours - theirs))
    if not np.all(gap <= tolerance):
        tolerance = tolerance + _gap_noise(low, double, cotangents, seed)
    bad = ~(gap <= tolerance)
    check.entries = int(gap.size)
    check.measure(gap, tolerance, wrong=bad)
    entries = []
    for probe, place in np.argwhere(bad)[farthest_first(gap[bad])]:
        leaf = low.leaf_at(int(place))
        values = float(theirs[probe, place]), float(ours[probe, place])
        index = leaf.index_of(int(place))
        entries.append(Entry(leaf.name, index, *values, float(tolerance[probe, place])))
    check.verdict = "wrong" if entries else "agrees"
    return check, entries


def _coarsest(low: Subject, leaf: Leaf, losses: Sequence[Loss]) -> Any:
    """The range of numbers along the way from a leaf: that of the narrowest dtype."""
    dtypes = [leaf.tensor.dtype, *(getattr(low.engine, loss.dtype) for loss in losses)]
    return max((low.engine.finfo(dtype) for dtype in dtypes), key=lambda info: float(info.tiny))


def _same_values(low: Subject, double: Subject, epsilon: float) -> bool:
    """Whether both precisions compute the same thing, up to a few hundred roundings."""
    ours, theirs = low.values(low.row), double.values(low.row)
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(theirs), theirs, 0.0)).max(initial=0.0)
        seen = np.isfinite(ours) & np.isfinite(theirs)
        gap = np.abs(ours - theirs)[seen]
    return bool(np.all(gap <= 256 * epsilon * size))


def _gap_noise(low: Subject, double: Subject, cotangents: Any, seed: int) -> Any:
    """How much of the gap between the two gradients varies erratically from point to point, as rounding
    does: a sum that cancels leaves nothing else."""
    shape = len(cotangents), low.row.size

    def gap(points: Any) -> Any:
        found = []
        for point in points:
            exact = np.concatenate([as_reals(t) for t in low.tensors_from(point)])
            ours = _or_nan(low, exact, cotangents, shape)
            found.append((ours - _or_nan(double, exact, cotangents, shape)).reshape(-1))
        return np.array(found)

    return 8 * noise_level(gap, low.row, seed, epsilon=low.epsilon).reshape(shape)


def _names(subject: Subject) -> str:
    names = dict.fromkeys(str(leaf.tensor.dtype).rpartition(".")[2] for leaf in subject.leaves)
    return ", ".join(name for name in names if name not in ("float64", "complex128"))


def gradient_noise(subject: Subject, cotangents: Any, seed: int, *, calm: bool = False) -> Any:
    """How far rounding may have moved the gradients: their own noise, measured like a function's.

    If the function is `calm`, with no noise beyond its last digits, only noise of its own precision
    counts: a backward that computes in a lower one varies erratically as well, but without the
    function's excuse.
    """
    shape = len(cotangents), subject.row.size

    def gradients(points: Any) -> Any:
        return np.array([_or_nan(subject, p, cotangents, shape).reshape(-1) for p in points])

    epsilon = max(EPSILON, subject.epsilon)
    noise = noise_level(gradients, subject.row, seed, epsilon=epsilon, coarse=not calm)
    return 32 * noise.reshape(shape)  # rounding may be biased, and so several times larger


def is_calm(noise: Any, here: Any, epsilon: float) -> bool:
    """Whether a function's noise is no more than rounding of its last digits."""
    with np.errstate(all="ignore"):
        return bool(np.all(noise <= 64 * max(EPSILON, epsilon) * np.abs(here).max(initial=0.0)))


def _or_nan(subject: Subject, row: Any, cotangents: Any, shape: tuple[int, int]) -> Any:
    try:
        return subject.gradients(row, cotangents)
    except Exception:  # beside the point the function may be undefined
        return np.full(shape, np.nan)
