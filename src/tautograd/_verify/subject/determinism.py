"""Whether a computation can be checked by running it: is it deterministic, and if not, why?

An earlier call may affect a later one in three ways: the same inputs give another result; other inputs
give another result than they would have at first (a cached value was not invalidated); or a value
cached earlier is what would be computed now, but does not follow changed inputs either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..report.report import Report
from .caches import empty_caches
from .restore import STREAMS
from .subject import Subject

_BESIDE = 2.0**-7  # relative to each number's size: how far away other inputs are
_SMALL = 1 << 16  # numbers: the graph of a larger computation is not kept


def behaviour(subject: Subject, report: Report, once: Any) -> tuple[Any, Any]:
    """Compare three runs and record how it behaves; returns its values, and a recorded run if it is
    small.

    `once` are the values of the second run; the first run's are the subject's own.
    """
    first = subject.flat_outputs([out for _, out in subject.outputs])
    recorded = subject.recorded()
    runs = [first, once, subject.flat_outputs(recorded[1])]
    if not _alike(runs):
        subject.start_each_alike()
        runs = [subject.values() for _ in range(3)]
        if _alike(runs):
            report.notes.append(
                "It keeps state from call to call; each run starts from the state it was given in."
            )
    elif subject.leaves_something and _shows_at_other_inputs(subject):
        subject.start_each_alike()
        report.notes.append(
            "It keeps a value of its first call that later calls use; each run starts from the state it was given in."
        )
    elif emptied := empty_caches(subject, runs[0], lambda: _values(subject, _beside(subject.row))):
        subject.start_each_alike()
        report.notes.append(
            f"It uses what an earlier call kept ({', '.join(emptied)}), which is what it would compute now; "
            "each run computes it anew."
        )
    report.behaviour = {
        "deterministic": _alike(runs),
        "random": subject.is_random or bool(subject.drawn_elsewhere),
        "moves_buffers": subject.moved_buffers,
        "modifies_inputs": subject.modifies_inputs,
    }
    if subject.drawn_elsewhere:
        names = " and ".join(STREAMS[name] for name in subject.drawn_elsewhere)
        report.notes.append(f"It draws from {names}; each run gets the same numbers.")
    if subject.refused:
        names = ", ".join(subject.refused)
        report.notes.append(f"By its own word it has no gradient with respect to {names}.")
    if subject.without_gradient:
        names = ", ".join(subject.without_gradient)
        report.notes.append(f"Not compared, for it does not require a gradient: {names}.")
    lasting = subject.numbers <= _SMALL and not subject.leaves_something
    return runs[0], recorded if lasting else None


def _shows_at_other_inputs(subject: Subject) -> bool:
    """Whether other inputs give another result after the call at these than they would at first."""
    elsewhere = _beside(subject.row)
    after = _values(subject, elsewhere)
    if after is None:
        return False
    subject.held_at_first.restore()
    at_first = _values(subject, elsewhere)
    return at_first is not None and not _alike([after, at_first])


def _beside(row: Any) -> Any:
    signs = np.random.default_rng(0).choice([-1.0, 1.0], row.size)
    return row + _BESIDE * signs * np.where(row == 0, 1.0, np.abs(row))


def _values(subject: Subject, row: Any) -> Any:
    try:
        return subject.values(row)
    except Exception:  # it may be undefined there
        return None


def _alike(runs: list[Any]) -> bool:
    return all(np.array_equal(runs[0], run, equal_nan=True) for run in runs[1:])


def why_it_changes(subject: Subject) -> str:
    """Why its result changes each time, in a sentence or two."""
    return (
        "The same inputs give different results, although random numbers and buffers "
        "were put back before each run: it keeps state of its own, or has a generator of its own. A "
        "gradient of it cannot be checked by running it."
    )
