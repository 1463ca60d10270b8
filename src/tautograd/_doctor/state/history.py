"""The history of a run: for optimizer steps all over it, the loss, gradient norms and update sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_LOSSES = 1000  # that a curve holds; of a longer run every other one is dropped
MOST_BROKEN = 1000


@dataclass
class Curve:
    """The loss of every step, or in a long run of every so many; NaN is a loss that was NaN."""

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    stride: int = 1

    def add(self, step: int, loss: float) -> int:
        """Keep the loss of a step; after how many steps the next one is due."""
        if isinstance(loss, complex) or (self.steps and self.steps[-1] >= step):
            return step
        self.steps.append(step)
        self.losses.append(loss)
        if len(self.steps) >= MOST_LOSSES:
            self.stride *= 2
            kept = [
                (s, v) for s, v in zip(self.steps, self.losses, strict=True) if not s % self.stride
            ]
            self.steps[:] = [s for s, _ in kept]
            self.losses[:] = [v for _, v in kept]
        return step + self.stride - step % self.stride - 1

    def end(self, step: int) -> None:
        """What came after the last step belongs to none."""
        while self.steps and self.steps[-1] > step:
            self.steps.pop()
            self.losses.pop()


@dataclass
class History:
    """Every list is as long as `steps`; None stands where nothing was measured, NaN is a value.

    `ratios` are norms of updates over norms of weights. A run has a selection of its steps here: the
    first ones, then fewer and fewer. `curve` is the loss at every step; `broken` says at which steps
    a norm or a ratio that was measured was NaN or infinite.
    """

    steps: list[int] = field(default_factory=list)
    norms: dict[str, list[float | None]] = field(default_factory=dict)
    ratios: dict[str, list[float | None]] = field(default_factory=dict)
    losses: list[float | None] = field(default_factory=list)
    curve: Curve = field(default_factory=Curve)
    broken: dict[str, list[int]] = field(default_factory=lambda: {"norms": [], "ratios": []})

    def note_broken(self, kind: str, step: int, values: Sequence[float | None]) -> None:
        """Remember a step at which one of these is not finite."""
        known = self.broken[kind]
        if len(known) < MOST_BROKEN and not all(v is None or math.isfinite(v) for v in values):
            known.append(step)

    def arrange(self, order: Sequence[str]) -> None:
        """Put the rows in this order, as far as it names them; others come last, as they came."""
        place = {name: i for i, name in enumerate(order)}
        for table in (self.norms, self.ratios):
            rows = sorted(table.items(), key=lambda row: place.get(row[0], len(place)))
            table.clear()
            table.update(rows)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "steps": self.steps,
            "norms": self.norms,
            "ratios": self.ratios,
            "losses": self.losses,
            "curve": {"steps": self.curve.steps, "losses": self.curve.losses},
            "broken": self.broken,
        }
