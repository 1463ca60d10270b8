"""A loss that reaches all parameters, and each of them through a weight of 0: TG409.

TG802 states that all gradients are 0 where an activation or a product lets nothing through; a number of 0 that
a term is multiplied by is no such thing, because one of several losses may wait for its turn. Here nothing else
is left: since the first step no leaf at all has got a gradient that is not 0.
"""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...state.gradient_ledger import parameters_of
from ...state.step_measures import largest
from ...watch.backward_flow import Passage, line_of
from ...watch.events import Backward, Sample, Step
from ...watch.graph_walk import is_leaf_node, node_name
from ..base import Rule
from ..training_loop import training

ASK = 3  # steps without a gradient before it is asked which line recorded the weight


class WeightOfNothing(Rule):
    """All gradients are exactly 0 from the first step on, because a weight in the loss is 0."""

    code = "TG409"
    name = "weight-of-nothing"
    severity = "warning"
    why = (
        "A term that is multiplied by 0 leads to its parameters, so each of them has a gradient and none is "
        "reported as cut off; but that gradient is 0. If no other term reaches them, nothing is learned."
    )
    quiet = (
        "Runs in which any gradient was ever not 0 (a weight of 0 on one of several losses, another optimizer "
        "that learns), losses that are 0 themselves (a hinge that is met, no reward yet), zeros by a clamp or "
        "an activation, gradients cleared by hand, steps with a closure, and the first 19 steps."
    )
    sure = "Measured: every gradient of every step was exactly 0. A weight that waits so long may be meant."
    refute = "The weight is no longer 0 later in the run."
    fix = "loss = criterion(out, y)  # of the output itself, with a weight that is not 0"
    example = training(
        """
  for _ in range(24):
      optimizer.zero_grad()
      out = model(x)
-     loss = ((out.detach() - y) ** 2).mean() + 0 * out.sum()  # here
+     loss = ((out - y) ** 2).mean() + 0 * out.sum()
      loss.backward()
      optimizer.step()
""",
        lr=0.05,
    )
    many = 20  # steps in a row, the first one among them

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.is_over = False  # something was learned, or the zeros have another cause
        self.weights = 0  # of 0 that the last backward met
        self.steps: dict[int, int] = {}  # by optimizer: all with gradients of 0
        self.line: Site | None = None  # of such a weight
        self.backward: Site | None = None

    def before_backward(self, event: Backward) -> None:
        self.weights = 0

    def after_backward(self, event: Backward) -> None:
        self.backward = event.site

    def on_passage(self, event: Backward, passage: Passage) -> None:
        if self.is_over:
            return
        given = [(g, n) for g, (n, _) in zip(passage.left, passage.node.next_functions, strict=False)
                 if g is not None and n is not None]  # fmt: skip
        if any(
            is_leaf_node(n) and (g.is_sparse or largest(event.engine, g) != 0) for g, n in given
        ):
            self.is_over = True  # a leaf has a gradient, whoever holds it
        elif max(passage.arrived, default=0.0) > 0 and max(passage.leaving, default=1.0) == 0:
            if node_name(passage.node) == "Mul" and len(given) == 1:
                self.weights += 1
                self.line = line_of(passage.node) or self.line
            else:
                self.is_over = True  # not by a weight

    def after_step(self, event: Step) -> None:
        is_asked = not self.is_over and self.steps.get(id(event.optimizer), 0) == ASK
        self.doctor.lines.ask_while(is_asked, event.engine, self.code)

    def on_sample(self, event: Sample) -> None:
        if self.is_over:
            return
        held = {id(p) for p in parameters_of(event.optimizer) if p.requires_grad and p.numel()}
        is_new = self.doctor.pulse.is_thorough  # else nobody looked for a weight
        if (
            any(norm != 0 for norm in event.norms)  # NaN as well
            or not held <= {id(p) for p in event.parameters}
            or event.loss == 0
            or event.loss != event.loss
            or (is_new and not self.weights)
        ):
            self.is_over = True
            return
        count = self.steps[id(event.optimizer)] = self.steps.get(id(event.optimizer), 0) + 1
        if count == self.many:
            self.is_over = True
            self.report(
                f"All {len(event.norms)} gradients have been exactly 0 for {count} steps, since the first one: the "
                "loss leads to these parameters only through a factor that is 0.",
                self.line or self.backward, parameters=self.doctor.names(event.parameters),
                figures={"steps": count, "loss": event.loss},
            )  # fmt: skip
