"""Units of a layer that start alike and stay alike for ever: TG806."""

from __future__ import annotations

from typing import Any

from ...watch.events import Step
from ..base import Rule


class SymmetricUnits(Rule):
    """All units of a layer have the same weights, step after step: the layer is as wide as one unit."""

    code = "TG806"
    name = "symmetric-units"
    why = (
        "Units that start with the same weights get the same gradient, and so stay the same. A layer of a "
        "hundred such units can do what a single one can."
    )
    quiet = (
        "Weights that start alike and part after the first steps (a last layer at zero, LoRA), layers of one "
        "unit, and weights without a gradient."
    )
    refute = "The rows of this weight are meant to be one."
    fix = "torch.nn.init.xavier_uniform_(layer.weight)"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
  for p in model.parameters():
-     torch.nn.init.constant_(p, 0.1)
+     torch.nn.init.normal_(p, std=0.3)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
  x, y = torch.randn(16, 3), torch.randn(16, 1)
  for _ in range(12):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
-     optimizer.step()  # here
+     optimizer.step()
"""
    enough = 8  # steps of the optimizer
    alike = 1e-5  # of the largest entry: rounding may differ from row to row

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.steps: dict[int, int] = {}  # by optimizer

    def after_step(self, event: Step) -> None:
        count = self.steps[id(event.optimizer)] = self.steps.get(id(event.optimizer), 0) + 1
        if count != self.enough:
            return
        found = [
            p for p in event.parameters
            if p.dim() > 1 and min(p.shape[:2]) > 1 and p.grad is not None
            and self._is_one_row(p.detach()) and self._is_one_row(p.grad.detach())
        ]  # fmt: skip
        if found:
            self.report(
                f"All {int(found[0].shape[0])} units of a layer have had the same weights for {count} steps, "
                "and get the same gradient: they are one unit, written many times.",
                event.site, parameters=self.doctor.names(found), figures={"steps": count},
            )  # fmt: skip

    def _is_one_row(self, values: Any) -> bool:
        if not values.is_floating_point() or getattr(values, "is_sparse", False):
            return False
        largest = float(values.abs().max())
        return largest > 0.0 and float((values - values[:1]).abs().max()) <= self.alike * largest
