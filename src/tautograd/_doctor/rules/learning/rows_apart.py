"""Inputs in one random order and targets in another, within a step: TG915."""

from __future__ import annotations

import weakref
from typing import Any

from ...watch.events import Iteration, Traced
from ..base import Rule


class RowsApart(Rule):
    """Within one step, inputs are taken in one random order and their targets in another, or in none."""

    code = "TG915"
    name = "rows-apart"
    why = (
        "A batch that is shuffled, or mixed with a shuffle of itself, has to be so together with its targets. With a "
        "second permutation for these, each sample is asked for what belongs to another."
    )
    quiet = (
        "Targets in an order that the prediction has as well, orders that are sorted or shifted, targets that the "
        "model makes, rows that are matched by a search, and what is computed outside of the iterations that are "
        "looked at call by call."
    )
    sure = "Certain that the two orders differ; that they should be one is all but certain."
    refute = "The targets are a set, compared with the predictions as a whole."
    fix = "order = torch.randperm(len(x))  # one order: x[order], y[order]"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(4):
      optimizer.zero_grad()
-     inputs, targets = x[torch.randperm(8)], y[torch.randperm(8)]  # here
+     order = torch.randperm(8)
+     inputs, targets = x[order], y[order]
      loss = torch.nn.functional.mse_loss(model(inputs), targets)
      loss.backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.shuffled: dict[int, Any] = {}  # loaders that shuffle, begun so far, by their samples

    def on_iteration(self, event: Iteration) -> None:
        if type(getattr(event.loader, "sampler", None)).__name__ == "RandomSampler":
            try:
                self.shuffled[len(event.loader.dataset)] = weakref.ref(event.loader)
            except (TypeError, AttributeError):
                return  # nobody knows how many

    def on_traced(self, event: Traced) -> None:
        if not event.is_over:
            return
        for met, taken in event.values.orders.found:
            if met and taken:
                self.report(
                    "The targets are rows that are taken here in one random order, and the predictions that they meet "
                    f"in line {met[0].line} are of rows in another: each sample has the target of any other.",
                    taken[0],
                )  # fmt: skip
        for met, taken, many in event.values.orders.sliced:
            loader = self.shuffled.get(many)
            if met and taken and loader is not None and loader() is not None:
                self.report(
                    f"These rows are taken by their place among {many}, and the predictions that they meet in line "
                    f"{met[0].line} are of samples that a loader has shuffled: each has what belongs to another.",
                    taken[0], fix="# give the loader the index of each sample, and take the rows by it",
                )  # fmt: skip
