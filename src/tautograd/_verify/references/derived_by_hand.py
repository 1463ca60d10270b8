"""Compares the gradient that the user derived by hand with the engine's and with differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._trees.nests import WITH_DATACLASSES as NESTS
from ..._user_code.sites import definition_of
from ..report.findings import Suspect
from ..report.report import Check
from ..subject.engines import as_reals, is_tensor
from ..subject.subject import Subject
from .first_order import Outcome


def against_analytical(subject: Subject, outcome: Outcome, analytical: Any) -> list[Check]:
    """Two checks: the analytical gradient against backward, and against the differences.

    It is the gradient of the sum of the outputs, one tensor per checked leaf (or one alone).
    """
    if callable(analytical):
        args, kwargs = NESTS.mapped(
            (subject.args, subject.kwargs), lambda v: _as_checked(subject, v)
        )
        analytical = analytical(*args, **kwargs)
    given = [analytical] if is_tensor(analytical) or np.isscalar(analytical) else list(analytical)
    if len(given) != len(subject.leaves):
        names = ", ".join(leaf.name for leaf in subject.leaves)
        raise ValueError(
            f"analytical: {len(subject.leaves)} gradients expected (for {names}), got {len(given)}"
        )
    parts = []
    for leaf, value in zip(subject.leaves, given, strict=True):
        reals = as_reals(value) if is_tensor(value) else np.atleast_1d(np.asarray(value, float))
        reals = reals.reshape(-1)
        if reals.size != leaf.reals:
            shape = tuple(value.shape) if is_tensor(value) else reals.shape
            raise ValueError(
                f"analytical: the gradient of {leaf.name} has shape {shape}, "
                f"the tensor has {tuple(leaf.tensor.shape)}"
            )
        parts.append(reals)
    derived = np.concatenate(parts)
    outputs = outcome.probes.outputs
    backward = subject.gradients(subject.row, np.ones((1, outputs)))[0]
    checks = [_check("backward", derived, backward, np.zeros_like(backward), subject)]
    if outcome.found.value.shape == (derived.size, outputs) and not outcome.compared.kink.any():
        numerical, error = outcome.found.value.sum(axis=1), outcome.found.error.sum(axis=1)
        checks.append(_check("differences", derived, numerical, error, subject))
    return checks


def wrong_by_hand(analytical: Any, checks: list[Check]) -> list[Suspect]:
    """The user's own gradient as a suspect, if the differences contradict it."""
    failed = [check for check in checks if not check.ok]
    if not failed or (len(checks) > 1 and checks[-1].ok):
        return []
    return [Suspect("analytical gradient", "", "", definition_of(analytical), [], failed[-1].note)]


def _check(against: str, derived: Any, other: Any, error: Any, subject: Subject) -> Check:
    check = Check("analytical gradient", f"the gradient you gave, against {against}")
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(other), np.abs(other).max(initial=0.0) * 1e-3)
        tolerance = error + 1e4 * subject.epsilon * size
        gap = np.abs(derived - other)
    check.entries = int(gap.size)
    if gap.size:
        at = check.measure(gap, tolerance)
        if check.worst > 1:
            leaf = subject.leaf_at(at)
            check.verdict = "wrong"
            check.note = (
                f"{leaf.name}{list(leaf.index_of(at)) or ''}: {against} "
                f"{'give' if against.endswith('s') else 'gives'} {other[at]:.6g}, "
                f"you gave {derived[at]:.6g}"
            )
    return check


def _as_checked(subject: Subject, value: Any) -> Any:
    """An input, in the precision in which the subject is checked."""
    if is_tensor(value) and value.is_floating_point() and subject.is_double:
        return value.detach().to(subject.engine.float64)
    return value.detach() if is_tensor(value) else value
