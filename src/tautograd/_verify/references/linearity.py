"""Checks that backward is linear in the incoming gradient: twice as much in, twice as much out.

A rule that clips, normalises or thresholds the incoming gradient can be right for the gradients that a
check happens to send and wrong for those of training; its nonlinearity gives it away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.noise import EPSILON
from ..numerics.signs import sign_vectors
from ..report.report import Check
from ..subject.subject import Subject
from .fast_mode import usual_sizes

_SIZES = np.array([1e-3, 1.0, 1e3])
_UNITS = "error and allowed are parts of the largest gradient"


def linear_backward(
    subject: Subject,
    cotangents: Any,
    gradients: Any,
    seed: int,
    recorded: Any = None,
    here: Any = None,
) -> tuple[Check, Any]:
    """Whether random combinations of cotangents give the same combinations of their gradients.

    Error and tolerance are relative to the largest gradient of the same run: with incoming gradients a
    million times apart, absolute differences would not be comparable. Also returns the first
    cotangent that fails, so that the rule can be found with it.
    """
    check = Check("linearity", "backward of sums and multiples of what arrives", note=_UNITS)
    if not len(cotangents) or not gradients.size:
        return check, None
    # A single cotangent has only multiples, and one of them is enough.
    sizes = _SIZES if len(cotangents) > 1 else _SIZES[_SIZES != 1.0]
    combined = sizes[:, None] * sign_vectors(len(sizes), len(cotangents), seed + 3)
    tensors, outputs = recorded or subject.recorded(subject.row)
    sent = combined @ cotangents
    arrived = subject.pull_back(tensors, outputs, sent)
    with np.errstate(all="ignore"):
        gaps = np.abs(arrived - combined @ gradients)
        gaps = np.where(np.isfinite(gaps), gaps, 0.0)
        reach = np.abs(combined) @ np.abs(gradients)
        reach = np.where(np.isfinite(reach), reach, 0.0)
        allowed = _allowed(subject, reach)
        if here is not None:  # vanishing gradients are the residue of terms of this size
            values = np.abs(sent) @ np.abs(np.where(np.isfinite(here), here, 0.0))
            rounding = 64 * max(EPSILON, subject.epsilon)
            allowed = allowed + rounding * values[:, None] / usual_sizes(subject)
    wrong = ((gaps > 0) & ~(gaps <= allowed)).any(axis=1)
    scales = reach.max(axis=1, initial=0.0, keepdims=True)
    scales[scales == 0] = 1.0
    check.entries = int(gaps.size)
    check.measure(gaps / scales, allowed / scales)
    if not wrong.any():
        return check, None
    first = int(wrong.argmax())
    check.verdict = "wrong"
    check.note = (
        f"for arriving gradients of size {sizes[first]:g} it gives something else; {_UNITS}"
    )
    return check, sent[first]


def _allowed(subject: Subject, reach: Any) -> Any:
    """A bound on rounding, including sums that cancel; a nonlinear rule is off by far more."""
    rounding = 64 * max(EPSILON, subject.epsilon)
    everywhere = max(1e-6, rounding) * reach.max(axis=1, initial=0.0, keepdims=True)
    allowed = np.empty_like(reach)
    for leaf in subject.leaves:
        part = slice(leaf.start, leaf.start + leaf.reals)
        largest = reach[:, part].max(axis=1, initial=0.0, keepdims=True)
        allowed[:, part] = max(1e-4, rounding) * largest + everywhere
    return allowed
