"""Where the graph was cut although the value is still used: `detach()`, `item()`, `no_grad`, …

Leaving the graph is not an error in itself: a stable softmax subtracts a detached maximum, and
a loss is printed. A call is named only if a leaf's gradient lacks a contribution that goes through it.
That is measured: how the call's result moves with the leaf, and how the end result moves if the
call's result is moved in just that way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.differences import directional
from ..numerics.noise import noise_level, scale_of
from ..numerics.signs import uneven_signs
from ..numerics.tolerance import agrees
from ..report.findings import Cut
from .leaving import WITHOUT_SLOPE
from .rerun import Rerun, candidates_of, floats_of
from .tape import Call, Tape

_MOST_LEAVES = 32
_MOST_GROUPS = 48
_PART = 0.02  # of the missing gradient: a cut that explains less is ignored


@dataclass
class _Group:
    """Calls on one line that leave the graph in one way."""

    how: str
    calls: list[Call]

    @property
    def ordinals(self) -> list[int]:
        return [call.ordinal for call in self.calls]


def find_cuts(
    engine: Any,
    run: Callable[[], Any],
    leaves: Mapping[str, Any],
    tape: Tape,
    cotangents: Sequence[Any],
    gradients: Mapping[str, Any],
    *,
    state: Any,
    end: float,
    seed: int = 0,
) -> list[Cut]:
    """The calls because of which leaves get no gradient, or only part of the derivative."""
    groups = _grouped(candidates_of(tape.calls))
    steps = [c for c in tape.calls if c.name in WITHOUT_SLOPE and any(c.wanted) and c.outputs]
    if not groups and not steps:
        return []
    search = _Search(engine, run, leaves, cotangents, gradients, state, end, seed)
    try:
        return search.found(groups[:_MOST_GROUPS], _grouped((c.name, c) for c in steps))
    finally:
        search.rerun.restore()


def _grouped(calls: Iterable[tuple[str, Call]]) -> list[_Group]:
    groups: dict[Any, _Group] = {}
    for how, call in calls:
        groups.setdefault((how, call.site), _Group(how, [])).calls.append(call)
    return list(groups.values())


class _Search:
    def __init__(
        self,
        engine: Any,
        run: Callable[[], Any],
        leaves: Mapping[str, Any],
        cotangents: Sequence[Any],
        gradients: Mapping[str, Any],
        state: Any,
        end: float,
        seed: int,
    ) -> None:
        self.engine, self.end = engine, end
        self.rerun = Rerun(engine, run, leaves, cotangents, state)
        self.random = np.random.default_rng(seed)
        self.gradients = gradients
        self.names = [n for n, leaf in leaves.items() if leaf.numel()]
        dtypes = [leaves[n].dtype for n in self.names]
        self.epsilon = max([float(engine.finfo(d).eps) for d in dtypes], default=2.0**-52)
        self.h = 1e-5 if self.epsilon < 1e-12 else 20 * self.epsilon**0.5
        self._noise: Any = None
        self._directions: dict[str, Any] = {}

    # --- what the gradients miss ---------------------------------------------------------------

    def direction(self, name: str) -> Any:
        if name not in self._directions:
            size = scale_of(self.rerun.start[name])
            self._directions[name] = uneven_signs(self.random, size.size) * size
        return self._directions[name]

    def claimed(self, name: str) -> float:
        gradient = self.gradients.get(name)
        return 0.0 if gradient is None else float(self.direction(name) @ floats_of(gradient))

    def missing(self, names: Sequence[str]) -> float:
        """By how much the derivative along these leaves exceeds the gradient; 0 if nothing is missing."""

        def along(points: Any) -> Any:
            return np.array(
                [[self.rerun({n: float(t[0]) * self.direction(n) for n in names})] for t in points]
            )

        if self._noise is None:
            self._noise = self._noise_of(along)
        claimed = sum(self.claimed(n) for n in names)
        found = directional(
            along,
            np.zeros(1),
            np.eye(1),
            noise=self._noise,
            claimed=np.array([[claimed]]),
            epsilon=self.epsilon,
        )
        slack = 256 * self.epsilon * (abs(claimed) + self.rerun.size)
        if not np.isfinite(claimed) or agrees(found, np.array([[claimed]]), slack).all():
            return 0.0
        return float(found.value[0, 0] - claimed) if np.isfinite(found.error).all() else 0.0

    def _noise_of(self, along: Any) -> Any:
        began = time.monotonic()
        self.rerun({})
        if time.monotonic() - began > 0.02:  # measuring it takes about fifty runs
            return np.array([32 * self.epsilon * max(self.rerun.size, 1e-30)])
        return noise_level(along, np.zeros(1), epsilon=self.epsilon)

    # --- which calls they miss it through ------------------------------------------------------

    def found(self, groups: list[_Group], steps: list[_Group]) -> list[Cut]:
        if not self.rerun.is_repeatable():
            return []
        starved: dict[int, list[str]] = {}
        if groups and (self.missing(self.names) or self._disconnected()):
            hungry = [n for n in self.names[:_MOST_LEAVES] if self.in_time() and self.missing([n])]
            for i, group in enumerate(groups):
                if not self.in_time():
                    break
                short = [n for n in hungry if self._goes_through(group, n)]
                if short:
                    starved[i] = short
        cuts = [(groups[i], names) for i, names in starved.items()]
        served = {n for _, names in cuts for n in names}
        alone = [n for n in self.names[:_MOST_LEAVES] if n not in served]
        cuts += self._by_steps(groups, [n for n in alone if self.gradients.get(n) is None])
        cuts += self._by_steps(steps, [n for n in alone if self._is_zero(n)])
        return [
            Cut(group.how, group.calls[0].module, group.calls[0].site, names)
            for group, names in cuts
        ]

    def in_time(self) -> bool:
        return time.monotonic() < self.end

    def _disconnected(self) -> bool:
        return any(self.gradients.get(n) is None for n in self.names)

    def _is_zero(self, name: str) -> bool:
        gradient = self.gradients.get(name)
        return gradient is not None and not floats_of(gradient).any()

    def _goes_through(self, group: _Group, name: str) -> bool:
        """Whether the part missing from a leaf's gradient goes (also) through these calls."""
        rerun, ordinals, h = self.rerun, group.ordinals, self.h
        plain = rerun({})
        as_it_is = rerun({}, replace=dict.fromkeys(ordinals))
        if as_it_is is None:
            return False
        if abs(as_it_is - plain) > 1e3 * self.epsilon * max(abs(plain), self.rerun.size):
            return True  # shared memory matters here: values change without the graph's knowledge
        step = h * self.direction(name)
        above, below = (rerun.observed({name: s * step}, ordinals) for s in (1.0, -1.0))
        if above is None or below is None:
            return False
        rates = {o: (above[o] - below[o]) / 2 for o in ordinals if above[o].size == below[o].size}
        if not any(np.any(r) for r in rates.values()):
            return False
        up = rerun({}, replace=rates)
        down = rerun({}, replace={o: -r for o, r in rates.items()})
        if up is None or down is None:
            return False
        through = (up - down) / (2 * h)
        floor = 64 * self.epsilon * self.rerun.size / h
        return bool(np.isfinite(through)) and abs(through) > max(
            _PART * abs(self.missing([name])), floor
        )

    def _large_change(self, name: str, plain: float) -> dict[str, Any] | None:
        """A change of a leaf large enough to show in the end result; None if there is none."""
        size = np.abs(self.direction(name))
        for times in (0.7, 0.7, 2.0, 2.0, 5.0, 5.0):
            move = {name: times * size * self.random.choice([-1.0, 1.0], size.size)}
            if self.rerun(move) != plain:
                return move
        return None

    def _by_steps(self, groups: list[_Group], names: list[str]) -> list[tuple[_Group, list[str]]]:
        """Calls that are step functions: no derivative goes through them, but a large change does."""
        found: list[tuple[_Group, list[str]]] = []
        for name in names:
            plain = self.rerun({})
            large = self._large_change(name, plain) if groups and self.in_time() else None
            if large is None:
                continue
            for group in groups:
                before = self.rerun.observed({}, group.ordinals)
                after = self.rerun.observed(large, group.ordinals)
                if before is None or after is None:
                    continue
                moves = {
                    o: after[o] - before[o]
                    for o in group.ordinals
                    if before[o].size == after[o].size and np.any(after[o] != before[o])
                }
                if not moves or self.rerun({}, replace=moves) in (None, plain):
                    continue
                known = next((names for g, names in found if g is group), None)
                if known is None:
                    found.append((group, [name]))
                else:
                    known.append(name)
        return found
