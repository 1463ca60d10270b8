"""Weights of samples on a loss that is one number: TG509."""

from __future__ import annotations

from ...watch.events import Traced
from ..base import Rule


class WeightsOfAMean(Rule):
    """Weights of the samples multiply a loss that has been averaged already: all of them meet one number."""

    code = "TG509"
    name = "weights-of-a-mean"
    why = (
        "The mean of weights times one number is the mean of the weights times that number: no sample counts more "
        "than another. What was to be weighted has to be the loss of each sample (reduction='none')."
    )
    quiet = (
        "Weights that are all the same, that are as many as something else than the samples of the loss, that are "
        "learned, and products that are not summed or averaged afterwards."
    )
    sure = "Certain: the loss was one number when the weights came to it."
    refute = "The mean of these weights is meant as one factor."
    fix = "loss = (weights * torch.nn.functional.mse_loss(out, y, reduction='none')).mean()"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y, weights = torch.randn(8, 3), torch.randn(8), torch.rand(8)
  for _ in range(4):
      optimizer.zero_grad()
      out = model(x).squeeze(1)
-     loss = (weights * torch.nn.functional.mse_loss(out, y)).mean()  # here
+     loss = (weights * torch.nn.functional.mse_loss(out, y, reduction="none")).mean()
      loss.backward()
      optimizer.step()
"""

    def on_traced(self, event: Traced) -> None:
        for stack, many in event.values.mean_weights.found if event.is_over else ():
            if stack:
                self.report(
                    f"{many} weights, one for each sample, multiply one number here: the loss was reduced before "
                    "they came to it, so that no sample counts more than another.",
                    stack[0], figures={"weights": many},
                )  # fmt: skip
