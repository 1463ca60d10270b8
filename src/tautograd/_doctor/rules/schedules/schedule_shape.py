"""Schedules that are over long before the run is, or begin again: TG905."""

from __future__ import annotations

import weakref
from itertools import pairwise
from typing import Any

from ...._user_code.sites import Site
from ...state.courses import Course
from ...watch.enclosing_loops import Turn, enclosing_loops, goes_on
from ...watch.events import Sample, Schedule, Step
from ..base import Rule
from ..training_loop import training

_PERIODS = {
    "CosineAnnealingLR": "T_max", "CosineAnnealingWarmRestarts": "T_0", "LinearLR": "total_iters",
    "PolynomialLR": "total_iters",
}  # fmt: skip
_LENGTHS = {**_PERIODS, "OneCycleLR": "total_steps"}


class ScheduleShape(Rule):
    """The learning rate is nothing for a good part of the run, or its period counts epochs, not batches."""

    code = "TG905"
    name = "schedule-shape"
    severity = "warning"
    why = (
        "A schedule counts how often it is stepped. One that was written for epochs and is stepped after "
        "every batch is over in the first of them: the rate is nothing from then on, or climbs again."
    )
    quiet = (
        "Schedules that end with the run, rates that begin at nothing and climb from the next step on, a "
        "second optimizer that waits for the first, ReduceLROnPlateau, and periods that are not the number "
        "of epochs."
    )
    sure = "Certain that the rate was so; that it was not meant is likely."
    refute = (
        "The run goes on for other reasons: statistics of a batch norm, or an average of weights."
    )
    fix = "scheduler.step()  # once per epoch, not once per batch"
    example = training(
        """
  for epoch in range(4):
      for i in range(0, 28, 4):
          optimizer.zero_grad()
          torch.nn.functional.mse_loss(model(x[i : i + 4]), y[i : i + 4]).backward()
          optimizer.step()
-         scheduler.step()  # here
+     scheduler.step()
""",
        lr=0.05,
        scheduler="""
  scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
""",
        data="x, y = torch.randn(32, 3), torch.randn(32, 1)",
    )
    nothing = 1.5e-5  # of the largest rate: five steps of a tenth
    share = 0.25  # of the run
    least = 8  # steps

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.rates: dict[int, list[tuple[int, float]]] = {}  # optimizer -> steps and rates
        self.sites: dict[
            int, Site | None
        ] = {}  # where its scheduler steps, or the optimizer itself
        self.patient: set[int] = set()  # optimizers whose scheduler waits for a plateau
        self.epochs: dict[int, Any] = {}  # scheduler -> what the outer loop was at, when it stepped
        self.names: dict[int, list[str]] = {}
        self.made: dict[int, Site | None] = {}
        self.first: dict[int, Site | None] = {}  # optimizer -> where its first scheduler was made
        self.turns: dict[int, int] = {}  # optimizer -> how often a scheduler moved its rate,
        self.idle: dict[int, int] = {}  # and how often while it stayed 0
        self.lengths: dict[int, _Length] = {}  # optimizer -> how far its one schedule is
        self.factors: dict[int, list[tuple[float, float]]] = {}  # of LambdaLR: first rate, factor

    def before_step(self, event: Step) -> None:
        self.sites.setdefault(id(event.optimizer), event.site)

    def on_schedule(self, event: Schedule) -> None:
        key, kind = id(event.optimizer), type(event.scheduler).__name__
        if kind == "ReduceLROnPlateau":
            self.patient.add(key)
        if event.made:
            self.made[id(event.scheduler)] = event.site
            self.first.setdefault(key, event.site)
            length = getattr(event.scheduler, _LENGTHS.get(kind, ""), None)
            if isinstance(length, int) and length > 1:
                self.lengths[key] = _Length(event.scheduler, kind, length)
            if kind == "LambdaLR":
                self.factors[key] = []
            return
        self.sites[key] = event.site
        self.turns[key] = self.turns.get(key, 0) + 1
        course = self.doctor.courses.of(event.scheduler)
        period = None if course is None else _period_of(kind, course.settings)
        if period is not None and not event.with_epoch:
            self._count(event, period)

    def _count(self, event: Schedule, period: int) -> None:
        """Stepped twice while the loop that has as many turns as the period stands still."""
        turn = _turn_of(enclosing_loops(), period)
        known = self.epochs.get(id(event.scheduler))
        self.epochs[id(event.scheduler)] = weakref.ref(event.scheduler), turn
        if turn is None or known is None or known[0]() is not event.scheduler or known[1] != turn:
            return
        self.report(
            f"The period is {period}, the number of epochs, and the scheduler is stepped after every batch: "
            f"the schedule is over after {period} batches and begins again.",
            event.site, fix_site=self.made.get(id(event.scheduler)), figures={"period": period},
        )  # fmt: skip

    def on_sample(self, event: Sample) -> None:
        rate = max(float(g.get("lr", 0.0) or 0.0) for g in event.optimizer.param_groups)
        if not rate:
            self.idle[id(event.optimizer)] = self.turns.get(id(event.optimizer), 0)
        rates = self.rates.setdefault(id(event.optimizer), [])
        if len(rates) < 2000:
            rates.append((self.doctor.steps, rate))
            if len(rates) == 1:
                self.names[id(event.optimizer)] = self.doctor.names(event.parameters)
        factors, group = self.factors.get(id(event.optimizer)), event.optimizer.param_groups[0]
        if factors is not None and group.get("initial_lr"):
            factors.append((float(group["initial_lr"]), float(group["lr"] / group["initial_lr"])))
        if (length := self.lengths.get(id(event.optimizer))) is not None:
            length.look(self.doctor.steps)

    def at_end(self) -> None:
        if len(self.rates) == 1 and not self.doctor.is_cut_short:
            for course in self.doctor.courses.all:
                self._never_warm(course)
        for course in self.doctor.courses.all:
            self._stairs_of_epochs(course)
        for key, length in self.lengths.items():
            self._too_seldom(key, length)
        for key, factors in self.factors.items():
            self._rate_for_a_factor(key, factors)
        for key, rates in self.rates.items():
            top = max(rate for _, rate in rates)
            if not top or key in self.patient:
                continue
            self._begins_late(key, rates)
            highest = max(step for step, rate in rates if rate == top)
            since = next(
                (s for s, r in rates if s > highest and r < self.nothing * top), self.doctor.steps
            )
            lost = self.doctor.steps - since
            if rates[-1][1] < self.nothing * top and lost >= max(
                self.least, self.share * self.doctor.steps
            ):
                self.report(
                    f"The learning rate has fallen from {top:g} to {rates[-1][1]:.1g}: the last {lost} of "
                    f"{self.doctor.steps} steps have changed nothing.",
                    self.sites.get(key), step=since, parameters=self.names.get(key, []),
                    figures={"from": top, "to": rates[-1][1], "steps": lost},
                )  # fmt: skip

    def _too_seldom(self, key: int, length: _Length) -> None:
        """A schedule that is as long as the run has steps, and is stepped once per epoch."""
        steps = self.doctor.steps
        turns = length.look(steps)
        if len(self.rates) != 1 or length.length != steps or not 2 <= turns <= steps // 2:
            return
        self.report(
            f"{length.kind} is made for {length.length} steps, as many as the optimizer has made, and was "
            f"stepped {turns} times: the rate has come no further than the first {turns} of them.",
            self.sites.get(key), parameters=self.names.get(key, []), key=(self.code, key, "seldom"),
            figures={"length": length.length, "turns": turns}, fix_site=self.first.get(key),
            fix="scheduler.step()  # after every optimizer.step(), not once per epoch",
        )  # fmt: skip

    def _never_warm(self, course: Course) -> None:
        """A warm-up that is as long as so many optimizer steps, and is stepped once for several of them."""
        rates, steps = [rate for _, rate in course.rates], self.doctor.steps - course.made
        rises = all(b > a for a, b in pairwise(rates))
        if course.turns < 5 or 2 * course.turns > steps or not rises or not course.start:
            return
        reached = rates[-1] / course.start
        needed = _warm_up_of(course) or (course.turns + 1) / max(reached, 1e-9)
        if reached >= 0.5 or not 3 * course.turns < needed <= steps:
            return
        self.report(
            f"The warm-up takes {needed:.0f} turns and has had {course.turns} in {steps} steps: the rate has come "
            f"to {rates[-1]:.2g}, of {course.start:g}. It counts batches, and is stepped once per epoch.",
            course.stepped_at or course.site, fix_site=course.site, key=(self.code, course.site, "warm"),
            figures={"turns": course.turns, "warm-up": round(needed), "steps": steps},
            fix="scheduler.step()  # after every optimizer.step(), not once per epoch",
        )  # fmt: skip

    def _stairs_of_epochs(self, course: Course) -> None:
        """All stairs are passed in the first turn of a loop that has as many turns as they count, or more."""
        outer = [loops[1:] for loops in course.falls]
        if course.kind == "MultiStepLR":
            stairs = course.settings.get("milestones") or []
            least, last = len(stairs), max(stairs, default=0)
            if course.turns < 10 * last:
                return
        else:
            last, least = course.settings.get("step_size", 0), 3
        shrinks = course.settings.get("gamma", 1.0) <= 0.5
        if not shrinks or not least or len(outer) < least or not all(outer):
            return
        for loop in outer[0]:
            is_long = loop.turns is not None and loop.turns >= max(last, 2)
            if (
                is_long
                and goes_on(loop, course.looks)
                and all(loop in loops for loops in outer[:least])
            ):
                self._say_stairs(course, loop.turns or 0, least)
                return

    def _say_stairs(self, course: Course, turns: int, falls: int) -> None:
        self.report(
            f"The rate has fallen {falls} times within one of {turns} turns of the loop: the schedule counts "
            "epochs, and is stepped after every batch.",
            course.stepped_at or course.site, fix_site=course.site, key=(self.code, course.site, "stairs"),
            figures={"falls": falls, "epochs": turns},
        )  # fmt: skip

    def _rate_for_a_factor(self, key: int, factors: list[tuple[float, float]]) -> None:
        """LambdaLR multiplies by what its function gives: one that gives the rate itself makes it its square."""
        if not factors or factors[0][0] >= 0.1:
            return
        rate, top = factors[0][0], max(factor for _, factor in factors)
        if abs(top - rate) > 1e-5 * rate or min(factor for _, factor in factors) == top:
            return
        self.report(
            f"The largest factor of this schedule is {top:g}, which is the learning rate itself: LambdaLR "
            f"multiplies the rate by it, and {rate * top:g} is all that there ever is.",
            self.first.get(key) or self.sites.get(key), parameters=self.names.get(key, []),
            figures={"rate": rate, "factor": top}, key=(self.code, key, "factor"),
            fix="return step / warmup  # a factor that grows to 1, not the rate",
        )  # fmt: skip

    def _begins_late(self, key: int, rates: list[tuple[int, float]]) -> None:
        """A schedule made the rate exactly 0 for the first steps, and not for one only; a rate that the loop
        itself sets to 0 for a while is meant."""
        if key not in self.first:
            return
        first, rate = next((step, rate) for step, rate in rates if rate)
        idle = max((step for step, rate in rates if not rate and step < first), default=0)
        if idle < self.least or len(self.rates) > 1 or self.idle.get(key, 0) < 2:
            return  # a schedule of epochs may begin with one at 0
        self.report(
            f"The learning rate was exactly 0 for the first {idle} or more of {self.doctor.steps} steps, and then "
            f"{rate:g}: until then every step changed nothing.",
            self.first[key] or self.sites.get(key), step=1, parameters=self.names.get(key, []),
            figures={"steps": idle, "rate": rate}, key=(self.code, key, "late"),
            fix="rate = (step + 1) / warmup  # a fraction, not a whole number",
        )  # fmt: skip


def _warm_up_of(course: Course) -> int | None:
    """The turns of a warm-up, where it says so."""
    parts, starts = course.settings.get("parts"), course.settings.get("_milestones")
    if parts and starts:
        return int(starts[0])
    return course.settings.get("total_iters") if course.kind == "LinearLR" else None


class _Length:
    """A schedule of a known length, and how far it has come; the scheduler may be gone at the end."""

    def __init__(self, scheduler: Any, kind: str, length: int) -> None:
        self.scheduler, self.kind, self.length = weakref.ref(scheduler), kind, length
        self.turns = self.steps = 0

    def look(self, steps: int) -> int:
        """How often it was stepped, by now; as often as so far, if nobody knows any more."""
        scheduler = self.scheduler()
        if scheduler is not None:
            self.turns, self.steps = int(scheduler.last_epoch), steps
        return round(self.turns * steps / self.steps) if self.steps else 0


def _period_of(kind: str, settings: dict[str, Any]) -> int | None:
    """How many turns a schedule is made for: of a sequence, all that come before its last part as well."""
    parts, starts = settings.get("parts"), settings.get("_milestones")
    if kind == "SequentialLR" and parts and starts:
        last = _period_of(*parts[-1])
        return None if last is None else last + starts[-1]
    period = settings.get(_PERIODS.get(kind, ""))
    return period if isinstance(period, int) and period > 1 else None


def _turn_of(loops: list[Turn], count: int) -> Turn | None:
    """At which turn an outer loop is that has so many; not where the scheduler is stepped in such a loop itself."""
    if not loops or loops[0].turns == count:
        return None
    return next((loop for loop in loops[1:] if loop.turns == count), None)
