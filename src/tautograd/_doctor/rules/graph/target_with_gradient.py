"""Targets and weights of a loss that take gradients they should not: TG407."""

from __future__ import annotations

from typing import Any

from ...watch.events import Backward, Loss
from ...watch.graph_walk import leaves, leaves_of, node_name, nodes
from ..base import Rule

_REGRESSIONS = ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss")
_SHAPES = frozenset(("View", "Squeeze", "Unsqueeze", "Reshape", "Expand", "UnsafeView", "Select"))


_MEETS = (
    "The target is data plus what the same network makes, and is not detached: the gradient goes into it as "
    "well as into the prediction."
)


class TargetWithGradient(Rule):
    """A target that the same network makes, or an advantage, is not detached: the loss pushes it as well."""

    code = "TG407"
    name = "target-with-gradient"
    why = (
        "A target is what the prediction should become. If the gradient goes into it too, the network makes "
        "the two meet anywhere: the target runs towards the prediction."
    )
    quiet = (
        "Targets that do not begin with data (two views of one thing, equations), and that other networks "
        "make; weights that are no difference between data and a value, or whose value the probability itself makes."
    )
    sure = "Certain that the gradient goes both ways; that it should not is all but certain."
    refute = "The residual gradient is meant, as in Baird's algorithm."
    fix = "target = reward + gamma * following.detach()"
    example = """
  torch.manual_seed(0)
  q = torch.nn.Linear(4, 2)
  optimizer = torch.optim.SGD(q.parameters(), lr=0.01)
  state, following, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
  for _ in range(4):
      optimizer.zero_grad()
-     target = reward + 0.9 * q(following).max(1).values
-     loss = torch.nn.functional.mse_loss(q(state)[:, 0], target)  # here
+     target = reward + 0.9 * q(following).max(1).values.detach()
+     loss = torch.nn.functional.mse_loss(q(state)[:, 0], target)
      loss.backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.walks = 0
        self.fitted: dict[
            Any, Any
        ] = {}  # since the last backward: node of a prediction -> of its loss
        self.residuals: list[tuple[Any, Any, Loss]] = []  # nodes of targets, of the values in them

    def on_loss(self, event: Loss) -> None:
        """`reward + gamma * value(following)`: data, and what the network makes."""
        target = event.target
        if event.function not in _REGRESSIONS:
            return
        if self.walks < 3 and event.input.requires_grad:
            self._keep(event)
        if not getattr(target, "requires_grad", False):
            return
        if not event.input.requires_grad or not _is_data_and_value(target.grad_fn):
            return
        mine = {id(leaf) for leaf in leaves([target], 2000)}
        others = {id(leaf) for leaf in leaves([event.input], 2000)}
        if mine and mine == others:
            self.report(_MEETS, event.site)

    def _keep(self, event: Loss) -> None:
        """`x - value` as the target of another prediction, where `value` is fitted to data as well."""
        if not getattr(event.target, "requires_grad", False):
            self.fitted = {**dict(list(self.fitted.items())[-31:]), event.input.grad_fn: event}
            return
        node = _through_shapes(event.target.grad_fn)
        if node is None or node_name(node) != "Sub" or len(node.next_functions) < 2:
            return
        data, value = (n for n, _ in node.next_functions[:2])
        if data is None and value is not None:
            self.residuals = [*self.residuals[-7:], (node, value, event)]

    def _say_residuals(self) -> None:
        for _, value, event in self.residuals:
            if value in self.fitted:
                self.report(
                    "The target is what another prediction leaves over of the data, and is not detached: that "
                    "prediction is fitted to the data, and moved by this term as well, towards whatever repairs it.",
                    event.site, fix="residual = (x - prediction).detach()",
                )  # fmt: skip
        self.residuals, self.fitted = [], {}

    def before_backward(self, event: Backward) -> None:
        """`log_prob * (returns - value)`."""
        self._say_residuals()
        if self.walks >= 3 or not self.doctor.pulse.is_thorough:
            return
        self.walks += 1
        for node in nodes(event.roots, 1500):
            if node_name(node) in ("Pow", "Abs") and _meets_itself(node.next_functions[0][0]):
                self.report(_MEETS, event.site)
                return
            if node_name(node) != "Mul":
                continue
            given = [n for n, _ in node.next_functions]
            if len(given) == 2 and all(n is not None for n in given):
                for weight, chance in (given, given[::-1]):
                    if (
                        _is_advantage(weight)
                        and _is_log_probability(chance)
                        and _has_a_head_of_its_own(weight, chance)
                    ):
                        self.report(
                            "An advantage, data minus a value, multiplies a log-probability and is not "
                            "detached: the loss of the policy pushes the value as well.",
                            event.site, fix="advantage = returns - value.detach()",
                        )  # fmt: skip
                        return


def _through_shapes(node: Any) -> Any:
    for _ in range(6):
        if node is None or node_name(node) not in _SHAPES:
            return node
        node = node.next_functions[0][0]
    return None


def _is_data_and_value(node: Any) -> bool:
    """`reward + gamma * value(following)`, as the graph has it."""
    node = _through_shapes(node)
    if node is None or node_name(node) != "Add" or len(node.next_functions) < 2:
        return False
    made = [n for n, _ in node.next_functions if n is not None]
    return len(made) == 1 and node_name(made[0]) == "Mul"


def _meets_itself(node: Any) -> bool:
    """A difference of such a target and what the same parameters make, written out."""
    if node is None or node_name(node) != "Sub" or len(node.next_functions) < 2:
        return False
    first, second = (n for n, _ in node.next_functions[:2])
    if first is None or second is None or _is_data_and_value(first) == _is_data_and_value(second):
        return False
    mine, others = ({id(leaf) for leaf in leaves_of(n, 2000)} for n in (first, second))
    return bool(mine) and mine == others


def _is_advantage(node: Any) -> bool:
    """`returns - value`, or `reward + gamma * following - value`; normalized or not."""
    for _ in range(6):
        node = _through_shapes(node)
        if node is None or len(node.next_functions) < 2:
            return False
        first, second = (n for n, _ in node.next_functions[:2])
        name = node_name(node)
        if name == "Sub" and second is not None and (first is None or _is_data_and_value(first)):
            return True
        if first is None or (name == "Sub" and not _is_mean_of(second, first)):
            return False
        if name not in ("Sub", "Div"):
            return False
        node = first  # (a - a.mean()) / (a.std() + eps)
    return False


def _has_a_head_of_its_own(value: Any, chance: Any) -> bool:
    """Whether a value is made by what the probability is not made by; `(1 - p) * log(p)` is not."""
    mine, others = ({id(leaf) for leaf in leaves_of(n, 2000)} for n in (value, chance))
    return bool(mine - others)


def _is_mean_of(node: Any, values: Any) -> bool:
    return node is not None and node_name(node) == "Mean" and node.next_functions[0][0] is values


def _is_log_probability(node: Any, depth: int = 0) -> bool:
    """A logarithm of something that sums to one, however it is picked, stacked or summed; or a ratio of two."""
    if node is None or depth > 8:
        return False
    name = node_name(node)
    given = [n for n, _ in node.next_functions if n is not None]
    if name in ("LogSoftmax", "Log"):
        return True
    if name == "Sub" and len(given) == 2:  # x - logsumexp(x), or -z**2 / 2 - log(scale)
        return any(node_name(n) in ("Logsumexp", "Log") for n in given) or _is_log_probability(
            given[0], depth + 1
        )
    if name in ("Stack", "Cat") and given:
        return all(_is_log_probability(n, depth + 1) for n in given[:4])
    return len(given) == 1 and _is_log_probability(given[0], depth + 1)
