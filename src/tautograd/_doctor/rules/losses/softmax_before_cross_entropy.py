"""Probabilities where logits are wanted: TG501."""

from __future__ import annotations

from typing import Any

from ...watch.backward_flow import line_of
from ...watch.events import Backward, Loss, Step
from ...watch.graph_walk import leaves, node_name, nodes
from ..base import Rule
from ..graph.loss_roots import before_views
from .loss_makers import CLIPPED, maker_of

ENOUGH = 4  # losses in a row
_LIKELIHOODS = frozenset(("NllLoss", "NllLoss2D"))


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
        self.sums: dict[
            Any, int
        ] = {}  # line -> losses in a row whose rows are probabilities, by value
        self.normalized = 0  # backwards in which probabilities were normalized like logits

    def before_backward(self, event: Backward) -> None:
        """`p - p.logsumexp()`, as a distribution does with its logits, where p is a softmax."""
        if self.normalized > 1 or not self.doctor.pulse.is_thorough:
            return
        found = list(nodes(event.roots, 3000))
        node = next(filter(_normalizes_probabilities, found), None)
        if node is None or any(node_name(n) in _LIKELIHOODS for n in found):
            return  # what is given to a loss is looked at there
        self.normalized += 1
        if self.normalized == 2:  # its line is known, now that lines were asked for
            self.report(
                "Probabilities are taken for logits here: what is normalized by logsumexp is the output of a "
                "softmax.",
                line_of(node) or event.site,
                fix="distribution = torch.distributions.Categorical(probs=probabilities)",
            )  # fmt: skip

    def after_step(self, event: Step) -> None:
        self.doctor.lines.ask_while(self.normalized == 1, event.engine, self.code)

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
        else:
            self._by_value(event)

    def _by_value(self, event: Loss) -> None:
        """However they were made: rows that are never below 0 and always sum to 1 are probabilities."""
        times = self.sums.get(event.site, 0)
        if times < 0 or times >= ENOUGH or not event.input.requires_grad:
            return
        values = event.input.detach()
        if not values.is_floating_point() or values.dim() < 2 or min(values.shape[:2]) < 2:
            return
        away = float((values.sum(1) - 1).abs().max()) if float(values.min()) >= 0 else 1.0
        is_so = away <= 1e-4 and float(values.std(0).max()) > 0
        self.sums[event.site] = times + 1 if is_so else -1
        if self.sums[event.site] == ENOUGH and _sums_are_fixed(event.engine, event.input):
            self.report(
                "The input is probabilities: no entry is below 0, and each row sums to 1, in every loss so far. "
                "cross_entropy wants logits.",
                event.site, figures={"losses": ENOUGH}, sure="Measured, in several losses in a row.",
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
    if node_name(node) == "LogSoftmax":
        return _is_by_hand(node)
    if node_name(node) != "Sub" or len(node.next_functions) != 2:
        return False
    (given, _), (total, _) = node.next_functions
    if given is None or total is None or node_name(total) != "Logsumexp":
        return False
    return total.next_functions[0][0] == given and node_name(given) == "Softmax"


def _is_by_hand(node: Any) -> bool:
    """A log_softmax of a softmax over the same axis; what a likelihood makes of it does not matter."""
    given = node.next_functions[0][0]
    if given is None or node_name(given) != "Softmax":
        return False
    axes = getattr(node, "_saved_dim", None), getattr(given, "_saved_dim", None)
    return axes[0] == axes[1]


def _sums_are_fixed(engine: Any, scores: Any) -> bool:
    """Whether the sum of a row cannot move: logits may begin at any sum, and keep it for a while."""
    held = leaves([scores], 4000)
    weights = engine.linspace(0.5, 1.5, scores.shape[1], dtype=scores.dtype, device=scores.device)
    shape = [1, -1, *[1] * (scores.dim() - 2)]
    sizes = []
    for total in (scores.sum(), (scores * weights.reshape(shape)).sum()):
        slopes = engine.autograd.grad(total, held, retain_graph=True, allow_unused=True)
        sizes.append(max((float(g.abs().max()) for g in slopes if g is not None), default=0.0))
    return sizes[0] <= 1e-3 * sizes[1]
