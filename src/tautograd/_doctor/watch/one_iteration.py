"""Which iteration is looked at call by call: for each of the first optimizers, one from step to step.

Rules hear of it by `on_traced` before each step in it, and once more when it is over.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .events import Backward, Step, Traced
from .value_numbers import ValueNumbers

if TYPE_CHECKING:
    from ..doctor import Doctor

MOST = 3  # optimizers of which an iteration is looked at


class OneIteration:
    """Starts and stops the looking."""

    def __init__(self, doctor: Doctor) -> None:
        self.doctor = doctor
        self._values: ValueNumbers | None = None
        self._of: Any = None  # the optimizer, weakly
        self._known: dict[int, Any] = {}  # those whose iteration was looked at

    def before_backward(self, event: Backward) -> None:
        if self._values is not None:
            self._values.arrive(event.roots)

    def before_step(self, event: Step) -> None:
        values = self._values
        if values is None:
            return
        is_over = self._of() is event.optimizer
        if is_over:
            self.stop()
        values.is_paused = True
        if values.is_complete and not event.has_closure:
            told = Traced(
                *self.doctor.now(event.site, event.engine), values=values, parameters=event.parameters,
                is_over=is_over,
            )  # fmt: skip
            self.doctor.tell("on_traced", told)
        values.reached.clear()

    def after_step(self, event: Step) -> None:
        if self._values is not None:
            self._values.is_paused = False
        elif len(self._known) < MOST and not event.has_closure and self.doctor.pulse.close:
            known = self._known.get(id(event.optimizer))
            if known is None or known() is not event.optimizer:
                self._begin(event)

    def _begin(self, event: Step) -> None:
        if self.doctor.has_compiled or not self.doctor.listeners["on_traced"]:
            return
        values = ValueNumbers(event.engine, self.doctor)
        if values.start():
            self._of = weakref.ref(event.optimizer)
            self._known[id(event.optimizer)] = self._of
            self._values = values

    def stop(self) -> None:
        if self._values is not None:
            self._values.stop()
            self._values = None
