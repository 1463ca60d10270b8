"""What a comparison would have caught: the probability that one entry, wrong by so much, is seen."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np


class Sensitivity:
    """Called with the error of a single entry, gives the probability that it would have been caught.

    `least` has, for each place the entry may have (or each draw of the probes), the error up to which
    it would have passed.
    """

    def __init__(self, least: Any) -> None:
        self._least = np.sort(least, axis=None)

    def __call__(self, size: float) -> float:
        count = len(self._least)
        return float(np.searchsorted(self._least, abs(size))) / count if count else 0.0

    def certain_size(self, probability: float = 0.99) -> float:
        """The least error that is caught with this probability; infinite if none is."""
        count = len(self._least)
        if not count:
            return float("inf")
        return float(np.nextafter(self._least[ceil(probability * count) - 1], np.inf))

    def of_steps(self, step: float) -> Sensitivity:
        """The same where an entry's error shows as `step` times itself."""
        return Sensitivity(self._least / step)
