"""Numbers that left the graph, and whether others may be the same ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._user_code.sites import Site
from ..watch.source_flow import flows

MANY = 20_000  # values that are compared


class Values:
    """The numbers that one call gave, and the lines that led to it."""

    def __init__(self, result: Any, stack: list[Site]) -> None:
        self.stack = stack
        try:
            array = np.asarray(result, dtype=np.float32).reshape(-1)[:MANY]
        except (TypeError, ValueError):
            array = np.zeros(0, np.float32)
        self.numbers = array
        self.times = 0  # that they were seen again, as they were
        self._flows: dict[Any, bool] = {}

    def holds(self, numbers: Any) -> bool:
        """Whether these are the very numbers."""
        given = np.asarray(numbers, dtype=np.float32).reshape(-1)[:MANY]
        return bool(np.isin(given, self.numbers).all())

    def gave(self, numbers: Any, stack: list[Site]) -> bool:
        """Whether these numbers, seen at another line, are of these: the same, or by their names."""
        given = np.asarray(numbers, dtype=np.float32).reshape(-1)[:MANY]
        if not given.size or not self.numbers.size:
            return False
        same = bool(np.isin(given, self.numbers).all())
        telling = any(map(is_telling, given[:100]))
        if same and telling:
            return True
        return (same or telling) and self._leads_to(stack)

    def _leads_to(self, stack: list[Site]) -> bool:
        key = tuple(stack)
        if key not in self._flows:
            self._flows[key] = flows(self.stack, stack)
        return self._flows[key]


def is_telling(number: Any) -> bool:
    """Whether a number looks like a result: one with few digits is a constant of the program."""
    return math.isfinite(number) and np.float32(f"{number:.5g}") != number


def numbers_in(tensor: Any) -> Any:
    """A tensor's numbers, or the first of them."""
    return np.asarray(tensor.detach().reshape(-1)[:MANY].tolist(), dtype=np.float32)
