"""Predictions and targets that are repeated to fit each other: TG504."""

from __future__ import annotations

from typing import Any

from ..._user_code.sites import Site
from ..watch.events import Backward, Loss, Subtraction
from ..watch.graph_walk import node_name
from .base import Rule


class BroadcastLoss(Rule):
    """Input and target of a loss are both repeated to fit each other: all are compared with all."""

    code = "TG504"
    name = "broadcast-loss"
    why = (
        "(N, 1) against (N) is (N, N): each prediction is compared with every target, and the model "
        "learns their mean."
    )
    quiet = (
        "Shapes of which only one is repeated: a single target for all, or a single parameter against "
        "many samples; unless both begin with the same number of samples."
    )
    fix = "loss = torch.nn.functional.mse_loss(prediction.squeeze(1), target)"
    bug = """
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 4), torch.randn(8)
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)  # here
    loss.backward()
    optimizer.step()
"""
    fixed = """
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 4), torch.randn(8)
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y)
    loss.backward()
    optimizer.step()
"""
    path = "Abs", "Div", "Mean", "Mul", "Neg", "Pow", "Sqrt", "Sum", "Square"

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.differences: dict[int, tuple[Site | None, Any, Any]] = {}  # by sequence number

    def on_loss(self, event: Loss) -> None:
        if event.function not in ("cross_entropy", "nll_loss"):
            self._say(event.site, tuple(event.input.shape), tuple(event.target.shape))

    def on_subtraction(self, event: Subtraction) -> None:
        """A prediction's column minus a row of as many targets, or the reverse."""
        node = event.output.grad_fn
        learned, other = event.left, event.right
        if not learned.requires_grad:
            learned, other = other, learned
        if node is None or other.requires_grad or learned.grad_fn is None:
            return
        shapes = sorted((tuple(learned.shape), tuple(other.shape)), key=len)
        if len(shapes[0]) == 1 and shapes[1] == (*shapes[0], 1) and shapes[0][0] > 1:
            known = list(self.differences.items())[-7:]
            shape = tuple(learned.shape), tuple(other.shape)
            self.differences = dict([*known, (node._sequence_nr(), (event.site, *shape))])

    def before_backward(self, event: Backward) -> None:
        if not self.differences:
            return
        for root in event.roots:
            node = root.grad_fn
            for _ in range(8):
                if node is None:
                    break
                found = self.differences.get(node._sequence_nr())
                if found is not None and node_name(node) == "Sub":
                    self._say(*found)
                    break
                followers = {f for f, _ in node.next_functions if f is not None}
                if node_name(node) not in self.path or len(followers) != 1:
                    break
                node = followers.pop()
        self.differences = {}

    def _say(self, site: Site | None, given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
        result = _broadcast(given, wanted)
        if result is None or given == wanted or () in (given, wanted):
            return
        # Of shapes like (N, T, 1) and (N, 1) only one is repeated; but the samples of the one then
        # lie beside something else of the other.
        crossed = len(given) != len(wanted) and given[0] == wanted[0] > 1
        if result in (given, wanted) and not crossed:
            return
        self.report(
            f"The prediction is {given} and the target {wanted}: together they are {result}, each "
            "prediction against every target.",
            site, figures={"input": list(given), "target": list(wanted), "compared": list(result)},
        )  # fmt: skip


def _broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of two shapes together; None if they do not fit."""
    length = max(len(first), len(second))
    found = []
    for one, other in zip(
        (1,) * (length - len(first)) + first, (1,) * (length - len(second)) + second, strict=True
    ):
        if one != other and 1 not in (one, other):
            return None
        found.append(other if one == 1 else one)
    return tuple(found)
