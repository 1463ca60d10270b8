"""Weights of samples that meet a loss which is one number already."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_stack
from .base import LOSSES, Lens

_REDUCTIONS = frozenset(("mean", "sum"))


class MeanWeights(Lens):
    """Weights of samples that meet a loss which is one number already."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[list[Site], int]] = []

    def see(self, name: str, args: Any, kwargs: Any, given: list[Any], made: list[Any]) -> None:
        if len(made) != 1 or not given:
            return
        result, first = made[0], given[0]
        if name in _REDUCTIONS or name in LOSSES:
            met = self.known.get(first)
            if isinstance(met, tuple) and result.numel() == 1:
                self.found.append(met)
            elif result.numel() == 1 and result.requires_grad and first.dim() and len(first) > 1:
                self.known.put(result, len(first))
        elif name == "mul" and len(given) == 2:
            one, weights = sorted(given, key=lambda t: t.numel())
            many = self.known.get(one)
            if (
                isinstance(many, int) and one.numel() == 1 and not weights.requires_grad
                and weights.numel() == many and _differ(weights)
            ):  # fmt: skip
                self.known.put(result, (user_stack(), many))
        elif name == "neg" and (known := self.known.get(first)) is not None:
            self.known.put(result, known)


def _differ(weights: Any) -> bool:
    if str(weights.device) != "cpu":
        return False
    flat = weights.detach().reshape(-1)
    return bool((flat != flat[:1]).any())
