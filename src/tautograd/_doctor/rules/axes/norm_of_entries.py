"""A gradient penalty that takes a norm of each pixel: TG916."""

from __future__ import annotations

from ...watch.events import Traced
from ..base import Rule


class NormOfEntries(Rule):
    """A gradient's norm is drawn to 1 for every place of a sample, not for the sample."""

    code = "TG916"
    name = "norm-of-entries"
    why = (
        "A gradient penalty holds the slope of the critic at 1, and that slope is one number for a sample: the norm over "
        "all of its entries. A norm over one axis asks for a slope of 1 in every place, hundreds of them."
    )
    quiet = (
        "Norms over all axes but the first, gradients with two axes, norms of anything but a gradient, and norms that "
        "are not compared with 1."
    )
    sure = "Certain: the norms have more than one value for a sample."
    refute = "The places of a sample are samples of their own."
    fix = "norms = gradients.flatten(1).norm(2, dim=1)"
    example = """
  torch.manual_seed(0)
  critic = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
  optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
  for _ in range(4):
      optimizer.zero_grad()
      x = torch.randn(8, 3, 2, 2, requires_grad=True)
      slopes = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
-     norms = slopes.norm(2, dim=1)  # here
+     norms = slopes.flatten(1).norm(2, dim=1)
      loss = critic(x).mean() + 10 * ((norms - 1) ** 2).mean()
      loss.backward()
      optimizer.step()
"""

    def on_traced(self, event: Traced) -> None:
        for stack, before, after in event.values.slopes.found if event.is_over else ():
            if stack:
                self.report(
                    f"The norm of a gradient of {before} is {after} here, and is drawn to 1: one number for each place "
                    "of a sample, where the slope of a sample is one number.",
                    stack[0],
                )  # fmt: skip
