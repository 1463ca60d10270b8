"""Graphs that are cut in a loop without an optimizer: who is to be trained is told by the tensors themselves.

A leaf that the loop's own names hold, that requires a gradient and that no backward has ever reached is
suspected, while others get theirs. One iteration is then traced, as it is for an optimizer's parameters.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from ...._user_code.stack import user_frames
from ...watch.events import Backward
from ...watch.iteration_trace import Cut, Tracer
from ...watch.source_flow import is_conditional

BACKWARDS = 3  # without a gradient, before an iteration is traced


class CutByHand:
    """The suspects of loops that step by hand, and what a trace shows of them."""

    def __init__(self, doctor: Any) -> None:
        self.doctor = doctor
        self.backwards = 0
        self.tracer: Tracer | None = None
        self.suspects: list[Any] = []  # weak references

    def before_backward(self, event: Backward) -> Iterator[tuple[Cut, list[Any]]]:
        """The cuts that a traced iteration shows, with the leaves that each of them starves."""
        tracer = self.tracer
        if tracer is None or tracer.is_paused:
            return
        tracer.arrive(event.roots)
        tracer.is_paused = True  # the mode shows this very call, and cannot be left in it
        alive = {id(t): t for r in self.suspects if (t := r()) is not None and t.grad is None}
        for arrival in tracer.arrivals:
            for cut in sorted(arrival.cuts, key=lambda c: -c.number):
                starved = [alive.pop(i) for i in cut.of - arrival.live if i in alive]
                if starved and cut.site is not None and not is_conditional(cut.stack):
                    yield cut, starved

    def after_backward(self, event: Backward) -> None:
        if self.doctor.steps or self.backwards >= BACKWARDS:
            return
        self.backwards += 1
        found = _leaves_in_reach(event.engine)
        if self.backwards == BACKWARDS and any(t.grad is not None for t in found):
            starved = [t for t in found if t.grad is None]
            tracer = Tracer(event.engine, starved, self.doctor)
            if starved and tracer.start():
                self.tracer, self.suspects = tracer, [weakref.ref(t) for t in starved]

    def stop(self) -> None:
        if self.tracer is not None:
            self.tracer.stop()
            self.tracer = None


def _leaves_in_reach(engine: Any) -> list[Any]:
    """Leaves that require a gradient, by the names of the function that runs the backward."""
    frames = user_frames()
    names = frames[0].f_locals if frames else {}
    return [
        value
        for value in {id(v): v for v in names.values()}.values()
        if isinstance(value, engine.Tensor) and value.requires_grad and value.is_leaf
    ]
