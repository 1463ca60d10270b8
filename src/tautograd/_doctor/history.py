"""The history of a run: for each optimizer step, the loss, gradient norms and update sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class History:
    """Every list is as long as `steps`; NaN stands where there was nothing to measure.

    `ratios` are norms of updates over norms of weights. A long run keeps a selection of its steps.
    """

    steps: list[int] = field(default_factory=list)
    norms: dict[str, list[float]] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "steps": self.steps,
            "norms": self.norms,
            "ratios": self.ratios,
            "losses": self.losses,
        }
