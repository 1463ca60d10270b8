"""Schedules that should fall and climb: TG912."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ...state.courses import STAIRCASES, Course
from ..base import Rule
from ..training_loop import training

_COSINES = ("CosineAnnealingLR", "CosineAnnealingWarmRestarts")


class RateClimbs(Rule):
    """A schedule that brings the rate down makes it larger: past its end, or by its own numbers."""

    code = "TG912"
    name = "rate-climbs"
    severity = "warning"
    why = (
        "A cosine goes on after its T_max: the rate climbs back to where it began, and the run ends in the "
        "middle of it. A factor above 1, or an eta_min above the rate itself, make a decay grow."
    )
    quiet = (
        "A few steps past the end, cycles that the run ends at the bottom of, warm restarts, rates that grow "
        "from batch to batch to find one, and runs that were stopped before their end."
    )
    sure = "Certain that the rate was so; that it was not meant is likely."
    refute = "The rate is meant to be large at the end of the run."
    fix = "scheduler = CosineAnnealingLR(optimizer, T_max=epochs * len(loader))  # all its steps"
    example = training(
        """
  for epoch in range(2):
      for i in range(0, 32, 4):
          optimizer.zero_grad()
          torch.nn.functional.mse_loss(model(x[i : i + 4]), y[i : i + 4]).backward()
          optimizer.step()
          scheduler.step()
""",
        lr=0.05,
        scheduler="""
- scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)  # here
+ scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=16)
""",
        data="x, y = torch.randn(32, 3), torch.randn(32, 1)",
    )
    past = 0.25  # of a period after its end, and as much of the way up again

    def at_end(self) -> None:
        for course in self.doctor.courses.all:
            if course.turns < 2 or course.site is None:
                continue
            kind, settings, turns = _last_part(course)
            if kind == "CosineAnnealingLR":
                self._past_its_end(course, settings.get("T_max"), turns)
            if kind in _COSINES:
                self._floor(course, settings)
            if kind in STAIRCASES or kind == "ExponentialLR":
                self._grows(course, settings, kind)

    def _past_its_end(self, course: Course, period: Any, turns: int) -> None:
        rates = [rate for _, rate in course.rates]
        low, top, last = min(rates), max(*rates, course.start), rates[-1]
        if self.doctor.is_cut_short or not isinstance(period, int) or period < 2:
            return
        is_past = turns >= period + max(2, self.past * period)
        if not is_past or last < low + self.past * (top - low):
            return
        if any(abs(used - left) > 1e-9 * abs(left) for left, used in course.used):
            return  # somebody sets it by hand as well
        self.report(
            f"The cosine is made for {period} turns and has made {turns}: the rate came down to {low:.2g} "
            f"and climbed again, and the run ends with {last:.2g}.",
            course.site, fix_site=course.stepped_at,
            figures={"period": period, "turns": turns, "last rate": last},
            fix=f"T_max={turns}  # as often as it is stepped",
        )  # fmt: skip

    def _floor(self, course: Course, settings: dict[str, Any]) -> None:
        floor, base = settings.get("eta_min"), settings.get("base_lrs") or [0.0]
        below = [rate for rate in base if isinstance(floor, float) and 0 < rate < floor]
        if below and course.changes:
            self.report(
                f"The rate is annealed to {floor:g} and begins at {min(below):g}: it climbs.",
                course.site, key=(self.code, course.site, "floor"), fix_site=course.stepped_at,
                figures={"eta_min": floor, "rate": min(below)},
                fix="eta_min=0.0  # below the rate",
            )  # fmt: skip

    def _grows(self, course: Course, settings: dict[str, Any], kind: str) -> None:
        gamma, moved = settings.get("gamma"), course.moved()
        rises = sum(b > a for a, b in pairwise(moved))
        if not isinstance(gamma, int | float) or gamma <= 1 or rises < 2:
            return
        if kind == "ExponentialLR" and 2 * course.turns > self.doctor.steps - course.made:
            return  # from batch to batch: a search for a good rate
        self.report(
            f"The schedule multiplies the rate by {gamma:g} each time: it has grown from {course.start:g} to "
            f"{moved[-1]:g}.",
            course.site, key=(self.code, course.site, "grows"), fix_site=course.stepped_at,
            figures={"gamma": gamma, "from": course.start, "to": moved[-1]},
            fix=f"gamma={1 / gamma:g}  # below 1",
        )  # fmt: skip


def _last_part(course: Course) -> tuple[str, dict[str, Any], int]:
    """The schedule that is at work at the end, and how often it was stepped."""
    parts, starts = course.settings.get("parts"), course.settings.get("_milestones")
    if course.kind == "SequentialLR" and parts and starts and course.last > starts[-1]:
        return (*parts[-1], course.last - starts[-1])
    return course.kind, course.settings, course.last
