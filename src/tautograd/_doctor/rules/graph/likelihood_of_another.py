"""A likelihood that is of other numbers than those the program acted on: TG414."""

from __future__ import annotations

from ...watch.events import Traced
from ..base import Rule


class LikelihoodOfAnother(Rule):
    """The log-probability in the loss is of a second draw, not of the one that was acted on."""

    code = "TG414"
    name = "likelihood-of-another"
    why = (
        "A policy learns from what it did: the reward of an action counts for the probability of that action. Each call "
        "of sample() draws anew, so that a second one gives an action that nobody took, and the reward says nothing of it."
    )
    quiet = (
        "Draws of which the likelihood is taken and that are used as well, one draw alone, draws from "
        "distributions of other parameters, and rollouts of more than 20,000 calls between two steps."
    )
    sure = "Certain that there are two draws; that one was meant is all but certain."
    refute = "The second draw estimates an entropy."
    fix = "log_prob = distribution.log_prob(action)"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 2)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, paid = torch.randn(8, 3), torch.tensor([0.0, 1.0])
  for _ in range(4):
      optimizer.zero_grad()
      log_p = torch.log_softmax(model(x), 1)
      action = torch.multinomial(log_p.detach().exp(), 1)
      reward = (action * 2 - 1).float()
-     log_prob = log_p.gather(1, torch.multinomial(log_p.detach().exp(), 1))  # here
+     log_prob = log_p.gather(1, action)
      loss = -(log_prob * reward).mean()
      loss.backward()
      optimizer.step()
"""

    def on_traced(self, event: Traced) -> None:
        for acted, judged in event.values.again.pairs() if event.is_over else ():
            if acted.stack and judged.stack:
                self.report(
                    "The likelihood is of numbers that are drawn here, and the program goes on with others, drawn from "
                    f"the same in line {acted.stack[0].line}: what comes of those is counted for these.",
                    judged.stack[0],
                )  # fmt: skip
