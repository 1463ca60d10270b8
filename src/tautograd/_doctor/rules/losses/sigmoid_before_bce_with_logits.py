"""A sigmoid before a loss that takes one itself: TG502."""

from __future__ import annotations

from ...watch.events import Loss
from ..base import Rule
from .loss_makers import maker_of


class SigmoidBeforeLogits(Rule):
    """`binary_cross_entropy_with_logits` gets the output of a sigmoid, and applies another one."""

    code = "TG502"
    name = "sigmoid-before-bce-with-logits"
    why = (
        "The loss with logits applies the sigmoid itself. A second one keeps every probability between "
        "0.5 and 0.73: the loss has a floor, and negatives are never learned."
    )
    quiet = "binary_cross_entropy, which wants probabilities."
    fix = (
        "loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target)  # no sigmoid"
    )
    example = """
  torch.manual_seed(0)
  F = torch.nn.functional
  model = torch.nn.Linear(4, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 4), torch.ones(8, 1)
  for _ in range(5):
      optimizer.zero_grad()
-     output = torch.sigmoid(model(x))
-     loss = F.binary_cross_entropy_with_logits(output, y)  # here
+     output = model(x)
+     loss = F.binary_cross_entropy_with_logits(output, y)
      loss.backward()
      optimizer.step()
"""
    functions = (
        "binary_cross_entropy_with_logits",
        "multilabel_soft_margin_loss",
        "soft_margin_loss",
    )

    def on_loss(self, event: Loss) -> None:
        if event.function in self.functions:
            maker = maker_of(event.input)
            if maker in ("Sigmoid", "Softmax", "LogSigmoid"):
                self.report(
                    f"The input is the output of a {maker.lower()}; {event.function} wants logits and "
                    "applies a sigmoid to them.",
                    event.site,
                )
