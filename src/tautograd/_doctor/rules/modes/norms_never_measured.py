"""A batch norm in eval mode that has never measured anything: TG609."""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.stack import user_site
from ...watch.events import ModuleCall
from ..base import Rule

AFTER = 6  # steps
CALLS = 2  # of such a norm in eval mode, at least


class NormsNeverMeasured(Rule):
    """A batch norm in eval mode normalises by the statistics it was made with, though its model was trained or follows."""

    code = "TG609"
    name = "norms-never-measured"
    why = (
        "Running statistics are buffers: they move in training mode only, and are no parameters. A teacher or an average "
        "that follows the weights alone keeps a mean of 0 and a variance of 1 for ever, and normalises by them."
    )
    quiet = (
        "Networks whose weights stay as they were made (random targets), norms without running statistics, those "
        "of which any entry has moved or was loaded, and the first steps."
    )
    sure = "Certain: its statistics are what they were made with, and weights beside them have moved."
    refute = "Its inputs have a mean of 0 and a variance of 1 by construction."
    fix = "for own, other in zip(teacher.buffers(), model.buffers()): own.copy_(other)"
    example = """
  import copy
  torch.manual_seed(0)
  model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
  teacher = copy.deepcopy(model).eval().requires_grad_(False)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x = torch.randn(16, 3) + 2
  for _ in range(12):
      optimizer.zero_grad()
      with torch.no_grad():
-         goal = teacher(x)  # here
+         goal = teacher(x)
      torch.nn.functional.mse_loss(model(x), goal + x[:, :1]).backward()
      optimizer.step()
      with torch.no_grad():
          for own, other in zip(teacher.parameters(), model.parameters()):
              own.lerp_(other, 0.1)
+         for own, other in zip(teacher.buffers(), model.buffers()):
+             own.copy_(other)
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.seen: dict[int, tuple[Any, int, int, int]] = {}  # norm, its weight's version, step, calls
        self.trained: set[int] = set()
        self.is_said = False

    def on_module(self, event: ModuleCall) -> None:
        module = event.module
        if self.is_said or getattr(module, "num_batches_tracked", None) is None:
            return
        if module.training or module.weight is None or module.running_mean is None:
            return
        known = self.seen.get(id(module))
        if known is None or known[0]() is not module:
            self.seen[id(module)] = (
                weakref.ref(module), module.weight._version, self.doctor.steps, 1,
            )  # fmt: skip
            return
        reference, version, step, calls = known
        self.seen[id(module)] = reference, version, step, calls + 1
        if calls < CALLS or self.doctor.steps - step < AFTER or module.weight._version == version:
            return
        is_new = not int(module.num_batches_tracked) and not bool((module.running_mean != 0).any())
        if is_new and not bool((module.running_var != 1).any()):
            self.is_said = True
            self.report(
                f"{type(module).__name__} is in eval mode here and normalises by a mean of 0 and a variance of 1: it has "
                f"seen no batch in training mode, while its weights have moved for {self.doctor.steps - step} steps.",
                user_site(), modules=[type(module).__name__],
            )  # fmt: skip
