"""Checks a gradient at one odd point: against differences, and against another memory layout.

Odd points are full of kinks (zeros before a ReLU, ties before a max), and several at once can cancel
along a direction of plain signs. Directions and weights are therefore drawn from a continuous
distribution, where kinks show, and a point with a kink is not judged. Nor is a gradient that matches
one just beside the point, if those differ: it comes from one of several functions that meet there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._stand_ins.silence import without_warnings
from ..behaviour.input_variants import Change, Variant
from ..numerics.differences import directional
from ..numerics.evaluate import Values
from ..subject.calls import Call
from ..subject.engines import as_numpy
from ..subject.places import same_bits
from ..subject.restore import Untouched
from ..subject.runs import Run, pulled_back, run_once
from ..subject.subject import Subject
from .fast_mode import usual_sizes

_DIRECTIONS = 2
_SLACK = 1e-6  # of the derivative: a smaller disagreement is not blamed on the rule
_VISIBLE = 1e-290  # the smallest change of the function that float64 still shows
_BESIDE = 32  # nearby points
_ROUNDINGS = 1e3  # by which two summation orders of the same terms may differ


def disagreement(call: Call) -> str:
    """How differences contradict the gradient at these inputs; empty if they agree or cannot tell."""
    try:
        subject = Subject(call.subject, call.args, call.kwargs)
        if not subject.is_double:
            subject = subject.in_double()
        with without_warnings, np.errstate(all="ignore"):
            return _along_directions(subject)
    except Exception:  # it cannot be evaluated around here, or not in float64
        return ""


def _along_directions(subject: Subject) -> str:
    values = Values(subject)
    row = subject.row
    random = np.random.default_rng(0)
    weights = random.uniform(0.5, 1.5, (1, values(row[None]).shape[1]))
    directions = random.normal(size=(_DIRECTIONS, row.size)) * usual_sizes(subject)
    gradient = subject.gradients(row, weights)
    claimed = directions @ gradient.T
    size = np.abs(directions) @ np.abs(gradient).T
    found = directional(lambda points: values(points) @ weights.T, row, directions, claimed=claimed)
    tolerance = 4 * found.error + _SLACK * np.maximum(size, np.abs(found.value)) + _VISIBLE
    gap = np.abs(found.value - claimed)
    doubted = found.finite & ~found.kink & np.isfinite(gap) & (gap > tolerance)
    if doubted.any():
        tolerance = tolerance + np.abs(directions) @ _rounding(subject, weights, gradient).T
        doubted &= gap > tolerance
    if doubted.any():
        doubted &= ~_one_of_those_beside(subject, weights, directions, claimed, tolerance)
    if not doubted.any():
        return ""
    at = np.unravel_index(np.argmax(np.where(doubted, gap, -1.0)), gap.shape)
    return (
        f"along a random direction differences give {found.value[at]:.6g} ± {found.error[at]:.1g}, "
        f"the gradient {claimed[at]:.6g}"
    )


def _rounding(subject: Subject, weights: Any, gradient: Any) -> Any:
    """How much the gradient changes if the inputs are moved by a few roundings."""
    random = np.random.default_rng(2)
    signs = random.choice([-1.0, 1.0], (3, subject.row.size))
    moved = [subject.row * (1 + 4 * subject.epsilon * sign) for sign in signs]
    return 4 * np.max([np.abs(subject.gradients(row, weights) - gradient) for row in moved], axis=0)


def _one_of_those_beside(
    subject: Subject, weights: Any, directions: Any, claimed: Any, tolerance: Any
) -> Any:
    """Whether gradients vary beside the point, and the claimed one is among them."""
    random = np.random.default_rng(1)
    steps = 1e-4 * random.normal(size=(_BESIDE, subject.row.size)) * usual_sizes(subject)
    beside = np.array(
        [directions @ subject.gradients(subject.row + step, weights).T for step in steps]
    )
    low, high = beside.min(axis=0), beside.max(axis=0)
    room = 0.5 * (high - low)
    return (high - low > tolerance) & (claimed >= low - room) & (claimed <= high + room)


def other_values(
    engine: Any, variant: Variant, state: Untouched, run: Run, gradients: dict[str, Any]
) -> str:
    """How a result differs from that of the same values in contiguous memory; empty if it does not."""
    layout = variant.layout
    assert layout is not None

    def contiguous(name: str, tensor: Any) -> Any:
        return layout(name, tensor).contiguous()

    def nudged(name: str, tensor: Any) -> Any:
        made = contiguous(name, tensor)
        if not (made.is_floating_point() or made.is_complex()):
            return made
        signs = np.random.default_rng(0).choice([-1.0, 1.0], tuple(made.shape))
        step = 4 * float(engine.finfo(made.dtype).eps)
        return made * engine.as_tensor(1 + step * signs, dtype=made.dtype, device=made.device)

    found = {**run.outputs, **{f"the gradient of {n}": g for n, g in gradients.items()}}
    plain = _everything(engine, variant, state, contiguous)
    wrong = [name for name in plain if not _close(engine, found.get(name), plain[name])]
    if wrong:  # or is it amplified rounding?
        moved = _everything(engine, variant, state, nudged)
        wrong = [
            n for n in wrong if _gap(found.get(n), plain[n]) > 16 * _gap(moved.get(n), plain[n])
        ]
    return f"{wrong[0]} is another than for the same values in contiguous memory" if wrong else ""


def _everything(engine: Any, variant: Variant, state: Untouched, layout: Change) -> dict[str, Any]:
    """Outputs and gradients by name; empty if it fails."""
    run = run_once(engine, variant.call, state, layout=layout)
    if run.exception is not None:
        return {}
    gradients = pulled_back(engine, run, list(run.leaves.values()), ones=True)
    named = zip(run.leaves, gradients, strict=True)
    return {**run.outputs, **{f"the gradient of {name}": g for name, g in named}}


def _gap(one: Any, other: Any) -> float:
    """The largest difference of two tensors; infinite where they cannot be compared."""
    if one is None or other is None or tuple(one.shape) != tuple(other.shape):
        return 0.0 if one is other else math.inf
    gap = np.abs(1.0 * as_numpy(one) - 1.0 * as_numpy(other)) if one.numel() else np.zeros(1)
    return float(np.nan_to_num(gap, nan=np.inf).max())


def _close(engine: Any, one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if one.dtype != other.dtype or tuple(one.shape) != tuple(other.shape):
        return False
    if same_bits(one, other):
        return True
    if not (one.is_floating_point() or one.is_complex()):
        return False
    one, other = one.detach(), other.detach()
    largest = float(other.abs().max())
    limit = _ROUNDINGS * float(engine.finfo(one.dtype).eps) * largest
    return bool(((one - other).abs() <= limit).all())
