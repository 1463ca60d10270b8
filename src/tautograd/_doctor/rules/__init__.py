"""All rules, by code. To add one: write its class in the file of its family, then its name here."""

from __future__ import annotations

from .accumulation import AccumulatedGradients, ClearedBeforeUse, MeetingLosses, StrayGradients
from .base import Rule
from .clipping import ClipLost, ClipOfNothing, ClipOfOthers
from .functions import WrongBackward
from .history import Exploding, VanishingOrDead
from .leaks import GraphLeak
from .losses import (
    BroadcastLoss,
    NllOfProbabilities,
    SigmoidBeforeLogits,
    SoftmaxBeforeCrossEntropy,
)
from .membership import NotInOptimizer, OptimizerHoldsDead
from .nonfinite import NonFiniteGradient
from .order import LeafLoss, StaleGraph, StepWithoutGradients
from .scaling import ClipBeforeUnscale, ScaledWithoutScaler
from .updates import LostUpdate
from .window import WindowScale

RULES: tuple[type[Rule], ...] = tuple(
    sorted(
        (
            WrongBackward,
            AccumulatedGradients,
            BroadcastLoss,
            ClearedBeforeUse,
            ClipBeforeUnscale,
            ClipLost,
            ClipOfNothing,
            ClipOfOthers,
            LeafLoss,
            MeetingLosses,
            NllOfProbabilities,
            NotInOptimizer,
            OptimizerHoldsDead,
            ScaledWithoutScaler,
            SigmoidBeforeLogits,
            SoftmaxBeforeCrossEntropy,
            StaleGraph,
            StepWithoutGradients,
            StrayGradients,
            WindowScale,
        ),
        key=lambda rule: rule.code,
    )
)
