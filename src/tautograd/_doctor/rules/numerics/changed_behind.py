"""Weights that are changed behind autograd's back, between forward and backward: TG703."""

from __future__ import annotations

import weakref
from typing import Any

from ...state.step_measures import part
from ...watch.events import Backward, ModuleCall
from ..base import Rule
from ..training_loop import training


class ChangedBehind(Rule):
    """A weight is changed through `.data` after the forward that used it, and before its backward."""

    code = "TG703"
    name = "changed-behind"
    why = (
        "backward() computes with the weights that forward used. A change in place is noticed, and an error; "
        "one through .data is not: the gradient is that of a network that never was."
    )
    quiet = "Changes after backward, and those that autograd notices itself."
    fix = "# change the weights after loss.backward() and optimizer.step()"
    example = training(
        """
  for _ in range(4):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
+     loss.backward()
+     optimizer.step()
      model[2].weight.data.mul_(0.9)
-     loss.backward()  # here
-     optimizer.step()
""",
        model="torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))",
    )
    steps = 4  # first steps that are looked at

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.used: dict[int, tuple[Any, int, list[float]]] = {}  # weight -> version, values

    def on_module(self, event: ModuleCall) -> None:
        if self.doctor.steps >= self.steps or not event.grad_mode or len(self.used) > 500:
            return
        for p in event.module._parameters.values():
            if p is not None and p.dim() > 1 and p.requires_grad:
                self.used[id(p)] = weakref.ref(p), p._version, part(p)[:32].tolist()

    def before_backward(self, event: Backward) -> None:
        used, self.used = self.used, {}
        changed = []
        for reference, version, values in used.values():
            p = reference()
            if p is not None and p._version == version:
                now = part(p)[:32].tolist()
                if any(a != b for a, b in zip(now, values, strict=False) if a == a):  # not NaN
                    changed.append(p)
        if changed:
            self.report(
                f"{len(changed)} weights were changed through .data since the forward that used them: this "
                "backward computes with other weights than the loss was made with.",
                event.site, parameters=self.doctor.names(changed),
            )  # fmt: skip
