"""A step in numbers: norms of gradients, sizes of updates, and whether all of it is finite.

The first steps are measured one and all; then fewer and fewer, so that some dozens of points cover a run of
any length, and more only where they take less than half a percent of the loop's time. Every loss is read
before its backward: a NaN that a step has put into the weights arrives there, and the curve of the loss
costs nothing more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..watch.events import Sample
from .history import History
from .parameter_owners import roots
from .step_measures import NAN, Measured, norms, with_gradients

if TYPE_CHECKING:
    from ..doctor import Doctor

DENSE = 40  # so many first steps of an optimizer are all measured
LEAST = 16  # afterwards, so many steps lie between two measurements that take
SHARE = 0.004  # no more than this of the time; if that were rare,
SPACING = 0.15  # one comes after this part of the steps so far all the same
KEPT = 1000  # steps that the history holds; of a longer run every other one is dropped


class _Schedule:
    """When an optimizer's steps are measured; `next` and `since` are steps of all optimizers."""

    __slots__ = ("count", "last", "next", "since")

    def __init__(self) -> None:
        self.count = self.next = self.since = 0
        self.last = 0.0


class Numbers:
    """Measures steps for a doctor, and keeps the history."""

    def __init__(self, doctor: Doctor) -> None:
        self.doctor = doctor
        self.history = History()
        self.is_measuring = False
        self.due = 0  # the step from which on one is to be measured
        self.skipped = 0  # steps in a row that a scaler skipped
        self._stride = 1
        self._samples = 0
        self._loss: Any = NAN  # as a number, or as a tensor on another device
        self._curve_due = 0  # the step from which on a loss is to be kept
        self.is_near = True
        self.previous = NAN  # the loss before the last one that was not finite
        self._schedules: dict[int, _Schedule] = {}
        self._measured: Measured | None = None
        self._scaler_step = -1
        self._engine: Any = None  # of the last optimizer that was measured

    # --- what happens --------------------------------------------------------------------------

    def before_backward(self, root: Any) -> bool:
        """Note the loss; whether it is not finite. One on another device is not waited for."""
        if not self.is_near:
            self._loss = root.detach()
            return False
        try:
            value = root.item()
        except (RuntimeError, ValueError):  # it has many elements, or none
            self._loss = NAN
            return False
        if self.doctor.steps >= self._curve_due:
            self._curve_due = self.history.curve.add(self.doctor.steps + 1, value)
        if value - value != 0:  # NaN or infinite
            self.previous, self._loss = self.loss, value
            return True
        self._loss = value
        return False

    def know(self, root: Any) -> None:
        """A loss, while awake: whether those that come can be read at once."""
        self.is_near = root.device.type == "cpu"

    @property
    def loss(self) -> float:
        """The last one; NaN if it is not a number."""
        last = self._loss
        if not isinstance(last, (float, int)):
            is_number = hasattr(last, "numel") and last.numel() == 1 and not last.is_complex()
            last = self._loss = float(last.item()) if is_number else NAN
        return float(last)

    def on_scaler(self, how: str, scaler: Any) -> None:
        """A scaler's `step` that is followed by `update` without an optimizer's step was skipped."""
        if how == "step":
            self._scaler_step = self.doctor.steps
        elif how == "update" and self._scaler_step >= 0:
            self.skipped = self.skipped + 1 if self.doctor.steps == self._scaler_step else 0
            self._scaler_step = -1
            if self.skipped == 4:
                self.doctor.wake()

    def before_step(self, optimizer: Any, engine: Any) -> None:
        """A step that comes when one is `due`; it is measured if its own optimizer is."""
        schedule = self._schedules.get(id(optimizer))
        if schedule is None:
            schedule = self._schedules[id(optimizer)] = _Schedule()
        schedule.count += 1
        if self.doctor.steps >= schedule.next:
            with self.doctor.quietly():
                self._measure(optimizer, engine)

    def _measure(self, optimizer: Any, engine: Any) -> None:
        found = with_gradients(optimizer)
        if not found:
            return
        self._engine = engine
        self._measured, self.is_measuring = Measured(optimizer, engine, found), True

    def after_step(self, optimizer: Any) -> None:
        measured = self._measured
        if measured is None or measured.optimizer is not optimizer:
            return
        self._measured, self.is_measuring = None, False
        started = time.perf_counter()
        ratios, unchanged = measured.updates()
        doctor = self.doctor
        event = Sample(
            *doctor.now(None, measured.engine), optimizer=optimizer, parameters=measured.parameters,
            norms=measured.norms, ratios=ratios, unchanged=unchanged, loss=self.loss,
        )  # fmt: skip
        self._remember(event)
        doctor.on_sample(event)
        self._plan(measured, started)

    def _plan(self, measured: Measured, started: float) -> None:
        schedule = self._schedules[id(measured.optimizer)]
        now = time.perf_counter()
        steps, since = self.doctor.steps, schedule.since
        if schedule.count >= DENSE:
            spent = measured.spent + now - started
            passed = (measured.started - schedule.last) / max(steps - since, 1)
            wait = spent / (SHARE * passed) if passed > 0 else 0.0
            wait = min(max(wait, LEAST), max(SPACING * steps, 5), 10_000)
            schedule.next = steps + int(wait)
        schedule.last, schedule.since = now, steps
        self.due = min(schedule.next for schedule in self._schedules.values())

    def measure_soon(self) -> None:
        """Something was found: the next step is measured, so that the history shows how it went on."""
        for schedule in self._schedules.values():
            schedule.next = min(schedule.next, self.doctor.steps)
        self.due = min(self.due, self.doctor.steps)

    def finish(self) -> None:
        """The run is over: its last loss, and the gradients of its last step where they are still there."""
        steps, history = self.doctor.steps, self.history
        history.curve.end(steps)
        pulse = self.doctor.pulse
        last = self._known_loss()
        if history.curve.steps and pulse.at is pulse.first and last is not None:  # the last step's
            history.curve.add(steps, last)
        self._curve_due = 0
        alive = [
            o
            for reference in self.doctor.optimizers
            if (o := reference()) is not None and id(o) in self._schedules
        ]
        if len(alive) != 1 or pulse.at is not pulse.first or not history.steps:
            return  # something came after the last step, or nobody knows whose it was
        if history.steps[-1] < steps and self._engine is not None:
            found = with_gradients(alive[0])
            values = norms(self._engine, [p.grad.detach() for p in found]) if found else []
            self._keep(found, values, [None] * len(found), self._known_loss())

    # --- history -------------------------------------------------------------------------------

    def _remember(self, event: Sample) -> None:
        step, history = self.doctor.steps, self.history
        moved = [
            None if math.isnan(r) and math.isfinite(norm) else r  # a weight of size 0 has none
            for r, norm in zip(event.ratios, event.norms, strict=True)
        ]
        history.note_broken("norms", step, event.norms)
        history.note_broken("ratios", step, moved)
        loss = self._known_loss()
        if not self.is_near and loss is not None:  # it has been read now
            history.curve.add(step, loss)
        self._samples += 1
        if not self._samples % self._stride:
            self._keep(event.parameters, event.norms, moved, loss)

    def _known_loss(self) -> float | None:
        """The last one, which may be NaN; None where backward started from no single number."""
        last = self.loss  # reads it, if it was not yet
        return None if self._loss is NAN else last

    def _keep(
        self,
        parameters: list[Any],
        norms: Sequence[float | None],
        ratios: Sequence[float | None],
        loss: float | None,
    ) -> None:
        history = self.history
        count, rows = len(history.steps), len(history.norms)
        history.steps.append(self.doctor.steps)
        history.losses.append(loss)
        names = self.doctor.names(parameters)
        for table, values in ((history.norms, norms), (history.ratios, ratios)):
            for name, value in zip(names, values, strict=True):
                row = table.setdefault(name, [])
                if len(row) > count:  # two without a name
                    continue
                row.extend([None] * (count - len(row)))
                row.append(value)
            for row in table.values():
                if len(row) == count:
                    row.append(None)
        if len(history.norms) != rows:  # as the model has them, not as optimizers were given them
            models = roots(self.doctor)
            history.arrange(self.doctor.names(p for m in models for p in m.parameters()))
        if len(history.steps) >= KEPT:
            self._stride *= 2
            history.steps[:] = history.steps[::2]
            for row in (history.losses, *history.norms.values(), *history.ratios.values()):
                row[:] = row[::2]
