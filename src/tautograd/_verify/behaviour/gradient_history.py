"""How large each parameter's gradient usually is, kept per model for `check_gradients`.

Norms are kept as logarithms, because gradients change by factors. The usual norm is the median of
recent ones, and the spread is their median distance from it: a few outliers move neither.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from statistics import median
from typing import Any

ENOUGH = 5  # norms needed before a parameter can be judged
_KEPT = 100
_LEAST_SPREAD = 0.15  # decades: a factor of 1.4, however steady the gradient was
_TO_SIGMA = 1.4826  # the median distance of a normal distribution, as its standard deviation


class GradientHistory:
    """Recent gradient norms of each parameter, by name."""

    def __init__(self, length: int = _KEPT) -> None:
        if length < ENOUGH:
            raise ValueError(f"length: at least {ENOUGH} norms are needed, not {length}")
        self._length = length
        self._logs: dict[str, deque[float]] = {}

    def __len__(self) -> int:
        """The number of norms kept for the parameter with the most."""
        return max(map(len, self._logs.values()), default=0)

    def seen(self, name: str) -> int:
        """The number of norms kept for this parameter."""
        return len(self._logs.get(name, ()))

    def add(self, name: str, norm: float) -> None:
        """Add a norm; a zero or non-finite one says nothing about what is usual."""
        if 0.0 < norm < math.inf:
            self._logs.setdefault(name, deque(maxlen=self._length)).append(math.log10(norm))

    def usual(self, name: str) -> float | None:
        """The median norm, once there are enough."""
        logs = self._logs.get(name, ())
        return float(10.0 ** median(logs)) if len(logs) >= ENOUGH else None

    def score(self, name: str, norm: float) -> float | None:
        """How many spreads above (or below) the usual a norm is, once there are enough."""
        logs = self._logs.get(name, ())
        if len(logs) < ENOUGH or not 0.0 < norm < math.inf:
            return None
        middle = median(logs)
        spread = _TO_SIGMA * median(abs(log - middle) for log in logs)
        return (math.log10(norm) - middle) / max(spread, _LEAST_SPREAD)

    def __repr__(self) -> str:
        return f"<GradientHistory of {len(self._logs)} parameters, {len(self)} steps>"


# By identity, since tensors do not compare as keys; released with its owner.
_histories: dict[int, tuple[weakref.ref[Any], GradientHistory]] = {}


def history_of(owner: Any) -> GradientHistory:
    """The history kept for a model (or for a set of parameters, by its first)."""
    key = id(owner)
    found = _histories.get(key)
    if found is not None and found[0]() is owner:
        return found[1]
    history = GradientHistory()
    _histories[key] = weakref.ref(owner, lambda _: _histories.pop(key, None)), history
    return history
