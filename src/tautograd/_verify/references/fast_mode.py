"""Fast mode: a few random probes instead of the whole Jacobian, and what they would have caught.

Every probe is a pair of sign vectors, u over the outputs and v over the inputs: u·J·v by differences
is compared with v·(J^T u) by backward. A single wrong entry changes each probe by plus or minus its own
error, however many entries there are, so it is caught as soon as that error exceeds the *error of the
difference*, not some fraction of the whole.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..numerics.compare import SINGLE, Comparison, compare
from ..numerics.differences import Derivatives, directional
from ..numerics.evaluate import Values
from ..numerics.noise import EPSILON, level_of
from ..numerics.sensitivity import Sensitivity
from ..numerics.signs import sign_vectors
from ..subject.subject import Subject

_TRIALS = 2000
STEPS_AHEAD = 2.0 ** -np.arange(3, 24, 2.0)


def usual_sizes(subject: Subject) -> Any:
    """One size for all numbers of a leaf: a probe takes the same step for each of its entries."""
    return subject.usual_sizes


class Probes:
    """`count` cotangents by `count` directions: every pair is one comparison.

    If every entry has been compared already, one direction serves the other references; its numbers
    are of different sizes, so that no two errors cancel.
    """

    def __init__(
        self,
        subject: Subject,
        values: Values,
        count: int,
        seed: int,
        everything_compared: bool = False,
    ) -> None:
        self.subject, self.values = subject, values
        row = subject.row
        self.outputs = subject.size
        self.cotangents = sign_vectors(count, self.outputs, seed)
        self.sizes = usual_sizes(subject)
        along = 1 if everything_compared else count
        self.directions = sign_vectors(along, row.size, seed + 1) * self.sizes
        self.few = self.directions[:4]  # for the other references
        if everything_compared:
            uneven = np.random.default_rng(seed).uniform(0.5, 1.0, row.size)
            self.few = self.directions = self.directions * uneven
        self.least: Any = 0.0  # gaps up to this size are not blamed on the gradient

    @cached_property
    def noise(self) -> Any:
        """The noise level of the weighted outputs."""
        if self.outputs == 1 or self.values.noise_is_bound:
            return np.abs(self.cotangents) @ self.values.noise
        with np.errstate(all="ignore"):
            around = self.values.around @ self.cotangents.T
        return level_of(around, max(EPSILON, self.subject.epsilon))

    def summed(self, points: Any) -> Any:
        """The outputs weighted by each cotangent, at many points."""
        with np.errstate(all="ignore"):
            return self.values(points) @ self.cotangents.T

    @cached_property
    def points_ahead(self) -> Any:
        """Points along the few directions, at `STEPS_AHEAD`, for the Taylor remainder."""
        ahead = self.subject.row + STEPS_AHEAD[:, None, None] * self.few
        return ahead.reshape(-1, self.subject.row.size)

    @cached_property
    def gradients(self) -> Any:
        """What backward gives for each cotangent."""
        return self.subject.gradients(self.subject.row, self.cotangents)

    @property
    def claimed(self) -> Any:
        """The derivative along each direction, from backward."""
        with np.errstate(all="ignore"):
            return self.directions @ self.gradients.T

    def differences(self) -> Derivatives:
        """The same, from differences."""
        epsilon = max(EPSILON, self.subject.epsilon)
        return directional(
            self.summed, self.subject.row, self.directions, noise=self.noise,
            claimed=self.claimed, epsilon=epsilon,
        )  # fmt: skip

    def compare(self, found: Derivatives, spread: Any = 0.0) -> Comparison:
        """Compare both; rounding may have moved the gradients by `spread`."""
        with np.errstate(all="ignore"):
            size = np.abs(self.directions) @ np.abs(self.gradients).T
            moved = 16 * max(EPSILON, self.subject.epsilon) * size
            moved = moved + np.abs(self.directions) @ np.transpose(
                np.broadcast_to(spread, self.gradients.shape)
            )
        self.least = SINGLE * size
        return compare(found, self.claimed, moved, size)

    def sensitivity(self, found: Derivatives, claimed: Any, compared: Comparison) -> Sensitivity:
        """The probability that these probes would have caught one entry wrong by a given size.

        A wrong entry adds plus or minus its error, times the step, to each pair, with signs that depend
        on its cotangents and directions: they are drawn again here.
        """
        with np.errstate(all="ignore"):
            blind = compared.unseen | compared.kink
            gap = np.where(blind | compared.wrong, 0.0, found.value - claimed)
            tolerance = np.where(blind, np.inf, np.maximum(compared.tolerance, self.least))
        random = np.random.default_rng(0)
        rows = random.choice([-1.0, 1.0], (_TRIALS, gap.shape[0], 1))
        columns = random.choice([-1.0, 1.0], (_TRIALS, 1, gap.shape[1]))
        step = float(self.sizes.min(initial=1.0)) if self.sizes.size else 1.0
        # |gap ± size·step| > tolerance, where the gap alone does not exceed it
        return Sensitivity(
            (tolerance - rows * columns * gap).min(axis=(1, 2), initial=np.inf) / step
        )
