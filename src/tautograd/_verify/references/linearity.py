"""Backward is linear in the gradient that arrives: twice as much in, twice as much out.

A rule that clips, normalises or thresholds what arrives can be right for the gradients that a check
happens to send and wrong for those of training; it shows by not being linear.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.noise import EPSILON
from ..report.report import Check
from ..subject.subject import Subject
from .fast_mode import sign_vectors

_SIZES = 1e-3, 1.0, 1e3
_UNITS = "error and allowed are parts of the largest gradient"


def _allowed(subject: Subject, reach: Any) -> Any:
    """What rounding, of sums that cancel too, cannot exceed; what is not linear is off by far more."""
    reach = np.where(np.isfinite(reach), reach, 0.0)
    rounding = 64 * max(EPSILON, subject.epsilon)
    everywhere = max(1e-6, rounding) * reach.max(initial=0.0)
    allowed = np.zeros_like(reach)
    for leaf in subject.leaves:
        part = slice(leaf.start, leaf.start + leaf.reals)
        allowed[part] = max(1e-4, rounding) * reach[part].max(initial=0.0) + everywhere
    return allowed


def linear_backward(
    subject: Subject, cotangents: Any, gradients: Any, seed: int, recorded: Any = None
) -> tuple[Check, Any]:
    """Whether random combinations of cotangents give the same combinations of their gradients.

    Error and tolerance are parts of the largest gradient of the same run: with arriving gradients a
    million times apart, plain differences could not be held against each other. Gives the first
    cotangent that does not, too, so that the rule can be found with it.
    """
    check = Check("linearity", "backward of sums and multiples of what arrives", note=_UNITS)
    if not len(cotangents) or not gradients.size:
        return check, None
    guilty = None
    combined = np.array(_SIZES)[:, None] * sign_vectors(len(_SIZES), len(cotangents), seed + 3)
    tensors, outputs = recorded or subject.recorded(subject.row)
    arrived = subject.pull_back(tensors, outputs, combined @ cotangents)
    gaps, tolerances = np.zeros(arrived.shape), np.zeros(arrived.shape)
    for at, (size, weights, found) in enumerate(zip(_SIZES, combined, arrived, strict=True)):
        with np.errstate(all="ignore"):
            gap = np.abs(found - weights @ gradients)
            reach = np.abs(weights) @ np.abs(gradients)
            allowed = _allowed(subject, reach)
            gap = np.where(np.isfinite(gap), gap, 0.0)
            scale = np.where(np.isfinite(reach), reach, 0.0).max(initial=0.0) or 1.0
        gaps[at], tolerances[at] = gap / scale, allowed / scale
        if np.any((gap > 0) & ~(gap <= allowed)) and guilty is None:
            guilty = weights @ cotangents
            check.verdict = "wrong"
            check.note = (
                f"for arriving gradients of size {size:g} it gives something else; {_UNITS}"
            )
    check.entries = int(gaps.size)
    check.measure(gaps, tolerances)
    return check, guilty
