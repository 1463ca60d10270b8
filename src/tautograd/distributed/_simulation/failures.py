"""What failures cost: work since the last checkpoint, time to restart, and time to write checkpoints.

Failures are random, at a rate proportional to the number of ranks, and also occur while a job restarts. With a mean
time M between them, a restart of R and checkpoints of D seconds every T seconds of work, the expected time for T
seconds of work is M exp(R / M) (exp((T + D) / M) - 1) (Daly, "A higher order estimate of the optimum checkpoint
interval for restart dumps", 2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

HOUR = 3600.0


@dataclass(frozen=True)
class Failures:
    """How often ranks fail, and what is done about it."""

    per_hour: float
    """Failures of one rank per hour."""
    checkpoint: float = 30.0
    """Seconds to write a checkpoint."""
    restart: float = 300.0
    """Seconds from a failure to the first new step: detecting it, restarting, reading the checkpoint."""
    every: float | None = None
    """Seconds of work between checkpoints; by default the interval that loses least."""


@dataclass(frozen=True)
class Lost:
    """What is left of a job's time."""

    between_failures: float
    """Mean time between failures of the job, in hours."""
    every: float
    """Seconds of work between checkpoints."""
    useful: float
    """The share of time that becomes progress."""
    per_failure: float
    """Seconds of work that a failure throws away, on average."""


def lost(failures: Failures, ranks: int) -> Lost:
    """What failures cost a job of so many ranks."""
    if failures.per_hour < 0 or failures.checkpoint < 0 or failures.restart < 0:
        raise ValueError("failures: rates and times cannot be below 0")
    if failures.every is not None and failures.every <= 0:
        raise ValueError(f"checkpoints every {failures.every:g} s: the time has to be above 0")
    if not failures.per_hour:
        every = math.inf if failures.every is None else failures.every
        share = 1.0 if math.isinf(every) else every / (every + failures.checkpoint)
        return Lost(math.inf, every, share, 0.0)
    mean = HOUR / (failures.per_hour * ranks)
    every = best_interval(mean, failures.checkpoint) if failures.every is None else failures.every
    return Lost(
        mean / HOUR, every, useful(mean, failures.restart, failures.checkpoint, every),
        _thrown_away(mean, every + failures.checkpoint),
    )  # fmt: skip


def useful(mean: float, restart: float, checkpoint: float, every: float) -> float:
    """The share of time that becomes progress; 0 if failures come faster than anything gets done."""
    exponent = (restart + every + checkpoint) / mean
    if exponent > 700:  # exp would overflow
        return 0.0
    return every / (mean * math.exp(restart / mean) * math.expm1((every + checkpoint) / mean))


def best_interval(mean: float, checkpoint: float) -> float:
    """The checkpoint interval that loses least.

    The derivative of T / (exp((T + D) / M) - 1) is 0 where (1 - T / M) exp((T + D) / M) = 1, and falls in T.
    """
    low, high = 0.0, mean
    for _ in range(200):
        middle = (low + high) / 2
        if math.log1p(-middle / mean) + (middle + checkpoint) / mean > 0:
            low = middle
        else:
            high = middle
    return max(low, 1e-9 * mean)


def _thrown_away(mean: float, segment: float) -> float:
    """How far into a segment a failure comes, given that it comes there."""
    ratio = segment / mean
    return mean if ratio > 700 else mean - segment / math.expm1(ratio)
