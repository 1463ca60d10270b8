"""Probabilities where logits are wanted: TG501."""

from __future__ import annotations

from typing import Any

from ...watch.backward_flow import line_of
from ...watch.events import Backward, Loss, Step
from ...watch.graph_walk import node_name, nodes
from ..base import Rule
from ..graph.loss_roots import before_views
from .loss_makers import CLIPPED, maker_of


class SoftmaxBeforeCrossEntropy(Rule):
    """`cross_entropy` gets the output of a softmax, and applies another one."""

    code = "TG501"
    name = "softmax-before-cross-entropy"
    why = (
        "cross_entropy takes logits and applies log_softmax itself. Probabilities as logits can never "
        "be far apart, so that the loss has a floor well above 0 and the gradients are small."
    )
    quiet = "A softmax in the target is right: these are labels."
    fix = "loss = torch.nn.functional.cross_entropy(logits, target)  # no softmax before it"
    example = """
  torch.manual_seed(0)
  F = torch.nn.functional
  model = torch.nn.Linear(4, 3)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 4), torch.randint(3, (8,))
  for _ in range(5):
      optimizer.zero_grad()
-     output = F.softmax(model(x), dim=1)
-     loss = F.cross_entropy(output, y)  # here
+     output = model(x)
+     loss = F.cross_entropy(output, y)
      loss.backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.normalized = 0  # backwards in which probabilities were normalized like logits

    def before_backward(self, event: Backward) -> None:
        """`p - p.logsumexp()`, as a distribution does with its logits, where p is a softmax."""
        if self.normalized > 1 or not self.doctor.pulse.is_thorough:
            return
        node = next(filter(_normalizes_probabilities, nodes(event.roots, 3000)), None)
        if node is None:
            return
        self.normalized += 1
        if self.normalized == 2:  # its line is known, now that lines were asked for
            self.report(
                "Probabilities are taken for logits here: what is normalized by logsumexp is the output of a "
                "softmax.",
                line_of(node) or event.site,
                fix="distribution = torch.distributions.Categorical(probs=probabilities)",
            )  # fmt: skip

    def after_step(self, event: Step) -> None:
        if self.normalized == 1:
            self.doctor.lines.ask(event.engine, self.code)
        elif self.normalized:
            self.doctor.lines.stop(self.code)

    def at_end(self) -> None:
        self.doctor.lines.stop(self.code)

    def on_loss(self, event: Loss) -> None:
        if event.function == "nll_loss":
            self._twice(event)
        if event.function != "cross_entropy":
            return
        maker = maker_of(event.input)
        if maker == "Softmax":
            self.report(
                "The input is the output of a softmax; cross_entropy wants logits.", event.site
            )
        elif maker == "LogSoftmax":
            self.report(
                "The input went through log_softmax already, which cross_entropy does itself: the loss is the "
                "same, computed twice.",
                event.site, severity="info",
                fix="loss = torch.nn.functional.nll_loss(log_probabilities, target)",
            )  # fmt: skip

    def _twice(self, event: Loss) -> None:
        """nll_loss of log_softmax is a cross entropy: the same, written in two lines."""
        node = before_views(event.input, CLIPPED)
        if node is None or node_name(node) != "LogSoftmax":
            return
        given = node.next_functions[0][0]
        if given is not None and node_name(given) == "Softmax":
            self.report(
                "The input of log_softmax is the output of a softmax already: probabilities are taken for "
                "logits.",
                event.site,
            )  # fmt: skip


def _normalizes_probabilities(node: Any) -> bool:
    if node_name(node) != "Sub" or len(node.next_functions) != 2:
        return False
    (given, _), (total, _) = node.next_functions
    if given is None or total is None or node_name(total) != "Logsumexp":
        return False
    return total.next_functions[0][0] == given and node_name(given) == "Softmax"
