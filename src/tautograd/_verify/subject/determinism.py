"""Whether a computation can be checked by running it: does it give the same each time, and if not, why?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..report.report import Report
from .restore import STREAMS, streams, streams_moved
from .subject import Subject

_OUTSIDE = "python", "numpy"
"""Random streams that are not the engine's, and are therefore not put back from run to run."""


def behaviour(subject: Subject, report: Report) -> Any:
    """Run it three times and write down how it behaves; gives its values."""
    row = subject.row
    runs = [subject.values(row) for _ in range(3)]
    report.behaviour = {
        "deterministic": all(np.array_equal(runs[0], run, equal_nan=True) for run in runs[1:]),
        "random": subject.is_random,
        "moves_buffers": subject.moved_buffers,
        "modifies_inputs": subject.modifies_inputs,
    }
    if subject.refused:
        names = ", ".join(subject.refused)
        report.notes.append(f"By its own word it has no gradient with respect to {names}.")
    return runs[0]


def why_it_changes(subject: Subject) -> str:
    """Why it gives something else each time, in a sentence or two."""
    before = streams(subject.engine)
    subject.values(subject.row)
    drawn = [STREAMS[name] for name in streams_moved(subject.engine, before) if name in _OUTSIDE]
    if drawn:
        return (
            f"It draws from {' and '.join(drawn)}, so the same inputs give different results and its "
            "gradient cannot be checked by running it: draw from the engine's own generator, whose "
            "numbers are put back before each run."
        )
    return (
        "The same inputs give different results, although the engine's random numbers and the buffers "
        "were put back before each run: it keeps state of its own, or has a generator of its own. A "
        "gradient of it cannot be checked by running it."
    )
