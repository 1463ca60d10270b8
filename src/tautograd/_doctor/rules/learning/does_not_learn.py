"""Does it learn at all? Experiments on copies, where they are asked for: TG909."""

from __future__ import annotations

import math
from typing import Any

from ...deep.experiments import Experiments, Result
from ...deep.lessons import Lessons
from ...watch.events import Loss, ModuleCall, Step
from ..base import Rule


class DoesNotLearn(Rule):
    """With --deep: a copy cannot learn one batch by heart, or learns as much from shuffled labels."""

    code = "TG909"
    name = "does-not-learn"
    severity = "warning"
    deep = True
    why = (
        "A model that is able to learn can learn one batch by heart, at some rate; and what it learns of "
        "inputs and their labels is more than it learns of inputs and labels of others."
    )
    quiet = (
        "Runs without --deep, losses of anything but the output of one model, and fewer than four batches of "
        "labels; a loss that comes down at the loop's own rate."
    )
    sure = "Measured, on copies and a few batches: a long run may do better."
    refute = "The loss of data that were held out comes down in the whole run."
    fix = "# look at a batch: does each label belong to its input, and does the output depend on the input?"
    example = """
  torch.manual_seed(0)
  x = torch.randn(128, 4)
  y = x.sum(1, keepdim=True)
  model = torch.nn.Linear(4, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
  order = torch.randperm(128)
  for i in range(0, 128, 16):
      optimizer.zero_grad()
-     inputs, targets = x[order[i : i + 16]], y[i : i + 16]
-     loss = torch.nn.functional.mse_loss(model(inputs), targets)  # here
+     inputs, targets = x[order[i : i + 16]], y[order[i : i + 16]]
+     loss = torch.nn.functional.mse_loss(model(inputs), targets)
      loss.backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.lessons = Lessons()
        self.result: Result | None = None

    def on_module(self, event: ModuleCall) -> None:
        if self.doctor.deep:
            self.lessons.on_module(event)

    def on_loss(self, event: Loss) -> None:
        if self.doctor.deep:
            self.lessons.on_loss(event)

    def before_step(self, event: Step) -> None:
        if self.doctor.deep:
            self.lessons.on_step(event)

    def at_end(self) -> None:
        if not self.doctor.deep:
            return
        experiments = Experiments(self.lessons)
        if experiments.reason:
            self.result = Result(reason=experiments.reason)
            self.doctor.say_deep(f"--deep: nothing was tried: {experiments.reason}", 1.0)
            return
        about = experiments.seconds()
        self.doctor.say_deep(
            f"--deep: {experiments.total} steps on copies, about {max(1, round(about))} s", 0.0
        )
        self.result = experiments.run(self.doctor.say_deep)
        self._judge(self.result)

    def _judge(self, found: Result) -> None:
        site = self.lessons.site
        if self._judge_rate(found, site):
            return
        if found.overfit is not None and found.overfit[1] > 0.7 * found.overfit[0] > 0:
            first, last = found.overfit
            self.report(
                f"A copy cannot learn one batch by heart: after many steps on it the loss is {last:.3g}, from "
                f"{first:.3g}, at this rate and at the best of {len(found.rates)} others.",
                site, figures={"first loss": first, "last loss": last}, key=(self.code, "overfit"),
            )  # fmt: skip
            return
        if found.labels is not None:
            untrained, real, shuffled = found.labels
            if shuffled > 0 and real >= 0.97 * shuffled and real > 0.5 * untrained:
                self.report(
                    f"Labels of other inputs teach a copy as much as its own do: on batches that were held out, "
                    f"the loss is {real:.3g} after its own labels and {shuffled:.3g} after shuffled ones.",
                    site, figures={"own labels": real, "shuffled": shuffled}, key=(self.code, "labels"),
                )  # fmt: skip

    def _judge_rate(self, found: Result, site: Any) -> bool:
        """Whether nothing moves at the loop's own rate, and much does at another."""
        rate, first, last = found.rates[0]
        best = min(found.rates, key=lambda r: r[2])
        stuck = last > 0.98 * first or not math.isfinite(last)
        if not stuck or first <= 0 or best[2] >= 0.6 * first:
            return False
        self.report(
            f"At the loop's rate, {rate:g}, the loss of a copy stays at {last:.3g}; at {best[0]:g} it comes "
            f"down to {best[2]:.3g} in as many steps.",
            site, figures={"rates": [r[0] for r in found.rates], "losses": [r[2] for r in found.rates]},
            fix=f"optimizer = ...(model.parameters(), lr={best[0]:g})", key=(self.code, "rate"),
        )  # fmt: skip
        return True
