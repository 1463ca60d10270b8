"""A target that is the output itself: TG416."""

from __future__ import annotations

from typing import Any

from ...watch.events import Traced
from ..base import Rule


class TargetOfItself(Rule):
    """The loss compares an output with a target that equals it, number for number: there is nothing to learn."""

    code = "TG416"
    name = "target-of-itself"
    why = (
        "A target that is made of nothing but the model's own answer is met from the first step on. The loss is 0 and "
        "so is every gradient, until something else moves the model, and then it is drawn back to where it was."
    )
    quiet = (
        "Differences of which any entry is not 0, values that are all the same, targets with a gradient, and steps "
        "that have a gradient of something else."
    )
    sure = "Certain that the two were equal in every entry; that another target was meant is all but certain."
    refute = "The target follows the output for the first steps only."
    fix = "target = advantages + values  # of what was measured, not of the output alone"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(4):
      with torch.no_grad():
-         target = model(x) + torch.zeros(8, 1)
+         target = model(x) + 0.1 * (y - model(x))
      optimizer.zero_grad()
-     loss = torch.nn.functional.mse_loss(model(x), target)  # here
+     loss = torch.nn.functional.mse_loss(model(x), target)
      loss.backward()
      optimizer.step()
"""

    def on_traced(self, event: Traced) -> None:
        equal = event.values.orders.equal if event.is_over else []
        if not equal or any(p.grad is not None and _has_numbers(p.grad) for p in event.parameters):
            return
        for stack, many in equal:
            if stack:
                self.report(
                    f"Output and target are equal here in all {many} entries, though the output has a gradient and the "
                    "target has none: the model is asked for what it says already.",
                    stack[0], figures={"entries": many},
                )  # fmt: skip


def _has_numbers(gradient: Any) -> bool:
    return bool((gradient != 0).any()) if not gradient.is_sparse else True
