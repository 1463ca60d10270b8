"""Predictions and targets that are repeated to fit each other: TG504."""

from __future__ import annotations

import ast
import weakref
from typing import Any

from ...._user_code.sites import Site
from ...watch.backward_flow import Passage
from ...watch.events import Backward, Loss, Subtraction
from ...watch.graph_walk import node_name
from ..base import Rule

Shape = tuple[int, ...]
_VIEWS = frozenset(
    (
        "Clone",
        "Permute",
        "ReshapeAlias",
        "Squeeze",
        "T",
        "Transpose",
        "UnsafeView",
        "Unsqueeze",
        "View",
    )
)


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
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(4, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 4), torch.randn(8)
  for _ in range(5):
      optimizer.zero_grad()
-     loss = torch.nn.functional.mse_loss(model(x), y)  # here
+     loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y)
      loss.backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        # Nodes where both were repeated, by sequence number: line, both shapes, and theirs together.
        self.met: dict[int, tuple[Site | None, Shape, Shape, Shape]] = {}
        self.square: dict[Any, Shape] = {}  # nodes whose result goes into the loss as a whole

    def on_loss(self, event: Loss) -> None:
        if event.function in ("cross_entropy", "nll_loss"):
            return
        given, wanted = tuple(event.input.shape), tuple(event.target.shape)
        self._say(event.site, given, wanted)
        if _is_one_for_many(given, wanted) and event.input.requires_grad:
            self.report(
                f"The prediction is {given} and the target {wanted}: each sample's one prediction is compared "
                f"with {wanted[-1]} values, and learns their mean.",
                event.site, figures={"input": list(given), "target": list(wanted)},
                sure="Certain that it is repeated; that it should not be is likely.",
                refute="The target holds several observations of the same value.",
                fix="# find where the target got its last axis: a sum over it is missing, or an output",
            )  # fmt: skip
        pair = self._pair(event.target)
        if pair is not None and event.input.requires_grad:
            self._say(*pair)

    def on_subtraction(self, event: Subtraction) -> None:
        """Two tensors of as many samples, (N, 1) and (N), that became (N, N); or that, met again."""
        left, right, output = event.left, event.right, event.output
        shapes = tuple(left.shape), tuple(right.shape)
        together = tuple(output.shape)
        pair = self._pair(left) or self._pair(right)
        if pair is None and self._is_slip(event, shapes, together):
            pair = event.site, *shapes
        if pair is None:
            return
        node = output.grad_fn
        if node is None:
            known = {k: v for k, v in self.doctor.pairs.items() if v[0]() is not None}
            self.doctor.pairs.clear()
            self.doctor.pairs.update(list(known.items())[-7:])
            self.doctor.pairs[id(output)] = weakref.ref(output), pair
        else:
            known_nodes = list(self.met.items())[-31:]
            self.met = dict([*known_nodes, (node._sequence_nr(), (*pair, together))])

    def _is_slip(self, event: Subtraction, shapes: tuple[Shape, Shape], together: Shape) -> bool:
        one, other = sorted(shapes, key=len)
        if together in shapes or len(one) == len(other) or not one:
            return False
        if one[0] != other[0] or one[0] < 2 or event.left.data_ptr() == event.right.data_ptr():
            return False
        if len(one) == 1 and other != (one[0], 1):
            return False
        return event.site is None or not _pairs_on_purpose(event.site.text)

    def _pair(self, tensor: Any) -> tuple[Site | None, Shape, Shape] | None:
        found = self.doctor.pairs.get(id(tensor))
        if found is None or found[0]() is not tensor:
            return None
        pair: tuple[Site | None, Shape, Shape] = found[1]
        return pair

    def before_backward(self, event: Backward) -> None:
        self.square = {}

    def on_passage(self, event: Backward, passage: Passage) -> None:
        """From the sum or mean of everything back to where both were repeated: on the way nothing
        is summed over one of the axes alone, which would be a meaning for all with all."""
        if not self.met or not passage.came or passage.came[0] is None:
            return
        node, came = passage.node, passage.came[0]
        shape = self.square.get(node)
        if shape is not None and tuple(came.shape) == shape:
            found = self.met.get(node._sequence_nr())
            if found is not None and found[3] == shape:
                self._say(*found[:3])
                return
        elif came.numel() != 1:
            return
        is_view = node_name(node) in _VIEWS
        for (following, _), left in zip(node.next_functions, passage.left, strict=False):
            if following is None or left is None or left.dim() < 2:
                continue
            if shape is None or is_view or tuple(left.shape) == shape:
                self.square[following] = tuple(left.shape)

    def after_backward(self, event: Backward) -> None:
        self.met, self.square = {}, {}
        self.doctor.pairs.clear()

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


def _is_one_for_many(given: Shape, wanted: Shape) -> bool:
    """(N, 1) against (N, k): the prediction alone is repeated."""
    return (
        len(given) == len(wanted) > 1
        and given[:-1] == wanted[:-1]
        and given[0] > 1
        and given[-1] == 1 < wanted[-1]
    )


def _pairs_on_purpose(text: str) -> bool:
    """Whether an operand is given another axis where two tensors meet, as in `x[:, None] - y`."""
    try:
        tree = ast.parse(text.strip())
    except SyntaxError:  # a part of a statement
        return "None" in text or "unsqueeze" in text
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Pow):
            operands = [node.left, node.right]
        elif isinstance(node, ast.Call):
            operands = list(node.args)
        elif isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        else:
            continue
        tensors = [operand for operand in operands if not isinstance(operand, ast.Constant)]
        if len(tensors) > 1 and any(map(_has_new_axis, tensors)):
            return True
    return False


def _has_new_axis(operand: ast.expr) -> bool:
    if isinstance(operand, ast.Subscript):
        inside: ast.expr = operand.value
        new = any(isinstance(n, ast.Constant) and n.value is None for n in ast.walk(operand.slice))
    elif isinstance(operand, ast.Call) and isinstance(operand.func, ast.Attribute):
        inside, new = operand.func.value, operand.func.attr == "unsqueeze"
    else:
        return False
    # What is computed there has met its partner already: an axis that it gets afterwards says nothing.
    return new and not any(isinstance(n, ast.BinOp) for n in ast.walk(inside))


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
