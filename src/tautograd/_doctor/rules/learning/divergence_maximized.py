"""The divergence of a Gaussian from the standard one, with the wrong sign: TG807."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...watch.backward_flow import line_of
from ...watch.events import Backward, Step
from ...watch.graph_walk import node_name
from ..base import Rule
from ..graph.loss_roots import as_number

Edge = tuple[Any, int]  # a node, and which of its outputs
_SAME = frozenset(("Sum", "Mean", "View", "Reshape", "Squeeze", "Unsqueeze", "Clone", "ToCopy"))


class DivergenceMaximized(Rule):
    """The loss falls without end as the variance of a latent grows: its KL term has the wrong sign."""

    code = "TG807"
    name = "divergence-maximized"
    why = (
        "The divergence from the standard normal is 0.5 * sum(mu^2 + exp(logvar) - logvar - 1), and is to be "
        "small. With the other sign the loss has no lower bound: means and variances are driven to infinity."
    )
    quiet = (
        "Squares and exponentials that are rewarded within bounds (behind a margin, a sigmoid, a logarithm), "
        "and optimizers that maximize."
    )
    sure = "Certain that this term has no lower bound, and that it is minimized."
    refute = "What is meant is to drive the latent from the prior."
    fix = "kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())"
    example = """
  torch.manual_seed(0)
  encode, decode = torch.nn.Linear(4, 4), torch.nn.Linear(2, 4)
  optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=0.01)
  x = torch.randn(16, 4)
  for _ in range(5):
      mu, logvar = encode(x).chunk(2, dim=1)
      z = mu + (0.5 * logvar).exp() * torch.randn(16, 2)
-     kl = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())  # here
+     kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
      loss = (torch.nn.functional.mse_loss(decode(z), x, reduction="sum") + kl) / 16
      optimizer.zero_grad()
      loss.backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.seen = 0  # backwards in a row; the second knows its line
        self.found: Any = None  # the exponential that is rewarded, of the last backward
        self.backward: Any = None

    def before_backward(self, event: Backward) -> None:
        self.found, self.backward = None, event.site
        if self.seen < 2 and len(event.roots) == 1 and self.doctor.pulse.is_thorough:
            self.found = _rewarded(event.roots[0])

    def before_step(self, event: Step) -> None:
        if self.found is None or any(g.get("maximize") for g in event.optimizer.param_groups):
            return
        self.seen += 1
        if self.seen == 2:
            self.report(
                "The loss is made smaller by larger squares and exponentials of what the model gives: the "
                "divergence from the standard normal is maximized, and has no bound.",
                line_of(self.found) or self.backward, parameters=self.doctor.names(event.parameters),
            )  # fmt: skip
        self.found = None

    def after_step(self, event: Step) -> None:
        self.doctor.lines.ask_while(self.seen == 1, event.engine, self.code)


def _rewarded(loss: Any) -> Any:
    """The node of exp(x) in a loss that holds x - exp(x) and minus a square, each times something positive."""
    terms = list(_terms(loss))
    plain = {edge for edge, sign in terms if sign > 0}
    squares = any(
        node_name(node) == "Pow" and as_number(getattr(node, "_saved_exponent", None)) == 2
        for (node, _), sign in terms
        if sign < 0
    )
    for (node, _), sign in terms:
        if squares and sign < 0 and node_name(node) == "Exp":
            given = node.next_functions[0]
            scaled = node_name(given[0]) == "Mul" and _factor(given[0]) > 0
            if given in plain or (scaled and given[0].next_functions[0] in plain):
                return node
    return None


def _terms(loss: Any) -> Iterator[tuple[Edge, int]]:
    """What a loss is a sum of, with signs, behind sums, means and factors that are numbers."""
    waiting: list[tuple[Edge, int]] = [((loss.grad_fn, 0), 1)]
    for _ in range(200):
        if not waiting:
            return
        (node, output), sign = waiting.pop()
        if node is None:
            continue
        name, edges = node_name(node), node.next_functions
        if name in ("Add", "Sub"):
            signs = sign, sign if name == "Add" else -sign
            waiting += [(edge, s) for edge, s in zip(edges, signs, strict=False)]
        elif name in ("Neg", "Rsub") and edges:
            waiting.append((edges[0], -sign))
        elif name in _SAME and edges:
            waiting.append((edges[0], sign))
        elif name in ("Mul", "Div") and (factor := _factor(node)):
            waiting.append((edges[0], sign if factor > 0 else -sign))
        else:
            yield (node, output), sign


def _factor(node: Any) -> float:
    """The number by which the first input is multiplied or divided; 0 if it is no number."""
    if not node.next_functions or node.next_functions[0][0] is None:
        return 0.0
    return as_number(getattr(node, "_saved_other", None)) or 0.0
