"""An optimizer of one's own that counts its steps wrongly: TG318."""

from __future__ import annotations

import ast
from typing import Any

from ...._user_code.owners import foreign
from ...._user_code.sites import Site
from ...watch.events import Step
from ...watch.syntax import function_around, nodes_in
from ..base import Rule

STEPS = 3  # of each optimizer, before it is looked at


class CountOfSteps(Rule):
    """An optimizer of the user's own keeps a count of steps that stays as it is, or runs ahead."""

    code = "TG318"
    name = "count-of-steps"
    why = (
        "Averages that begin at zero are divided by 1 - beta ** step. A count that stays at the first step divides for "
        "ever by what is right for that step alone; one that grows with every parameter ends the correction too soon."
    )
    quiet = (
        "Optimizers of the engine and of libraries, counts that grow by one, that are not called step, or that "
        "belong to parameters without a gradient, and parameters that did not move."
    )
    sure = "Certain: the count was read before and after the step."
    refute = "The number called 'step' counts something else."
    fix = 'state["step"] += 1'
    example = """
  torch.manual_seed(0)
  class Adam(torch.optim.Optimizer):
      def __init__(self, params, lr=0.01):
          super().__init__(params, {"lr": lr})
      @torch.no_grad()
      def step(self, closure=None):
          for group in self.param_groups:
              for p in group["params"]:
                  state = self.state[p]
                  if not state:
                      state["step"], state["mean"] = 0, torch.zeros_like(p)
-                 step = state["step"] + 1  # here
+                 step = state["step"] = state["step"] + 1
                  state["mean"].lerp_(p.grad, 0.1)
                  p.sub_(group["lr"] * state["mean"] / (1 - 0.9**step))
  model = torch.nn.Linear(3, 1)
  optimizer = Adam(model.parameters())
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(6):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.looked: dict[int, int] = {}
        self.before: dict[Any, tuple[float, int]] = {}  # where a count is -> it, and the weight's version

    def before_step(self, event: Step) -> None:
        key = id(event.optimizer)
        self.before = {}
        code = _code_of_step(event.optimizer)
        if code is None or foreign[code.co_filename] or self.looked.get(key, 0) > STEPS:
            return
        self.looked[key] = self.looked.get(key, 0) + 1
        if self.looked[key] == STEPS:
            self.before = _counts(event)

    def after_step(self, event: Step) -> None:
        before, self.before = self.before, {}
        if not before:
            return
        for where, (count, version) in _counts(event).items():
            was, was_version = before.get(where, (count - 1, -1))
            grown = count - was
            if was_version == version or grown == 1 or 0 < grown < 1:
                continue
            how = f"stays at {count:g}" if grown == 0 else f"goes from {was:g} to {count:g}"
            self.report(
                f"The count that this optimizer calls 'step' {how} in its {STEPS}rd step, in which weights moved.",
                _where_read(event) or event.site, figures={"before": was, "after": count},
            )  # fmt: skip
            return


def _code_of_step(optimizer: Any) -> Any:
    """The code of an optimizer's own step, behind what was put around it."""
    function = type(optimizer).step
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "__code__", None)


def _where_read(event: Step) -> Site | None:
    """The line of the optimizer's step that takes the count out of its place."""
    code = _code_of_step(event.optimizer)
    function = function_around(Site(code.co_filename, code.co_firstlineno + 1, code.co_name))
    for node in nodes_in(function) if function is not None else ():
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            if isinstance(node.slice, ast.Constant) and node.slice.value == "step":
                return Site(code.co_filename, node.lineno, code.co_name)
    return None


def _counts(event: Step) -> dict[Any, tuple[float, int]]:
    """The counts of steps of parameters and of groups."""
    found: dict[Any, tuple[float, int]] = {}
    optimizer = event.optimizer
    for p in event.parameters:
        state = optimizer.state.get(p)
        count = _number(state.get("step")) if isinstance(state, dict) else None
        if count is not None and p.grad is not None:
            found[id(p)] = count, p._version
    for place, group in enumerate(optimizer.param_groups):
        count = _number(group.get("step"))
        if count is not None:
            found["group", place] = count, sum(p._version for p in group["params"])
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or (hasattr(value, "numel") and value.numel() != 1):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
