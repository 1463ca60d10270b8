"""Whether the gradient of one call is right: probes first; where they disagree, entry by entry.

A probe compares u·(Jᵀv), from the call's backward, with v·(J u), from differences of the call's
values, for random signs u and v; any single wrong entry shows in it. Disagreements are then
bisected. Nothing is called wrong unless a single entry contradicts its reference by more than the
reference's own error and the rounding of the gradient allow; at a kink, unless it lies outside the
two one-sided derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.differences import Derivatives, directional
from ..numerics.noise import EPSILON, noise_level, scale_of
from ..numerics.tolerance import (
    LEAST,
    SURE,
    Judged,
    KinkEntry,
    Verdict,
    WrongEntry,
    agrees,
    interval,
    least_change,
)
from .isolated_call import Isolated

_PROBES = 3
_ALL_ENTRIES = 48  # up to this many are checked one by one
_SEARCHES = 160  # blocks that the bisection examines
_ENOUGH = 6  # enough wrong entries to show
_LADDER = 2.0 ** -np.arange(4.0, 53.0, 4.0)[:, None]  # steps from large to the smallest there is
_APART = 2.0 ** -np.array([6.0, 14.0, 22.0, 30.0])  # of a step: how close together two values lie
_OFTEN = 3  # rounding changes the value at least this often along a ladder; a kink changes it once
_ASIDE = 1e-3, -1e-3, 1e-5, -1e-5, 1e-7, -1e-7  # distances from a kink to check at again
_WIDEST = 20_000  # at a kink, up to this many outputs are checked one by one


class RuleCheck:
    """The check of one call at one point."""

    def __init__(
        self, problem: Isolated, x: Any, seed: int = 0, extra: Any = None, only: Any = None
    ) -> None:
        self.problem, self.x = problem, x
        self.random = np.random.default_rng(seed)
        m = problem.y.size
        usable = np.isfinite(problem.values(x[None])[0])
        # One varies in size: a backward that ignores what arrives then shows even with a single output.
        # No two numbers are alike: a rule that swaps entries shows, too.
        one, other = self.random.choice([-1.0, 1.0], (2, m))
        other = other * np.random.default_rng(seed).uniform(0.5, 1.5, m)
        weights = [np.ones(m), one, 0.5 * other] if only is None else [only]
        if extra is not None and extra.size == m and np.all(np.isfinite(extra)):
            size = float(np.abs(extra).max(initial=0.0))
            if size > 0.0:
                weights.append(extra)
        self.weights = np.array(weights) * usable
        self._used = usable  # an output that is not finite says nothing
        self.claims = problem.gradients(x, self.weights)  # (weightings, n)
        self.free = np.isfinite(x)  # numbers that can be varied
        self.scale = np.where(self.free, scale_of(np.where(self.free, x, 0.0)), 0.0)
        self.slack = self._rounding()
        self._cancels = False  # not determined yet
        self.epsilon = EPSILON if problem.epsilon < 1e-12 else problem.epsilon
        self.noise = noise_level(self._weighted, x, epsilon=self.epsilon)

    def _rounding(self) -> Any:
        """How far rounding alone may move the gradient, entry by entry."""
        eps = self.problem.epsilon
        slack = 64 * eps * np.abs(self.claims)
        for _ in range(2):
            nudged = self.x * (1 + 2 * eps * self.random.choice([-1.0, 1.0], self.x.size))
            with np.errstate(all="ignore"):
                moved = np.abs(self.problem.gradients(nudged, self.weights) - self.claims)
            slack = np.maximum(slack, 8 * np.where(np.isfinite(moved), moved, 0.0))
        with np.errstate(all="ignore"):
            size = np.nanmax(np.abs(self.claims), axis=1, initial=0.0, keepdims=True)
        return slack + 64 * eps * np.where(np.isfinite(size), size, 0.0)

    def _weighted(self, points: Any) -> Any:
        values = self.problem.values(points)
        with np.errstate(all="ignore"):
            return np.where(self._used, values, 0.0) @ self.weights.T

    # --- probes --------------------------------------------------------------------------------

    def probe(self, block: Any = None, count: int = 1) -> tuple[bool, bool, Derivatives]:
        """Whether probes of these numbers (default: all) agree, and whether they met a kink."""
        signs = self.random.choice([-1.0, 1.0], (count, self.x.size)) * self.scale
        if block is not None:
            kept = np.zeros_like(signs)
            kept[:, block] = signs[:, block]
            signs = kept
        with np.errstate(all="ignore"):
            claimed = (
                np.where(signs != 0, signs, 0.0)
                @ np.where(np.isfinite(self.claims), self.claims, 0.0).T
            )
        slack = np.abs(signs) @ self.slack.T
        found = directional(
            lambda t: self._weighted(self.x + t @ signs),
            np.zeros(count),
            np.eye(count),
            noise=self.noise,
            claimed=claimed,
            epsilon=self.epsilon,
        )
        fine = agrees(found, claimed, slack)
        touched = signs.any(axis=0)
        nan = bool(np.any(~np.isfinite(self.claims[:, touched])) and self._used.all())
        return bool(fine.all()) and not nan, bool(found.kink.any()), found

    def excused(self, count: int = _PROBES) -> bool:
        """Whether all disagreements of the probes are within what kinks at the point allow."""
        if self.problem.y.size > _WIDEST:
            return False
        signs = self.random.choice([-1.0, 1.0], (count, self.x.size)) * self.scale
        found = directional(
            lambda t: self.problem.values(self.x + t @ signs),
            np.zeros(count),
            np.eye(count),
            epsilon=self.epsilon,
        )
        low, high, error = interval(found, self.weights)
        claimed = signs @ self.claims.T
        slack = SURE * error + np.abs(signs) @ self.slack.T
        with np.errstate(all="ignore"):
            inside = (claimed >= low - slack) & (claimed <= high + slack)
        return bool(inside.all())

    # --- single entries ------------------------------------------------------------------------

    def search(self) -> list[int]:
        """Numbers whose entries disagree, found by bisection."""
        numbers = np.nonzero(self.free)[0]
        if numbers.size <= _ALL_ENTRIES:
            return [int(i) for i in numbers]
        pending = [numbers]
        found: list[int] = []
        for _ in range(_SEARCHES):
            if not pending or len(found) >= _ENOUGH:
                break
            block = pending.pop()
            if self.probe(block)[0]:
                continue
            if block.size == 1:
                found.append(int(block[0]))
                continue
            middle = block.size // 2
            pending += [block[middle:], block[:middle]]
        return found

    def entries(self, numbers: list[int]) -> Verdict:
        """Check each of these entries separately."""
        verdict = Verdict()
        m = self.problem.y.size
        single = m * max(1, len(numbers)) <= 200_000 and m <= _WIDEST
        for number in numbers:
            self._entry(number, single, verdict)
            if len(verdict.wrong) >= _ENOUGH:
                break
        return verdict

    def _entry(self, number: int, single: bool, verdict: Verdict) -> None:
        step = float(self.scale[number])
        direction = np.zeros(self.x.size)
        direction[number] = step
        found = self._judged(number, direction, single, self.noise)
        if found.wrong.any():
            noise = np.maximum(self.noise, self._stagnation(direction))
            self._allow_for_cancellation()
            again = self._judged(number, direction, single, noise)
            again.wrong &= found.wrong
            if self._is_flat(direction):  # between two steps of a staircase, zero is correct
                again.wrong &= self.claims[:, number] != 0
            found = again
        if found.wrong.any():
            order = np.where(found.wrong, np.where(np.isnan(found.gap), np.inf, found.gap), -np.inf)
            which = 0 if found.wrong[0] else int(np.argmax(order))
            low, high = float(found.low[which]), float(found.high[which])
            middle, error = 0.5 * (low + high), float(found.error[which]) + 0.5 * (high - low)
            # The close look is noisier: to be sure, measure again with ordinary steps.
            calm = self._along(direction)
            if calm.error[0, which] < error and abs(calm.value[0, which] - middle) <= error:
                middle, error = float(calm.value[0, which]), float(calm.error[0, which])
            got = float(self.claims[which, number])
            verdict.wrong.append(WrongEntry(number, middle / step, got, error / step, which))
        elif found.whole.kink[0, 0] and np.isfinite(found.whole.error[0, 0]):
            taken = float(self.claims[0, number])
            left, right = self._sides(direction, found.whole)
            verdict.kinks.append(KinkEntry(number, left / step, right / step, taken))

    def _judged(self, number: int, direction: Any, single: bool, noise: Any) -> Judged:
        """For each weighting, the range an entry may have and whether it is within it."""
        step = self.scale[number]
        claimed = self.claims[:, number] * step
        whole = self._along(direction, claimed[None], noise)
        low, high = np.minimum(whole.left, whole.right), np.maximum(whole.left, whole.right)
        low = np.where(whole.kink, low, whole.value)[0]
        high = np.where(whole.kink, high, whole.value)[0]
        error = whole.error[0]
        if single and whole.kink.any():
            parts = directional(
                lambda t: self.problem.values(self.x + t * direction),
                np.zeros(1),
                np.eye(1),
                epsilon=self.epsilon,
            )
            # At a kink each output has its own two sides; any mixture of them is allowed.
            if parts.kink.any():
                low_parts, high_parts, error_parts = interval(parts, self.weights)
                low, high = np.fmin(low, low_parts[0]), np.fmax(high, high_parts[0])
                error = np.fmax(error, error_parts[0])
        with np.errstate(all="ignore"):
            gap = np.maximum(low - claimed, claimed - high)
            size = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.abs(claimed))
            usual = np.abs(self.claims * self.scale)
            usual = np.where(np.isfinite(usual), usual, 0.0).max(axis=1, initial=0.0)
            allowed = SURE * error + self.slack[:, number] * step
            allowed = allowed + LEAST * size + 1e-3 * LEAST * usual
            wrong = np.isfinite(error) & np.isfinite(low + high) & (gap > allowed)
            if self._used.all():  # else NaN may be the true derivative of something non-finite
                wrong |= np.isnan(claimed) & np.isfinite(error) & ~whole.kink[0]
        return Judged(whole, low, high, error, gap, wrong)

    def _stagnation(self, direction: Any) -> Any:
        """The rounding of outputs that stay constant for small steps and then jump, as cancelling sums
        do.

        The smallest change that an output ever shows is the size of its rounding; the measured noise
        misses it if every step it took was too small to change anything. Rounding is everywhere, but
        a flat piece ends at a kink, so neighbours are also compared beyond every step.
        """
        ladder = np.concatenate([_LADDER, -_LADDER])
        points = self.x + ladder * direction
        near = [self.x + ladder[::4] * (1 + apart) * direction for apart in _APART]
        with np.errstate(all="ignore"):
            values = self.problem.values(points)
            # From each point to the next: a jump at x itself is not rounding.
            moves = [np.abs(np.diff(values, axis=0))]
            moves += [np.abs(self.problem.values(rows) - values[::4]) for rows in near]
        least = least_change(np.concatenate(moves))
        return np.abs(self.weights) @ np.where(self._used, least, 0.0)

    def _is_flat(self, direction: Any) -> bool:
        """Whether nothing changes on either side, over a range that float32 could not hide."""
        steps = np.array([3e-7, -3e-7, 1e-7, -1e-7, 1e-8, -1e-8])[:, None]
        values = self.problem.values(self.x + steps * direction)
        return bool(np.all((values == self.problem.values(self.x[None]))[:, self._used]))

    def _allow_for_cancellation(self) -> None:
        """The same for the gradient itself: its rounding is at least its smallest visible change."""
        if self._cancels:
            return
        self._cancels = True
        line = self.random.choice([-1.0, 1.0], self.x.size) * self.scale
        line[self.problem.inputs :] = 0.0
        with np.errstate(all="ignore"):
            found = [self.problem.gradients(self.x + s * line, self.weights) for s in _LADDER]
            moves = np.abs(np.diff(np.array(found), axis=0))
        often = (moves > 0).sum(axis=0) >= _OFTEN
        self.slack = np.maximum(self.slack, 4 * np.where(often, least_change(moves), 0.0))

    def _sides(self, direction: Any, whole: Derivatives) -> tuple[float, float]:
        """The one-sided derivatives of the sum of the outputs, at a step with little rounding."""
        h = 1e-4
        steps = np.array([0.0, h, h / 2, -h, -h / 2])[:, None]
        y = self._weighted(self.x + steps * direction)[:, 0]
        right = float((4 * y[2] - y[1] - 3 * y[0]) / h)
        left = float((3 * y[0] - 4 * y[4] + y[3]) / h)
        error = float(whole.error[0, 0])
        near = float(whole.left[0, 0]), float(whole.right[0, 0])
        close = abs(left - near[0]) <= error and abs(right - near[1]) <= error
        return (left, right) if close else near

    def _along(self, direction: Any, claimed: Any = None, noise: Any = None) -> Derivatives:
        """The derivatives of the weighted outputs along one direction."""
        return directional(
            lambda t: self._weighted(self.x + t * direction),
            np.zeros(1),
            np.eye(1),
            noise=self.noise if noise is None else noise,
            claimed=claimed,
            epsilon=self.epsilon,
        )


def check_rule(problem: Isolated, seed: int = 0, extra: Any = None) -> Verdict:
    """The verdict on one call's gradient."""
    if not problem.x.size or not problem.y.size:
        return Verdict()
    check = RuleCheck(problem, problem.x, seed, extra)
    fine, kink, found = check.probe(count=_PROBES)
    if fine and not kink:
        return Verdict()
    verdict = Verdict()
    if (not fine and not (kink and check.excused())) or check.x.size <= _ALL_ENTRIES:
        verdict = check.entries(check.search())
    if verdict.wrong:
        return verdict
    # A kink excuses nothing beside it: the rule must also hold a little way off, on both sides.
    for distance in _ASIDE if kink else ():
        signs = check.random.choice([-1.0, 1.0], check.x.size)
        aside = check.x + distance * check.scale * signs * check.random.uniform(
            0.5, 1, check.x.size
        )
        try:
            beside = RuleCheck(problem, np.where(check.free, aside, check.x), seed, extra)
            fine, _, found = beside.probe(count=_PROBES)
            if not fine:
                verdict.wrong = beside.entries(beside.search()).wrong
        except Exception:  # it may be undefined there
            fine = True
        if verdict.wrong:
            break
    if not fine and not verdict.wrong:
        verdict.conclusive = bool(found.finite.all()) and kink
    return verdict
