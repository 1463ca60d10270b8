"""ReduceLROnPlateau that takes every improvement for a plateau: TG908."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from ...watch.enclosing_loops import Turn, enclosing_loops, goes_on
from ...watch.events import Sample, Schedule
from ..base import Rule


class PlateauWrongWay(Rule):
    """ReduceLROnPlateau waits for a number to go the wrong way, gets one that stays, or one for every batch."""

    code = "TG908"
    name = "plateau-wrong-way"
    severity = "warning"
    why = (
        "ReduceLROnPlateau lowers the rate when its number stops getting better. With mode='max' for a loss, or "
        "the usual 'min' for an accuracy, every improvement counts as a plateau, and the rate is soon nothing. A "
        "number that never changes is a plateau as well, and the loss of single batches, which goes up and down, "
        "is one as soon as its patience, which counts epochs, is over."
    )
    quiet = (
        "A loss that grows because the model overfits, schedules that have not lowered the rate, accuracies that "
        "stay, and losses of single batches as long as the rate is not nothing."
    )
    sure = "Certain that the number got better the other way whenever the rate was lowered."
    refute = "The number is meant to move this way, and the model is getting worse."
    fix = "scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode='min')"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
- scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=1)
+ scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", patience=1)
  x = torch.randn(32, 3)
  y = x.sum(1, keepdim=True)
  for _ in range(10):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
      loss.backward()
      optimizer.step()
-     scheduler.step(loss.item())  # here
+     scheduler.step(loss.item())
"""
    enough = 5  # numbers
    share = 0.8  # of them better than the one before, the other way

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.seen: dict[int, list[tuple[float, float]]] = {}  # scheduler -> its numbers and rates
        self.made: dict[int, Any] = {}
        self.losses: list[float] = []
        self.turns: dict[int, list[list[Turn]]] = {}  # the outer loops, when it was stepped

    def on_sample(self, event: Sample) -> None:
        if math.isfinite(event.loss) and len(self.losses) < 4000:
            self.losses.append(event.loss)

    def on_schedule(self, event: Schedule) -> None:
        if event.made:
            self.made[id(event.scheduler)] = event.site
        if event.metric is None or event.optimizer is None:
            return
        rate = max(float(g.get("lr", 0.0) or 0.0) for g in event.optimizer.param_groups)
        seen = self.seen.setdefault(id(event.scheduler), [])
        seen.append((event.metric, rate))
        self._per_batch(event, rate / seen[0][1] if seen[0][1] else 1.0)
        self._stays(event, [value for value, _ in seen])
        if len(seen) >= self.enough and rate < seen[0][1]:
            self._judge(event, [value for value, _ in seen])

    def _stays(self, event: Schedule, values: list[float]) -> None:
        """The same number each time, while the loss of the steps between is another each time."""
        if len(values) < self.enough or len({repr(value) for value in values}) > 1:
            return
        is_loss = not math.isfinite(values[0]) or (values[0] % 1 and not _is_share(values))
        if is_loss and len(set(self.losses)) > 3:
            self.report(
                f"The number that the schedule is given has been {values[0]:g} each of {len(values)} times: it is "
                "not measured anew, and every turn counts as a plateau.",
                event.site, fix_site=self.made.get(id(event.scheduler)),
                key=(self.code, event.site, "stays"), figures={"numbers": values[:12]},
                fix="scheduler.step(loss)  # what was measured in this epoch",
            )  # fmt: skip

    def _per_batch(self, event: Schedule, left: float) -> None:
        """Stepped again and again in one turn of an outer loop, and the rate is nothing for it."""
        key = id(event.scheduler)
        turns = self.turns.setdefault(key, [])
        if len(turns) < 200:
            turns.append(enclosing_loops()[1:])
        patience = getattr(event.scheduler, "patience", 0)
        if left >= 1e-3 or len(turns) < 5 * patience or self.doctor.steps > 2 * len(self.seen[key]):
            return
        again = sum(
            any(loop in a for loop in b if goes_on(loop, turns)) for a, b in pairwise(turns)
        )
        if again >= 0.7 * len(turns):
            self.report(
                f"The schedule is given the loss of every batch, and its patience is {patience}: the rate has "
                f"fallen to {left:.1g} of what it was.",
                event.site, fix_site=self.made.get(key), key=(self.code, event.site, "batches"),
                figures={"patience": patience, "turns": len(self.seen[key])},
                fix="scheduler.step(loss)  # once per epoch, with the mean of its batches",
            )  # fmt: skip

    def _judge(self, event: Schedule, values: list[float]) -> None:
        mode = str(getattr(event.scheduler, "mode", ""))
        falls = sum(b < a for a, b in pairwise(values)) / (len(values) - 1)
        rises = sum(b > a for a, b in pairwise(values)) / (len(values) - 1)
        learns = len(self.losses) > 3 and self.losses[-1] < 0.95 * self.losses[0]
        if not learns:
            return
        if (
            mode == "max"
            and falls >= self.share
            and values[-1] < 0.95 * values[0]
            and values[0] > 0
        ):
            self._say(event, values, "min", "falls, as an error does", "grow")
        elif mode == "min" and _is_share(values) and values.index(min(values)) == 0:
            steady = sum(b < a for a, b in pairwise(values)) == 0
            if steady and (rises >= 0.3 or values[-1] >= 0.9) and values[-1] > 1.1 * values[0]:
                self._say(event, values, "max", "grows, as an accuracy does", "fall")

    def _say(self, event: Schedule, values: list[float], mode: str, moves: str, waits: str) -> None:
        self.report(
            f"The number that the schedule is given {moves}, from {values[0]:.3g} to {values[-1]:.3g}, and the "
            f"schedule waits for it to {waits}: it has lowered the rate while the model got better.",
            event.site, fix_site=self.made.get(id(event.scheduler)),
            fix=f"scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode='{mode}')",
            figures={"numbers": values[:12]},
        )  # fmt: skip


def _is_share(values: list[float]) -> bool:
    """Whether these may be parts of one, or of a hundred."""
    return all(0.0 <= v <= 1.0 for v in values) or all(0.0 <= v <= 100.0 for v in values)
