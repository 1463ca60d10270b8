"""Weights that a validation changes: TG607."""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_site
from ...state.step_measures import norms
from ...watch.events import Mode, Step
from ..base import Rule


class ChangedInValidation(Rule):
    """Between eval() and train(), without any step, weights of the model have moved."""

    code = "TG607"
    name = "changed-in-validation"
    why = (
        "A validation should leave a model as it was. An update that stands in forward(), such as that of a "
        "momentum encoder, runs for validation data as well."
    )
    quiet = (
        "Weights that are swapped in for the validation and back again, what is loaded meanwhile, steps in "
        "eval mode, and modules that were never trained."
    )
    fix = "if self.training:  # before the update in forward()"
    example = """
  torch.manual_seed(0)
  class Slow(torch.nn.Module):
      def __init__(self):
          super().__init__()
          self.fast, self.slow = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
          self.slow.requires_grad_(False)
      def forward(self, x):
-         with torch.no_grad():
-             self.slow.weight.lerp_(self.fast.weight, 0.1)
+         if self.training:
+             with torch.no_grad():
+                 self.slow.weight.lerp_(self.fast.weight, 0.1)
          return self.fast(x)
  model = Slow()
  optimizer = torch.optim.SGD(model.fast.parameters(), lr=0.1)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(3):
      model.train()
      for _ in range(3):
          optimizer.zero_grad()
          torch.nn.functional.mse_loss(model(x), y).backward()
          optimizer.step()
      model.eval()
      with torch.no_grad():
-         model(x)  # here
+         model(x)
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        # module, its parameters' sizes and versions, and the steps by then
        self.before: tuple[Any, list[float], list[int], int] | None = None
        self.called: Site | None = None  # where the model is called in eval mode
        self.times = 0
        self.said = False

    def on_module(self, event: Any) -> None:
        if self.before is not None and self.before[0]() is event.module and not event.grad_mode:
            self.called = user_site() or self.called

    def on_load(self, event: Any) -> None:
        self.before = None

    def before_step(self, event: Step) -> None:
        self.before = None

    def on_mode(self, event: Mode) -> None:
        if self.said:
            return
        if event.training:
            self._compare(event)
        elif self.doctor.steps and (held := list(event.module.parameters())):
            values = norms(event.engine, [p.detach() for p in held])
            versions = [p._version for p in held]
            self.before = weakref.ref(event.module), values, versions, self.doctor.steps

    def _compare(self, event: Mode) -> None:
        if self.before is None:
            return
        reference, sizes, versions, steps = self.before
        self.before = None
        if reference() is not event.module or steps != self.doctor.steps:
            return
        held = list(event.module.parameters())
        if len(held) != len(sizes) or [p._version for p in held] == versions:
            return
        now = norms(event.engine, [p.detach() for p in held])
        moved = [p for p, a, b in zip(held, sizes, now, strict=True) if a != b]
        self.times = self.times + 1 if moved else 0
        if moved and self.times == 2:
            self.said = True
            self.report(
                f"{len(moved)} weights of the model change between eval() and train(), where no step is taken: "
                "its forward() updates them in validation, too.",
                self.called or event.site, parameters=self.doctor.names(moved),
            )  # fmt: skip
