"""A loss that the next turn of its loop overwrites: TG506. Two lines that do so are TG412's."""

from __future__ import annotations

from collections import defaultdict

from ...._user_code.sites import Site
from ...watch.events import Traced
from ...watch.source_flow import assigned, is_conditional
from ..base import Rule


class OverwrittenLoss(Rule):
    """Each turn of a loop gives its loss the name of the last one, and only the last of all is used."""

    code = "TG506"
    name = "overwritten-loss"
    severity = "warning"
    why = (
        "A loss that gets the name of another replaces it. What the first one asked of the model is asked by nobody: "
        "of a sequence only the last step is learned, of several heads only the last."
    )
    quiet = (
        "Losses that are read (by item(), in a comparison, in a sum, by a backward of their own) or kept, and those "
        "computed without gradients or under a condition."
    )
    sure = "Certain: no call has read this loss, and nothing holds it any more."
    refute = "Only the last one was meant to count, and the others are computed for nothing."
    fix = "loss = loss + criterion(logits, y[:, t])"
    example = """
  torch.manual_seed(0)
  cell, head = torch.nn.RNNCell(3, 4), torch.nn.Linear(4, 2)
  optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
  x, y = torch.randn(8, 5, 3), torch.randint(0, 2, (8, 5))
  for _ in range(4):
      optimizer.zero_grad()
      h, loss = torch.zeros(8, 4), 0.0
      for t in range(5):
          h = cell(x[:, t], h)
-         loss = torch.nn.functional.cross_entropy(head(h), y[:, t])  # here
+         loss = loss + torch.nn.functional.cross_entropy(head(h), y[:, t])
      loss.backward()
      optimizer.step()
"""

    def on_traced(self, event: Traced) -> None:
        if not event.is_over:
            return
        used: set[tuple[str, Site]] = set()
        dropped: dict[tuple[str, Site], int] = defaultdict(int)
        for scalar in event.values.scalars:
            found = assigned(scalar.stack)
            if found is not None and scalar.is_read:
                used.add(found)
            elif found is not None and scalar.is_dropped and not is_conditional(scalar.stack):
                dropped[found] += 1
        for (name, site), many in dropped.items():
            if (name, site) in used:
                self._tell(name, site, many)

    def _tell(self, name: str, site: Site, many: int) -> None:
        losses = "A loss" if many == 1 else f"{many} losses"
        self.report(
            f"{losses} of this line in one step: the next one gets the name {name} before anything has read it. "
            "The step learns of the last one only.",
            site, figures={"dropped": many}, fix=f"# {name} = {name} + ..., from 0 on before the loop",
        )  # fmt: skip
