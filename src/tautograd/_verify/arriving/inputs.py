"""Inputs of every kind: by memory layout, empty ones, and which of them require a gradient.

The gradient by an input depends on its values alone. A rule that refuses a kind with an error is
reported; one that computes another function for it (as `as_strided` does) rightly has another gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..subject.engines import as_numpy
from .comparing import Difference, Spread, difference
from .layouts import FEWER_NUMBERS, SAME_NUMBERS, not_contiguous
from .problem import Problem, Rows


class Inputs:
    """A problem whose inputs come in other forms.

    `plain` are the gradients and the outputs for its values in their original form.
    """

    def __init__(
        self, problem: Problem, sent: Sequence[Any], plain: tuple[Rows, list[Any]], seed: int
    ) -> None:
        self.problem, self.sent, self.plain, self.seed = problem, sent, plain, seed
        self.values = problem.leaves()
        self.refusals: dict[str, str] = {}

    def differences(self, spread: Spread, stop: Callable[[], bool]) -> Iterator[Any]:
        """Yield what is tried, kind by kind: its name, and a `Difference` where it goes wrong."""
        # If all inputs together are right, each one is; only otherwise look for the one that fails.
        at_once = list(self._laid_out("not contiguous", not_contiguous, spread, stop, same=True))
        right = all(found is None for _, found in at_once) and not self.refusals
        for kind, lay_out in SAME_NUMBERS.items():
            if right and at_once:
                yield kind, None
            else:
                yield from self._laid_out(kind, lay_out, spread, stop, same=True)
        yield from at_once
        for kind, lay_out in self._fewer_numbers():
            yield from self._laid_out(kind, lay_out, spread, stop, same=False)
        yield from self._in_part(spread, stop)
        yield "empty", self._empty()

    def _fewer_numbers(self) -> list[tuple[str, Any]]:
        """Expanded and overlapping inputs; for a whole program, the seed picks one way to expand."""
        kinds = list(FEWER_NUMBERS.items())
        if not self.problem.is_whole:
            return kinds
        return [kinds[self.seed % 2], *kinds[2:]]

    def _laid_out(
        self,
        kind: str,
        lay_out: Callable[[Any, Any], Any],
        spread: Spread,
        stop: Callable[[], bool],
        same: bool,
    ) -> Iterator[Any]:
        """All inputs that can have this layout, and each of them alone."""
        made = [
            lay_out(self.problem.engine, t) if self.problem.may_be_laid_out(i) else t
            for i, t in enumerate(self.values)
        ]
        other = [i for i, (m, t) in enumerate(zip(made, self.values, strict=True)) if m is not t]
        chosen = [other, *([i] for i in other if len(other) > 1)] if other else []
        for group in chosen:
            if stop():
                return
            leaves = [m if i in group else t
                      for i, (m, t) in enumerate(zip(made, self.values, strict=True))]  # fmt: skip
            named = kind if group == other else f"{kind}: {self.problem.name(group[0])} alone"
            yield kind, self._same_as_plain(named, leaves, spread, same)

    def _same_as_plain(
        self, kind: str, leaves: Sequence[Any], spread: Spread, same_values: bool
    ) -> Difference | None:
        try:
            plain, plain_outputs = self.plain
            if not same_values:
                plain, plain_outputs = self._gradients([t.contiguous().clone() for t in leaves])
            found, outputs = self._gradients(leaves)
        except Exception as error:
            self.refusals[kind] = f"{type(error).__name__}: {error}"
            return None
        if not _alike(outputs, plain_outputs, self.problem.epsilon):
            return None  # a different function of these numbers, with a different gradient
        return difference(self.problem, kind, found, plain, plain, spread)

    def _gradients(
        self, leaves: Sequence[Any], wanted: Sequence[bool] | None = None
    ) -> tuple[Rows, list[Any]]:
        asked, outputs = self.problem.recorded(leaves, wanted)
        return self.problem.pulled(asked, outputs, self.sent), outputs

    # --- a gradient of some only ---------------------------------------------------------------

    def _in_part(self, spread: Spread, stop: Callable[[], bool]) -> Iterator[Any]:
        """Each input alone requires a gradient, then each alone requires none."""
        count = len(self.values)
        if not 2 <= count <= 6:
            return
        everything, _ = self.plain
        masks = [[i == k for i in range(count)] for k in range(count)]
        if count > 2:
            masks += [[i != k for i in range(count)] for k in range(count)]
        for mask in masks:
            if stop():
                return
            names = " and ".join(self.problem.name(i) for i in range(count) if mask[i])
            kind = f"only {names} requires grad"
            try:
                found, _ = self._gradients(self.values, mask)
            except Exception as error:
                self.refusals[kind] = f"{type(error).__name__}: {error}"
                continue
            yield (
                "requires_grad in part",
                difference(self.problem, kind, found, everything, everything, spread),
            )

    # --- no numbers ----------------------------------------------------------------------------

    def _empty(self) -> Difference | None:
        """Results without elements have a zero gradient by every input that has some."""
        rows = [int(t.shape[0]) for t in self.values if t.dim()]
        if not rows:
            return None
        most = max(t.dim() for t in self.values)
        leading = [t for t in self.values if t.dim() == most]
        count = int(leading[0].shape[0])
        leaves = [
            t[:0] if t.dim() == most and int(t.shape[0]) == count and self.problem.may_be_laid_out(i)
            else t
            for i, t in enumerate(self.values)
        ]  # fmt: skip
        try:
            asked, outputs = self.problem.recorded(leaves)
            live = [out for out in outputs if out.requires_grad]
            if not live or any(out.numel() for out in live):
                return None
            sent = [self.problem.engine.zeros_like(out) for out in outputs]
            found = self.problem.pulled(asked, outputs, sent)
        except Exception as error:
            self.refusals["empty"] = f"{type(error).__name__}: {error}"
            return None
        nothing: Rows = [None if row is None else np.zeros_like(row) for row in found]
        return difference(
            self.problem, "empty", found, nothing, nothing, lambda: [None] * len(found)
        )


def _alike(outputs: Sequence[Any], others: Sequence[Any], epsilon: float) -> bool:
    if len(outputs) != len(others):
        return False
    for one, other in zip(outputs, others, strict=True):
        if tuple(one.shape) != tuple(other.shape):
            return False
        a, b = as_numpy(one), as_numpy(other)
        with np.errstate(all="ignore"):
            size = np.where(np.isfinite(b), np.abs(b), 0.0).max(initial=0.0)
            close = (np.abs(a - b) <= 1e3 * epsilon * size) | (a == b) | (np.isnan(a) & np.isnan(b))
        if not close.all():
            return False
    return True
