"""Random numbers drawn around what is to be learned, and used as if there were a way back: TG413."""

from __future__ import annotations

from ...watch.events import Traced
from ..base import Rule


class DrawWithoutPath(Rule):
    """The loss depends on normal numbers drawn around what the step moves, by a draw that has no gradient."""

    code = "TG413"
    name = "draw-without-path"
    why = (
        "torch.normal(mean, std) and Normal.sample() give numbers without a history. A mean and a deviation of which "
        "only the draw goes into a term learn nothing of that term, though others, such as a divergence, move "
        "them. mean + std * randn is the same draw with a way back: the reparameterization."
    )
    quiet = (
        "Draws of whose likelihood something is made (a policy's log_prob), draws that no loss depends on, "
        "means that the step does not move, and discrete draws."
    )
    sure = "Certain that no gradient goes through the draw; that one was meant is all but certain."
    refute = "The step is meant to learn nothing of what is made of the draw."
    fix = "z = mean + std * torch.randn_like(std)  # or Normal(mean, std).rsample()"
    example = """
  torch.manual_seed(0)
  encoder, decoder = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)
  optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.01)
  x = torch.randn(8, 4)
  for _ in range(4):
      optimizer.zero_grad()
      mean = encoder(x)
-     z = torch.normal(mean, torch.ones_like(mean))  # here
+     z = mean + torch.ones_like(mean) * torch.randn_like(mean)
      loss = torch.nn.functional.mse_loss(decoder(z), x) + mean.square().mean()
      loss.backward()
      optimizer.step()
"""

    def on_traced(self, event: Traced) -> None:
        moved = {id(p): p for p in event.parameters}
        for draw in event.values.reached:
            behind = [moved[i] for i in draw.parameters if i in moved]
            if behind and not draw.meets and draw.stack:
                self.report(
                    f"The loss depends on numbers that are drawn here around what {len(behind)} parameters make, "
                    "and no gradient goes back through a draw: they learn nothing of what is made of it.",
                    draw.stack[0], parameters=self.doctor.names(behind),
                    figures={"parameters": len(behind)},
                )  # fmt: skip
