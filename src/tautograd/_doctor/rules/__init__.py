"""All rules, by code. To add one: write its class in the file of its family, then its name here."""

from __future__ import annotations

from .accumulation import AccumulatedGradients, StrayGradients
from .base import Rule
from .broadcasting import BroadcastLoss
from .clearing import ClearedBeforeUse
from .clipping import ClipLost, ClipOfNothing, ClipOfOthers
from .cuts import GraphCut
from .freezing import FrozenInMidRun
from .functions import WrongBackward
from .history import Exploding, VanishingOrDead
from .identity import StateAliased
from .leaks import GraphLeak
from .losses import NllOfProbabilities, SigmoidBeforeLogits, SoftmaxBeforeCrossEntropy
from .meeting import MeetingLosses
from .membership import NotInOptimizer, OptimizerHoldsDead
from .mixing import MixedSamples
from .modes import DoubleBatchNorm, DropoutAlwaysOn, EvalLeftOn
from .nonfinite import NonFiniteGradient
from .order import LeafLoss, StaleGraph, StepWithoutGradients
from .scaling import ClipBeforeUnscale, ScaledWithoutScaler
from .schedule import Scheduler
from .unstepped import NeverStepped
from .updates import LostUpdate
from .window import WindowScale

RULES: tuple[type[Rule], ...] = tuple(
    sorted(
        (
            AccumulatedGradients,
            BroadcastLoss,
            ClearedBeforeUse,
            ClipBeforeUnscale,
            ClipLost,
            ClipOfNothing,
            ClipOfOthers,
            DoubleBatchNorm,
            DropoutAlwaysOn,
            EvalLeftOn,
            Exploding,
            FrozenInMidRun,
            GraphCut,
            GraphLeak,
            LeafLoss,
            LostUpdate,
            MeetingLosses,
            MixedSamples,
            NeverStepped,
            NllOfProbabilities,
            NonFiniteGradient,
            NotInOptimizer,
            OptimizerHoldsDead,
            ScaledWithoutScaler,
            Scheduler,
            SigmoidBeforeLogits,
            SoftmaxBeforeCrossEntropy,
            StaleGraph,
            StateAliased,
            StepWithoutGradients,
            StrayGradients,
            VanishingOrDead,
            WindowScale,
            WrongBackward,
        ),
        key=lambda rule: rule.code,
    )
)
