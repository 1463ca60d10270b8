"""Whether a computation can be checked by running it: does it give the same each time, and if not, why?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..report.report import Report
from .restore import STREAMS
from .subject import Subject


def behaviour(subject: Subject, report: Report) -> Any:
    """Run it three times and write down how it behaves; gives its values."""
    row = subject.row
    runs = [subject.values(row) for _ in range(3)]
    report.behaviour = {
        "deterministic": all(np.array_equal(runs[0], run, equal_nan=True) for run in runs[1:]),
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
    return runs[0]


def why_it_changes(subject: Subject) -> str:
    """Why it gives something else each time, in a sentence or two."""
    return (
        "The same inputs give different results, although random numbers and buffers "
        "were put back before each run: it keeps state of its own, or has a generator of its own. A "
        "gradient of it cannot be checked by running it."
    )
