"""What was measured of a run: nothing (None) is not NaN, and the last value has its own step.

Of a long run, several measurements share a point. What is told as the last value is never such a point but
what was measured last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

MOST_POINTS = 400
Measure = float | None
Series = dict[str, list[Measure]]


def thinned(steps: Sequence[int], series: Series) -> tuple[list[int], Series]:
    """Of a long run, one point for several steps: the worst value, since that is what matters."""
    every = math.ceil(len(steps) / MOST_POINTS) or 1
    starts = range(0, len(steps), every)
    few = {name: [worst(values[i : i + every]) for i in starts] for name, values in series.items()}
    return [steps[i] for i in starts], few


def ends(steps: Sequence[int]) -> list[int]:
    """The last step of each point that `thinned` makes of these."""
    every = math.ceil(len(steps) / MOST_POINTS) or 1
    return [steps[min(i + every, len(steps)) - 1] for i in range(0, len(steps), every)]


def worst(values: Sequence[Measure]) -> Measure:
    """NaN if there is one, else the largest; None if nothing was measured."""
    known = [value for value in values if value is not None]
    if any(map(math.isnan, known)):
        return math.nan
    return max(known, default=None)


def is_finite(value: Measure) -> bool:
    return value is not None and math.isfinite(value)


def figure(value: float, digits: int = 3) -> str:
    """A measured value as it is told: `0.0123`, `NaN`, `∞`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.{digits}g}"


def last_of(steps: Sequence[int], values: Sequence[Measure], end: int) -> str:
    """The last value that was measured: with its step if that is not the run's last one, `end`.

    Of what is not finite, since when: `NaN since step 11`.
    """
    known = [(s, v) for s, v in zip(steps, values, strict=True) if v is not None]
    if not known:
        return "none"
    step, value = known[-1]
    if not math.isfinite(value):
        return f"{figure(value)} {since(known)}"
    return figure(value) + ("" if step == end else f" at step {step:,}")


def since(known: Sequence[tuple[int, float]]) -> str:
    """From which step on values are not finite; between which two, if those between were not measured."""
    first = len(known)
    while first and not math.isfinite(known[first - 1][1]):
        first -= 1
    step = known[first][0]
    if first and known[first - 1][0] < step - 1:
        return f"since one of steps {known[first - 1][0] + 1:,}–{step:,}"
    return f"since step {step:,}"


def rounded(value: Measure) -> Any:
    """For a page's own data: four digits; NaN and infinity as texts, null where nothing was measured."""
    if value is None:
        return None
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return float(f"{value:.4g}")
