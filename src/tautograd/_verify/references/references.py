"""Further references, each independent of the others: forward mode, complex step, Taylor's remainder.

They run along a few random directions only, and each determines whether it applies: an operation
may have no forward rule, a function may not be analytic. None of them needs a tolerance from the user.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._stand_ins.silence import without_warnings
from ..numerics.compare import Comparison
from ..numerics.differences import Derivatives
from ..numerics.noise import EPSILON, noise_level
from ..report.findings import in_a_line
from ..report.report import Check
from ..subject.engines import as_reals
from ..subject.subject import Subject
from .fast_mode import STEPS_AHEAD, Probes, usual_sizes


def amplification(probes: Probes) -> float:
    """How many times its unit rounding the computation's noise is, as measured (at least 1)."""
    row = probes.subject.row
    with np.errstate(all="ignore"):
        ratio = probes.noise / (EPSILON * np.abs(probes.summed(row[None])[0]))
    return float(np.clip(np.nan_to_num(np.median(ratio), nan=1.0), 1.0, 1e12))


def forward_mode(probes: Probes, gradients: Any, epsilon: float) -> Check:
    """u·(J v) by forward mode against (J^T u)·v by backward: the same numbers, from two rules."""
    check = Check("forward mode", "Jacobian-vector products against backward")
    subject = probes.subject
    row = subject.row
    directions = probes.few
    try:
        tangents = np.array([_pushed(subject, row, direction) for direction in directions])
    except Exception as error:
        check.verdict, check.note = "not applicable", in_a_line(error)
        return check
    with np.errstate(all="ignore"):
        gaps = np.abs(tangents @ probes.cotangents.T - directions @ gradients.T)
        size = np.abs(tangents) @ np.abs(probes.cotangents).T
        size += np.abs(directions) @ np.abs(gradients).T
        # Vanishing gradients are the residue of terms as large as the outputs over the inputs.
        here = np.abs(probes.cotangents) @ np.abs(np.nan_to_num(probes.values.here))
        size += (np.abs(directions) / usual_sizes(subject)).sum(axis=1, keepdims=True) * here
    judged = _judged(check, gaps, 64 * epsilon * size)
    if judged.ok:
        return judged

    def gap_at(points: Any) -> Any:
        """The gap at other points: if it is rounding, it varies erratically between them."""
        found = []
        for point in points:
            try:
                tangent = np.array([_pushed(subject, point, d) for d in directions])
                gradient = subject.gradients(point, probes.cotangents)
                found.append(tangent @ probes.cotangents.T - directions @ gradient.T)
            except Exception:  # beside the point the function may be undefined
                found.append(np.full(gaps.shape, np.nan))
        return np.array(found).reshape(len(points), -1)

    noise = noise_level(gap_at, row, epsilon=max(EPSILON, subject.epsilon)).reshape(gaps.shape)
    return _judged(check, gaps, 64 * epsilon * size + 8 * noise)


def _pushed(subject: Subject, row: Any, direction: Any) -> Any:
    """J·direction by the engine's forward mode."""
    engine = subject.engine
    ad = engine.autograd.forward_ad
    tensors = subject.tensors_from(row)
    tangents = subject.tensors_from(direction)
    with without_warnings, subject.without_trace(), ad.dual_level():
        duals = [ad.make_dual(t, d) for t, d in zip(tensors, tangents, strict=True)]
        parts = []
        for _, out in subject.named_outputs(subject.call(duals)):
            primal, tangent = ad.unpack_dual(out)
            parts.append(as_reals(engine.zeros_like(primal) if tangent is None else tangent))
    return np.concatenate(parts)


def complex_step(
    probes: Probes, gradients: Any, found: Derivatives, compared: Comparison, epsilon: float
) -> Check:
    """Im f(x + ih v)/h has no cancellation at all, if the function is analytic and runs on complex
    numbers; the central differences, which it must not contradict, show whether it is."""
    check = Check("complex step", "directional derivatives without cancellation")
    subject = probes.subject
    if any(leaf.tensor.is_complex() for leaf in subject.leaves) or subject.is_module:
        check.verdict = "not applicable"
        check.note = "modules and complex inputs have no complex step"
        return check
    gaps, tolerances = [], []
    tiny = 1e-30
    for i, direction in enumerate(probes.few):
        try:
            stepped = _imaginary(subject, direction, tiny) / tiny
        except Exception as error:
            check.verdict, check.note = "not applicable", in_a_line(error)
            return check
        if stepped.size != probes.outputs:
            check.verdict, check.note = "not applicable", "its results are not complex"
            return check
        with np.errstate(all="ignore"):
            ours = probes.cotangents @ stepped
            if not np.all(np.abs(ours - found.value[i]) <= found.error[i] + 1e-6 * np.abs(ours)):
                check.verdict, check.note = "not applicable", "the function is not analytic here"
                return check
            theirs = gradients @ direction
            size = np.abs(probes.cotangents) @ np.abs(stepped) + np.abs(gradients) @ np.abs(
                direction
            )
        gaps.append(np.abs(ours - theirs))
        tolerances.append(64 * epsilon * size)
    judged = _judged(check, np.array(gaps), np.array(tolerances))
    if not judged.ok and not compared.wrong.any():  # the differences have the last word
        judged.verdict, judged.note = "not applicable", "the function is not analytic here"
    return judged


def _imaginary(subject: Subject, direction: Any, tiny: float) -> Any:
    engine = subject.engine
    real = subject.tensors_from(subject.row)
    step = subject.tensors_from(direction)
    given = [
        engine.complex(t.to(engine.float64), tiny * d.to(engine.float64))
        for t, d in zip(real, step, strict=True)
    ]
    with engine.no_grad(), subject.without_trace():
        outputs = subject.named_outputs(subject.call(given))
    if not all(out.is_complex() for _, out in outputs):
        return np.zeros(0)
    return np.concatenate([as_reals(out)[1::2] for _, out in outputs])


def taylor(probes: Probes, gradients: Any, compared: Comparison) -> Check:
    """f(x + hv) - f(x) - h·g·v shrinks as h² if g is the gradient, and as h if it is not."""
    check = Check("Taylor remainder", "the order in which the remainder vanishes")
    row, directions = probes.subject.row, probes.few
    steps = STEPS_AHEAD
    base = probes.summed(row[None])[0]
    values = probes.summed(probes.points_ahead).reshape(len(steps), len(directions), -1)
    with np.errstate(all="ignore"):
        slopes = directions @ gradients.T
        remainder = np.abs(values - base - steps[:, None, None] * slopes)
        clear = np.isfinite(remainder) & (remainder > 64 * probes.noise)
        # The four shortest consecutive steps at which it holds.
        last = len(steps) - 1 - clear[::-1].argmax(axis=0)
        tail = np.maximum(last, 3) - np.arange(3, -1, -1)[:, None, None]
        orders = _slopes(np.log(steps[tail]), np.log(np.take_along_axis(remainder, tail, 0)))
    seen = np.take_along_axis(clear, tail, 0).all(axis=0)
    seen &= ~(compared.kink | compared.unseen)[: len(directions)]
    check.entries = int(seen.sum())
    if not np.isfinite(remainder).any():
        check.verdict, check.note = "not applicable", "there is nothing finite to compare"
        return check
    if not check.entries:
        check.note = "the remainder is below the noise: exact to rounding"
        return check
    order = float(orders[seen].min())
    check.note = f"order {order:.2f} (2 where the gradient is right, 1 where it is wrong)"
    if order < 1.5 and compared.wrong.any():
        check.verdict = "wrong"
    return check


def _slopes(x: Any, y: Any) -> Any:
    """The slopes of the least-squares lines through these points, along the first axis."""
    x = x - x.mean(axis=0)
    return (x * y).sum(axis=0) / (x * x).sum(axis=0)


def _judged(check: Check, gaps: Any, tolerances: Any) -> Check:
    with np.errstate(all="ignore"):
        ratio = np.where(gaps > 0, gaps / tolerances, 0.0)
    finite = np.isfinite(ratio)
    if gaps.size and not np.isfinite(gaps).any():
        check.verdict, check.note = "not applicable", "there is nothing finite to compare"
        return check
    check.entries = int(gaps.size)
    check.measure(gaps, tolerances, seen=finite)
    check.verdict = "wrong" if check.worst > 1 else "agrees"
    return check
