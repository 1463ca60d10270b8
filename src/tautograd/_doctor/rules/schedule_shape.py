"""Schedules that are over long before the run is, or begin again: TG905."""

from __future__ import annotations

import ast
import weakref
from types import FrameType
from typing import Any

from ..._user_code.sites import Site, site_at
from ..._user_code.stack import user_frames
from ..watch.discarded_results import value_of
from ..watch.events import Sample, Schedule, Step
from ..watch.source_flow import function_around
from .base import Rule

_PERIODS = {"CosineAnnealingLR": "T_max", "LinearLR": "total_iters", "PolynomialLR": "total_iters"}


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
        "Schedules that end with the run, rates that begin at nothing, ReduceLROnPlateau, and periods "
        "that are not the number of epochs."
    )
    sure = "Certain that the rate was so; that it was not meant is likely."
    refute = (
        "The run goes on for other reasons: statistics of a batch norm, or an average of weights."
    )
    fix = "scheduler.step()  # once per epoch, not once per batch"
    bug = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
x, y = torch.randn(32, 3), torch.randn(32, 1)
for epoch in range(4):
    for i in range(0, 32, 4):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x[i : i + 4]), y[i : i + 4]).backward()
        optimizer.step()
        scheduler.step()  # here
"""
    fixed = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
x, y = torch.randn(32, 3), torch.randn(32, 1)
for epoch in range(4):
    for i in range(0, 32, 4):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x[i : i + 4]), y[i : i + 4]).backward()
        optimizer.step()
    scheduler.step()
"""
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

    def before_step(self, event: Step) -> None:
        self.sites.setdefault(id(event.optimizer), event.site)

    def on_schedule(self, event: Schedule) -> None:
        key, kind = id(event.optimizer), type(event.scheduler).__name__
        if kind == "ReduceLROnPlateau":
            self.patient.add(key)
        if event.made:
            self.made[id(event.scheduler)] = event.site
            return
        self.sites[key] = event.site
        period = getattr(event.scheduler, _PERIODS.get(kind, ""), None)
        if isinstance(period, int) and period > 1:
            self._count(event, period)

    def _count(self, event: Schedule, period: int) -> None:
        """Stepped twice while the loop that has as many turns as the period stands still."""
        turn = _turn_of(event.site, period)
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
        rates = self.rates.setdefault(id(event.optimizer), [])
        if len(rates) < 2000:
            rates.append((self.doctor.steps, rate))
            if len(rates) == 1:
                self.names[id(event.optimizer)] = self.doctor.names(event.parameters)

    def at_end(self) -> None:
        for key, rates in self.rates.items():
            top = max(rate for _, rate in rates)
            if not top or key in self.patient:
                continue
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


def _turn_of(site: Site | None, count: int) -> Any:
    """At which turn the outermost loop around a line is, if it has so many and holds another loop."""
    frames = user_frames()
    if site is None or not frames:
        return None
    frame = frames[0]
    function = function_around(site_at(frame))
    loops = [
        n
        for n in (ast.walk(function) if function is not None else ())
        if isinstance(n, ast.For) and n.lineno <= site.line <= (n.end_lineno or n.lineno)
    ]
    if len(loops) < 2 or not isinstance(loops[0].target, ast.Name):
        return None
    if not _has_turns(loops[0].iter, frame, count):
        return None
    return frame.f_locals.get(loops[0].target.id)


def _has_turns(given: ast.expr, frame: FrameType, count: int) -> bool:
    """Whether this is `range(count)`, with a number or a name."""
    is_range = isinstance(given, ast.Call) and isinstance(given.func, ast.Name)
    if not is_range or given.func.id != "range" or not given.args:  # type: ignore[attr-defined]
        return False
    last = given.args[-1] if len(given.args) < 3 else given.args[1]  # type: ignore[attr-defined]
    turns = last.value if isinstance(last, ast.Constant) else value_of(last, frame)
    return type(turns) is int and turns == count
