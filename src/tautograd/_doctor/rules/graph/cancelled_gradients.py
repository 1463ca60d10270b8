"""Gradients that cancel each other out: TG411.

TG802 states that all gradients are 0 because an operation lets nothing through, TG409 because a weight
is 0. Here everything lets them through, and what arrives in the end is 0 all the same: a value was taken
from itself, in the numbers and in the graph.
"""

from __future__ import annotations

import math
from typing import Any

from ...._user_code.sites import Site
from ...watch.backward_flow import Passage, line_of
from ...watch.events import Backward, Sample, Step
from ...watch.graph_walk import node_name
from ..base import Rule
from ..training_loop import training

_DIFFERENCES = frozenset(("Sub", "Rsub", "Div"))
_ASK = 3  # steps before it is asked which line took the difference


class CancelledGradients(Rule):
    """All gradients are exactly 0 since the first step: the loss is of a difference of the same value."""

    code = "TG411"
    name = "cancelled-gradients"
    why = (
        "The score of an item minus that of the same item, or a probability over itself, is a constant: what "
        "one side gains by a step the other gains as well. The loss has a value and a graph, and teaches nothing."
    )
    quiet = (
        "Runs in which any gradient was ever not 0, losses of 0 (a hinge that is met), zeros that an "
        "activation, a clamp or a weight makes, steps with a closure, and the first 7 steps."
    )
    sure = "Measured: every gradient of every step was exactly 0, though each operation handed on what it got."
    fix = "ratio = torch.exp(new - old.detach())  # of two values that are not the same"
    example = training(
        """
  for _ in range(12):
      optimizer.zero_grad()
-     better, worse = model(good), model(good)
-     margin = better - worse  # here
+     better, worse = model(good), model(bad)
+     margin = better - worse
      loss = -torch.nn.functional.logsigmoid(margin).mean()
      loss.backward()
      optimizer.step()
""",
        data="good, bad = torch.randn(8, 3), torch.randn(8, 3)",
    )
    many = 8  # steps, from the first on

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.is_over = False
        self.is_stopped = False  # some operation of this backward let nothing through
        self.has_difference = False
        self.count = 0
        self.line: Site | None = None
        self.backward: Site | None = None

    def before_backward(self, event: Backward) -> None:
        self.is_stopped = self.has_difference = False
        self.backward = event.site

    def on_passage(self, event: Backward, passage: Passage) -> None:
        if self.is_over or max(passage.arrived, default=0.0) == 0:
            return
        if passage.leaving and max(passage.leaving) == 0:
            self.is_stopped = True
        elif node_name(passage.node) in _DIFFERENCES and len(passage.leaving) == 2:
            self.has_difference = True
            self.line = line_of(passage.node) or self.line

    def after_step(self, event: Step) -> None:
        self.doctor.lines.ask_while(
            not self.is_over and self.count == _ASK, event.engine, self.code
        )

    def on_sample(self, event: Sample) -> None:
        if self.is_over:
            return
        is_nothing = event.norms and not any(norm != 0 for norm in event.norms)
        has_loss = math.isfinite(event.loss) and event.loss != 0
        if self.is_stopped or not self.has_difference or not is_nothing or not has_loss:
            self.is_over = True
            return
        self.count += 1
        if self.count == self.many:
            self.is_over = True
            self.report(
                f"All {len(event.norms)} gradients have been exactly 0 for {self.count} steps, since the first one: "
                "both sides of this difference move together, and cancel.",
                self.line or self.backward, parameters=self.doctor.names(event.parameters),
                figures={"steps": self.count, "loss": event.loss},
            )  # fmt: skip
