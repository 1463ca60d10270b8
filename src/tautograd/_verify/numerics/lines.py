"""Straight lines through a point along which a function is sampled: along any direction or single axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .noise import scale_of


class Lines:
    """Straight lines through the point, in arbitrary directions."""

    def __init__(self, directions: Any) -> None:
        self.directions = np.asarray(directions, np.float64)

    def __len__(self) -> int:
        return len(self.directions)

    def __getitem__(self, rows: Any) -> Lines:
        return Lines(self.directions[rows])

    def points(self, x: Any, distances: Any) -> Any:
        """Points at these distances (k, d) along each line, as rows."""
        return (x + distances[:, :, None] * self.directions).reshape(-1, x.size)

    def reach(self, x: Any) -> Any:
        """How far one may go along each line before the numbers change by their own size."""
        with np.errstate(divide="ignore"):
            room = scale_of(x) / np.abs(self.directions)
        reach = room.min(axis=1, initial=np.inf)
        return np.where(np.isfinite(reach) & (reach > 0), reach, 1.0)


def _blank(count: int, size: int) -> Any:
    return np.empty((count, size))


class Axes(Lines):
    """Lines along single axes, whose directions need not be stored."""

    def __init__(self, places: Any) -> None:
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, rows: Any) -> Axes:
        return Axes(self.places[rows])

    def points(self, x: Any, distances: Any, blank: Callable[[int, int], Any] = _blank) -> Any:
        """`blank(points, numbers)` allocates the memory for that many points."""
        found = blank(distances.size, x.size)
        found[:] = x
        by_distance = found.reshape(*distances.shape, x.size)
        by_distance[:, np.arange(len(self.places)), self.places] += distances
        return found

    def reach(self, x: Any) -> Any:
        return scale_of(x)[self.places]
