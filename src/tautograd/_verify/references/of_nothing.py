"""Results without elements: their gradient is zero by every input that has some."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..report.report import Check


def gradient_of_nothing(subject: Any) -> Check:
    """Check what arrives at the leaves when nothing is sent."""
    check = Check("empty results", f"all {subject.numbers:,} entries of the gradient with zero")
    if not subject.numbers:
        return check
    (found,) = subject.gradients(None, [np.zeros(subject.size)])
    check.entries = found.size
    astray = ~(found == 0)  # NaN is not zero, either
    if astray.any():
        check.verdict = "wrong"
        first = int(np.argmax(astray))
        leaf = subject.leaf_at(first)
        check.error = float(np.abs(found[first]))
        check.worst = np.inf
        check.note = f"{leaf.name}[{first - leaf.start}]: expected 0, got {found[first]:g}"
    return check
