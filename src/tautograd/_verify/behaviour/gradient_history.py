"""How large each parameter's gradient usually is, remembered per model for `check_gradients`.

Norms are kept as logarithms, because gradients change by factors. What is usual is the median of
the last ones, and how much they scatter the median distance from it: a few outliers move neither.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from statistics import median
from typing import Any

ENOUGH = 5  # norms before a parameter can be judged by them
_KEPT = 100
_LEAST_SPREAD = 0.15  # decades: a factor of 1.4, however steady the gradient was
_TO_SIGMA = 1.4826  # the median distance of a normal distribution, as its standard deviation


class GradientHistory:
    """The last norms of each parameter's gradient, by name."""

    def __init__(self, length: int = _KEPT) -> None:
        if length < ENOUGH:
            raise ValueError(f"length: at least {ENOUGH} norms are needed, not {length}")
        self._length = length
        self._logs: dict[str, deque[float]] = {}

    def __len__(self) -> int:
        """How many norms the best known parameter has."""
        return max(map(len, self._logs.values()), default=0)

    def seen(self, name: str) -> int:
        """How many norms of this parameter are kept."""
        return len(self._logs.get(name, ()))

    def add(self, name: str, norm: float) -> None:
        """Remember a norm; one that is zero or not finite says nothing about what is usual."""
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


# By identity, since tensors cannot be compared as keys; gone when the owner is.
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
