"""Three experiments: can it learn one batch by heart, at which rate, and from what.

A copy is trained for a few steps with an optimizer of the same kind. None of them touches the run: weights are
copies, random numbers are put back.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from ..watch.aside import random_state
from .lessons import Batch, Lessons

OVERFIT = 150  # steps on one batch,
SWEEP = 40  # for each rate,
SHUFFLED = 150  # and with each kind of labels
FACTORS = (1.0, 1e-2, 0.1, 10.0, 100.0)  # of the rate that the loop has,
RATES = (1e-3, 1e-2, 0.1)  # and rates that are usual
LONGEST = 60.0  # seconds for all of it: with a slow model there are fewer steps

Say = Callable[[str, float], None]


@dataclass
class Result:
    """What was tried, in numbers."""

    overfit: tuple[float, float] | None = None  # first and last loss on one batch
    rates: list[tuple[float, float, float]] = field(default_factory=list)  # rate, first, last loss
    labels: tuple[float, float, float] | None = (
        None  # held out: untrained, trained, on shuffled ones
    )
    seconds: float = 0.0
    steps: int = 0
    reason: str = ""  # why nothing was tried


class Experiments:
    """Run on what a loop's lessons have kept."""

    def __init__(self, lessons: Lessons) -> None:
        self.lessons, self.engine = lessons, lessons.engine
        self.scale = 1.0
        self._done = 0
        self._say: Say | None = None

    @property
    def reason(self) -> str:
        """Why nothing can be tried; empty if something can."""
        if self.lessons.optimizer is None or not self.lessons.batches:
            return self.lessons.reason
        return ""

    @property
    def total(self) -> int:
        """Steps of all experiments."""
        held = 2 * SHUFFLED if self._can_shuffle() else 0
        rates = len(FACTORS) + len(RATES)
        return max(1, round(self.scale * (3 * OVERFIT + rates * SWEEP + held)))

    @property
    def rate(self) -> float:
        """The loop's own."""
        assert self.lessons.optimizer is not None
        group = self.lessons.optimizer[1]
        return float(group.get("initial_lr", group.get("lr", 1e-3)) or 1e-3)

    def seconds(self) -> float:
        """About how long it will take, measured on two steps; slow models get fewer steps."""
        with random_state(self.engine):
            began = perf_counter()
            list(self._train(self.lessons.batches[:1], 2, 1.0))
            each = (perf_counter() - began) / 2
        self.scale = min(1.0, max(0.1, LONGEST / (each * self.total)))
        return each * self.total

    def run(self, say: Say | None = None) -> Result:
        """All of them."""
        found, began = Result(), perf_counter()
        if self.reason:
            return Result(reason=self.reason)
        self._say = say
        with random_state(self.engine):
            factors = (*FACTORS, *(rate / self.rate for rate in RATES))
            found.rates = [self._at_rate(factor) for factor in factors]
            best = min(found.rates, key=lambda tried: tried[2])[0] / self.rate
            found.overfit = self._overfit(best)
            found.labels = self._labels(best) if self._can_shuffle() else None
        found.seconds, found.steps = perf_counter() - began, self._done
        return found

    # --- the experiments -----------------------------------------------------------------------

    def _overfit(self, factor: float) -> tuple[float, float]:
        batch = self.lessons.batches[:1]
        tried = [
            list(self._train(batch, OVERFIT, f, "overfitting one batch"))
            for f in (1.0, factor, 0.1 * factor)
        ]
        best = min(tried, key=_last)
        return best[0], _last(best)

    def _at_rate(self, factor: float) -> tuple[float, float, float]:
        """The rate, and the loss of all batches before and after."""
        model, batches = self._copy(), self.lessons.batches
        before = self._loss_of(model, batches)
        for _ in self._train(batches, SWEEP, factor, "other learning rates", model):
            pass
        after = self._loss_of(model, batches)
        return self.rate * factor, before, after if math.isfinite(after) else math.inf

    def _can_shuffle(self) -> bool:
        batches = self.lessons.batches
        return (
            len(batches) >= 4
            and all(b.size > 1 for b in batches)
            and sum(b.size for b in batches) >= 48
        )

    def _labels(self, factor: float) -> tuple[float, float, float]:
        half = len(self.lessons.batches) // 2
        taught, held = self.lessons.batches[:half], self.lessons.batches[half:]
        learned = self._held_out(taught, held, factor)
        shuffled = [copy.copy(batch) for batch in taught]
        for batch in shuffled:
            order = self.engine.randperm(batch.size)
            batch.target = batch.target[order]
        return self._loss_of(self._copy(), held), learned, self._held_out(shuffled, held, factor)

    def _held_out(self, taught: list[Batch], held: list[Batch], factor: float) -> float:
        """The least loss of others that a copy comes to, while it is taught these."""
        model, best = self._copy(), math.inf
        steps = max(8, round(SHUFFLED * self.scale))
        for i, _ in enumerate(self._train(taught, SHUFFLED, factor, "shuffled labels", model)):
            if i % max(1, steps // 10) == 0:
                best = min(best, self._loss_of(model, held))
        return min(best, self._loss_of(model, held))

    # --- training a copy -----------------------------------------------------------------------

    def _copy(self) -> Any:
        model = copy.deepcopy(self.lessons.model)
        return model.train(self.lessons.mode)

    def _optimizer(self, model: Any, factor: float) -> Any:
        assert self.lessons.optimizer is not None
        kind, group = self.lessons.optimizer
        known = inspect.signature(kind).parameters
        options = {k: v for k, v in group.items() if k in known and k != "params"}
        options["lr"] = self.rate * factor
        trained = [p for p in model.parameters() if p.requires_grad]
        return kind(trained, **options)

    def _train(
        self, batches: list[Batch], steps: int, factor: float, what: str = "", model: Any = None
    ) -> Iterator[float]:
        """The loss before each step."""
        model = self._copy() if model is None else model
        optimizer = self._optimizer(model, factor)
        for i in range(max(2, round(steps * self.scale)) if what else steps):
            optimizer.zero_grad()
            loss = self._loss(model, batches[i % len(batches)])
            loss.backward()
            yield float(loss.detach())
            optimizer.step()
            if what:
                self._done += 1
                if self._say is not None:
                    self._say(what, min(1.0, self._done / self.total))

    def _loss(self, model: Any, batch: Batch) -> Any:
        output = model(*batch.args)
        output = output[0] if isinstance(output, tuple | list) else output
        function = getattr(self.engine.nn.functional, batch.function)
        return function(output.reshape(batch.shape), batch.target, **batch.options).mean()

    def _loss_of(self, model: Any, batches: list[Batch]) -> float:
        model.eval()
        with self.engine.no_grad():
            losses = [float(self._loss(model, batch)) for batch in batches]
        model.train(self.lessons.mode)
        return sum(losses) / len(losses)


def _last(losses: list[float]) -> float:
    """The usual of the last few; what is no number is as bad as can be."""
    late = sorted(v if math.isfinite(v) else math.inf for v in losses[-5:])
    return late[len(late) // 2]
