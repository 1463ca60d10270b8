"""A step on any number of ranks: every rank's clock, exchange by exchange.

An exchange starts when the last rank of its group has arrived and the group's previous exchange is done; a rank that
waits for it continues when it is over. What a rank computes in the meantime is not lost: that is the overlap. Ranks
differ: some are slower in every step, and each step of each rank varies at random.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .network import Network
from .recording import COMPUTE, START
from .steps import CannotSimulate, Step

STEPS = 8  # in a row, to average out the randomness


@dataclass(frozen=True)
class Stragglers:
    """How ranks differ."""

    jitter: float = 0.0
    """Standard deviation of a rank's time per step, as a share of it."""
    slow: float = 0.0
    """The share of ranks that are always slower."""
    slowdown: float = 1.0
    """How many times as long they take."""
    spread: float = 0.0
    """Standard deviation of the ranks' own speeds, as a share: equal chips are not equally fast, in every step."""

    @property
    def differ(self) -> bool:
        """Whether ranks differ at all."""
        return bool(self.jitter or self.spread or (self.slow and self.slowdown != 1))


ALIKE = Stragglers()


@dataclass(frozen=True)
class Predicted:
    """What a step takes on so many ranks."""

    ranks: int
    seconds: float
    computing: float
    """A rank's computing time, including the effect of shared cores."""
    exposed: float
    """What ranks would wait for exchanges if all were alike."""
    straggling: float
    """What they wait in addition for slower ranks."""
    efficiency: float
    """The time of one rank's step on its own, divided by this one's."""


def predict(
    step: Step,
    network: Network,
    ranks: int,
    stragglers: Stragglers = ALIKE,
    *,
    strong: bool = False,
    seed: int = 0,
) -> Predicted:
    """Predict a step on so many ranks; `strong` divides the recorded ranks' work among them, else each has its own."""
    if ranks < 1:
        raise ValueError(f"ranks: {ranks} is below 1")
    share = step.ranks / ranks if strong else 1.0
    alone = step.computing * (step.ranks if strong else 1.0)
    computing = _pace(step, network, ranks, share) * step.computing
    smooth = _run(step, network, ranks, share, lambda: np.ones(1))
    seconds = smooth
    if stragglers.differ:
        random = np.random.default_rng(seed)
        count = min(ranks, max(1, round(stragglers.slow * ranks))) if stragglers.slow else 0
        pace = random.permutation(_paces(stragglers.spread, ranks))
        pace[random.permutation(ranks)[:count]] *= stragglers.slowdown

        def luck() -> Any:
            # Log-normal: mean 1, never negative, and with a long tail, as delays have.
            spread = np.sqrt(np.log1p(stragglers.jitter**2))
            return pace * random.lognormal(-(spread**2) / 2, spread, ranks)

        seconds = _run(step, network, ranks, share, luck)
    efficiency = alone / (seconds * (ranks if strong else 1))
    return Predicted(ranks, seconds, computing, smooth - computing, seconds - smooth, efficiency)


def _paces(spread: float, ranks: int) -> Any:
    """How long each of so many ranks usually takes: expected order statistics of a normal deviate (Blom, 1958).

    Random draws would make a prediction for few ranks a matter of luck.
    """
    normal = statistics.NormalDist()
    return np.array(
        [1.0 + spread * normal.inv_cdf((i + 0.625) / (ranks + 0.25)) for i in range(ranks)]
    )


def _pace(step: Step, network: Network, ranks: int, share: float) -> float:
    """How long a rank takes for what took one second on its own."""
    if not step.computing:
        return share * network.crowding(ranks)
    computing = share * step.computing
    refilling = network.refilling(
        ranks, computing, step.memory, [share * one for one in step.returns]
    )
    return share * network.crowding(ranks) + refilling / step.computing


def _run(step: Step, network: Network, ranks: int, share: float, luck: Callable[[], Any]) -> float:
    """Seconds of a step, by a clock for each rank."""
    usual, stolen = _pace(step, network, ranks, share), network.stolen(ranks)
    clocks = np.zeros(ranks)
    free: dict[tuple[int, bool], Any] = {}  # when each group's exchanges so far are over
    costs, members = [], []
    for exchange, stretch in zip(step.exchanges, step.stretches, strict=True):
        count = exchange.group.at(ranks)
        if count < 1 or count % 1 or ranks % count:
            raise CannotSimulate(
                f"{exchange.kind} in groups of {count:g} ranks: {ranks} ranks cannot be divided so"
            )
        size = exchange.bytes.at(int(count))
        members.append(int(count))
        costs.append(
            network.seconds(
                exchange.kind, size, int(count), ranks, exchange.neighbours,
                background=exchange.background, stretch=share * stretch,
            )
        )  # fmt: skip
    for _ in range(STEPS):
        pace = luck() * usual
        ends: dict[float, Any] = {}
        for kind, value in step.program:
            if kind == COMPUTE:
                clocks = clocks + value * pace
                continue
            number = int(value)
            if kind == START:
                group = members[number], step.exchanges[number].neighbours
                began = np.maximum(_latest(clocks, *group), free.get(group, 0.0))
                ends[number] = free[group] = began + costs[number]
                clocks = clocks + costs[number] * stolen
            else:
                clocks = np.maximum(clocks, ends[number])
    return float(clocks.max()) / STEPS


def _latest(clocks: Any, members: int, neighbours: bool) -> Any:
    """For each rank, when the last rank of its group arrives."""
    groups = clocks.reshape(-1, members) if neighbours else clocks.reshape(members, -1).T
    latest = np.repeat(groups.max(axis=1), members).reshape(groups.shape)
    return (latest if neighbours else latest.T).reshape(-1)
