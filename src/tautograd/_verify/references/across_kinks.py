"""Checks the gradient beside a kink: each number at a kink is moved off it, and the gradient compared
there.

At a kink any value between the two slopes is right. A rule that is wrong on a narrow strip beside it
would go unnoticed, because differences that reach across the kink see both slopes. So each number at a
kink is moved off it, by a thousandth to a billionth of its size to either side, and there the gradient
must be the slope of the piece it is on.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.compare import compare
from ..numerics.differences import directional
from ..numerics.evaluate import Values
from ..numerics.lines import Axes
from ..numerics.noise import EPSILON
from ..report.findings import Entry
from ..report.report import Check
from ..subject.subject import Subject
from .fast_mode import usual_sizes
from .first_order import Outcome, output_name

BESIDE = "beside the kinks"
_DISTANCES = 1e-3, 1e-5, 1e-7, 1e-9  # relative to a number's usual size
_STEPS = 1e3  # minimum distance, in units of the precision
_PLACES = 8  # how many numbers at kinks are moved
_SAMPLES = 8  # how many points beside several kinks at once
_OUTPUTS = 64  # up to this many, each is examined separately


@dataclass
class Aside:
    """The result beside the kinks: the check, and where to look if it is wrong."""

    check: Check
    subject: Subject | None = None
    entries: list[Entry] | None = None
    at_kinks: bool = False  # wrong at the kinks themselves


def beside_kinks(outcome: Outcome) -> Aside | None:
    """The gradient a little way off each kink; None where there is none."""
    kinks = outcome.compared.kink
    if not kinks.any() or kinks.shape[0] != outcome.subject.row.size:
        return None  # probes do not identify the number at a kink
    places = np.nonzero(kinks.any(axis=1))[0][:_PLACES]
    check = Check(BESIDE, "the gradient where the point is moved across each kink")
    aside = Aside(check)
    sizes = usual_sizes(outcome.subject)
    # Beside a staircase's steps nothing shows: a distance must span many of its steps.
    for distance in [d for d in _DISTANCES if d > _STEPS * outcome.subject.epsilon]:
        for sign in (1.0, -1.0):
            row = outcome.subject.row.copy()
            row[places] += sign * distance * sizes[places]
            found = _at(moved_to(outcome.subject, row), places, distance * sizes[places])
            if found is None:
                continue
            check.entries += found.count
            if found.entries:
                check.verdict = "wrong"
                check.error = abs(found.entries[0].got - found.entries[0].expected)
                check.tolerance = found.entries[0].error
                check.note = (
                    f"{distance:g} of its size beside the kink it is wrong: {found.entries[0]}"
                )
                aside.subject, aside.entries = found.subject, found.entries
                return aside
    _along_all(outcome, places, aside)
    return aside


def _along_all(outcome: Outcome, places: Any, aside: Aside) -> None:
    """Where numbers tie, each alone may get all of the gradient or none. But moved together they stay
    tied, and if every gradient beside the point agrees along that direction, the one at the point must
    agree, too.
    """
    subject = outcome.subject
    cotangents, claimed = outcome.backwards()
    random = np.random.default_rng(0)
    sizes = usual_sizes(subject)
    beside = []
    for _ in range(_SAMPLES):
        row = subject.row.copy()
        row[places] += 1e-6 * sizes[places] * random.normal(size=places.size)
        try:
            beside.append(subject.gradients(row, cotangents)[:, places].sum(axis=1))
        except Exception:  # it may be undefined there
            return
    found = np.array(beside)
    here = claimed[:, places].sum(axis=1)
    with np.errstate(all="ignore"):
        size = np.abs(claimed[:, places]).max(axis=1, initial=0.0) + np.abs(found).max(axis=0)
        agree = np.ptp(found, axis=0) <= 1e-4 * size
        wrong = agree & (np.abs(found.mean(axis=0) - here) > 1e-2 * size)
    if places.size < 2 or not wrong.any():
        return
    at = int(np.argmax(wrong))
    together = Entry(
        "all numbers at kinks together", (), float(found[:, at].mean()), float(here[at]),
        float(np.ptp(found[:, at])),
    )  # fmt: skip
    aside.check.verdict, aside.check.note = "wrong", f"along a way on which they stay: {together}"
    aside.check.error = abs(together.got - together.expected)
    aside.subject, aside.entries, aside.at_kinks = subject, [together], True


def moved_to(subject: Subject, row: Any) -> Subject:
    """The same computation, at other values of its leaves."""
    moved = copy.copy(subject)
    row.setflags(write=False)
    moved.__dict__["row"] = row
    moved.leaves = [
        replace(leaf, tensor=tensor)
        for leaf, tensor in zip(subject.leaves, subject.tensors_from(row), strict=True)
    ]
    return moved


@dataclass
class _Found:
    subject: Subject
    count: int
    entries: list[Entry]


def _at(subject: Subject, places: Any, distances: Any) -> _Found | None:
    """The derivatives by these numbers at the moved point, with steps that stay on one side of the kink."""
    try:
        values = Values(subject)
        weights = np.eye(subject.size)
        if subject.size > _OUTPUTS:
            weights = np.random.default_rng(0).choice([-1.0, 1.0], (4, subject.size))
        gradients = subject.gradients(subject.row, weights)
        claimed = gradients.T[places]
        found = directional(
            lambda points: values(points) @ weights.T,
            subject.row,
            _Short(places, distances),
            claimed=claimed,
            epsilon=max(EPSILON, subject.epsilon),
        )
    except Exception:  # it may be undefined there
        return None
    sizes = np.abs(gradients).max(initial=0.0)
    compared = compare(found, claimed, 16 * EPSILON * sizes, sizes)
    clear = compared.wrong & ~found.kink & (found.error < 0.2 * compared.gap)
    entries = []
    for i, output in np.argwhere(clear):
        leaf = subject.leaf_at(int(places[i]))
        at = leaf.index_of(int(places[i]))
        numbers = float(found.value[i, output]), float(claimed[i, output])
        named = output_name(subject, int(output)) if weights.shape[0] == subject.size else ""
        entries.append(Entry(leaf.name, at, *numbers, float(found.error[i, output]), named))
    return _Found(subject, int(claimed.size), entries)


class _Short(Axes):
    """Axes limited to the distance of the kink."""

    def __init__(self, places: Any, distances: Any) -> None:
        super().__init__(places)
        self.distances = distances

    def __getitem__(self, rows: Any) -> _Short:
        return _Short(self.places[rows], self.distances[rows])

    def reach(self, x: Any) -> Any:
        return 64.0 * self.distances  # a first step is about a thousandth of that
