"""What a comparison would have caught: the probability of detecting one entry wrong by a given size."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np


class Sensitivity:
    """Called with the error of a single entry, gives the probability that it would have been caught.

    `least` holds, for each place the entry may have (or each draw of the probes), the largest error
    that would have passed.
    """

    def __init__(self, least: Any) -> None:
        self._least = np.sort(least, axis=None)

    def __call__(self, size: float) -> float:
        count = len(self._least)
        return float(np.searchsorted(self._least, abs(size))) / count if count else 0.0

    def certain_size(self, probability: float = 0.99) -> float:
        """The smallest error caught with this probability; infinite if there is none."""
        count = len(self._least)
        if not count:
            return float("inf")
        return float(np.nextafter(self._least[ceil(probability * count) - 1], np.inf))

    def of_steps(self, step: float) -> Sensitivity:
        """The same, if an entry's error shows multiplied by `step`."""
        return Sensitivity(self._least / step)
