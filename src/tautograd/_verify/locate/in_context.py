"""For a call that is right in isolated float64: is it right in its own precision, and in the program?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..numerics.tolerance import WrongEntry
from ..subject.engines import as_reals
from .backward_flow import Arrivals
from .isolated_call import Isolated
from .tape import Call

_TRUST = {"float16": 16.0, "bfloat16": 16.0}  # units of rounding allowed in a gradient


def lower_precision(own: Isolated, double: Isolated, seed: int) -> list[WrongEntry]:
    """Entries of a gradient that its own precision cannot explain, at each of several points."""
    random = np.random.default_rng(seed)
    weights = np.array([np.ones(own.y.size), random.choice([-1.0, 1.0], own.y.size)])
    persistent: Any = None
    first: Any = None
    for attempt in range(3):
        x = own.x
        if attempt:
            x = x * (1 + 8 * own.epsilon * random.uniform(-1, 1, x.size))
            x = np.concatenate([as_reals(t) for t in own._tensors(x)])
        got, expected = own.gradients(x, weights), double.gradients(x, weights)
        nudged = double.gradients(x * (1 + own.epsilon * random.uniform(-1, 1, x.size)), weights)
        allowed = _allowance(own, expected) + 8 * np.abs(nudged - expected)
        with np.errstate(all="ignore"):
            wrong = np.isfinite(got) & np.isfinite(expected) & (np.abs(got - expected) > allowed)
        persistent = wrong if persistent is None else persistent & wrong
        first = first or (expected, got, allowed)
        if not persistent.any():
            return []
    return _worst(persistent, *first)


def changed_since(own: Isolated, call: Call, arrivals: Arrivals, arriving: Any) -> list[WrongEntry]:
    """Entries where the call's contribution in the program differs from that of the call in isolation."""
    got = arrivals.contributions(call, own.variables)
    if got is None or np.isnan(got).all():
        return []
    expected = own.gradients(own.x, arriving[None])
    again = own.gradients(own.x, arriving[None])
    allowed = _allowance(own, expected) + 2 * np.abs(again - expected)
    allowed = allowed + 8 * own.epsilon * own.y.size**0.5 * np.abs(arriving).max(initial=0.0)
    with np.errstate(all="ignore"):
        wrong = np.isfinite(got) & np.isfinite(expected) & (np.abs(got - expected) > allowed)
    return _worst(wrong, expected, got[None], allowed)


def not_a_number(own: Isolated, call: Call, arrivals: Arrivals, arriving: Any) -> list[WrongEntry]:
    """Entries where NaN first appears: the call received finite numbers and finite gradients."""
    return _begins(own, call, arrivals, arriving, np.isnan)


def infinite(own: Isolated, call: Call, arrivals: Arrivals, arriving: Any) -> list[WrongEntry]:
    """Entries where infinity first appears; further along it may become NaN."""
    return _begins(own, call, arrivals, arriving, np.isinf)


def _begins(
    own: Isolated, call: Call, arrivals: Arrivals, arriving: Any, is_so: Callable[[Any], Any]
) -> list[WrongEntry]:
    got = arrivals.contributions(call, own.variables, unknown=0.0)
    if got is None or not all(np.isfinite(v).all() for v in (own.x, arriving)):
        return []
    places = np.nonzero(is_so(got))[0][:6]
    return [WrongEntry(int(i), float("nan"), float(got[i]), float("inf"), 0) for i in places]


def _allowance(own: Isolated, expected: Any) -> Any:
    """How much rounding may change a gradient computed in its own precision."""
    dtype = str(own.call.copies[own.variables[0]].dtype).rpartition(".")[2]
    units = _TRUST.get(dtype, 64.0 + 4.0 * max(own.x.size, own.y.size) ** 0.5)
    least = 1.0 if own.epsilon > 1e-12 else 0.0  # cancellation leaves only this much
    allowed = np.zeros_like(expected)
    for span in own.spans():  # where one weighting cancels, another shows the size of the terms
        size = np.abs(expected[:, span])
        size = np.where(np.isfinite(size), size, 0.0).max(initial=least)
        allowed[:, span] = units * own.epsilon * size
    return allowed + 1e-300


def _worst(wrong: Any, expected: Any, got: Any, allowed: Any) -> list[WrongEntry]:
    gaps = np.where(wrong, np.abs(got - expected), -1.0)
    found = []
    for number in np.argsort(-gaps.max(axis=0), kind="stable")[:6]:
        which = int(np.argmax(gaps[:, number]))
        if gaps[which, number] < 0:
            break
        at = which, number
        values = float(expected[at]), float(got[at]), float(allowed[at])
        found.append(WrongEntry(int(number), *values, which))
    return found
