"""All rules, by code. To add one: write its class in the file of its family, then its name here."""

from __future__ import annotations

from .accumulation import AccumulatedGradients, ClearedBeforeUse, MeetingLosses, StrayGradients
from .base import Rule
from .order import LeafLoss, StaleGraph, StepWithoutGradients

RULES: tuple[type[Rule], ...] = tuple(
    sorted(
        (
            AccumulatedGradients,
            ClearedBeforeUse,
            LeafLoss,
            MeetingLosses,
            StaleGraph,
            StepWithoutGradients,
            StrayGradients,
        ),
        key=lambda rule: rule.code,
    )
)
