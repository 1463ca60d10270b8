"""A loss that the next one overwrites: TG506."""

from __future__ import annotations

from ...._user_code.sites import Site
from ...watch.events import Traced
from ...watch.source_flow import assigned, is_conditional
from ..base import Rule


class OverwrittenLoss(Rule):
    """Several losses get one name in a step, and only the last one is used: `=` where `+=` was meant."""

    code = "TG506"
    name = "overwritten-loss"
    severity = "warning"
    why = (
        "A loss that gets the name of another replaces it. What the first one asked of the model is asked by nobody: "
        "of a sequence only the last step is learned, of several terms only the last."
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
        used: dict[tuple[str, str, str], Site] = {}  # name and function -> the line that is used
        dropped: dict[tuple[str, str, str], list[Site]] = {}
        for scalar in event.values.scalars:
            found = assigned(scalar.stack)
            if found is None:
                continue
            name, site = found
            key = name, site.file, site.function
            if scalar.is_read:
                used[key] = site
            elif scalar.is_dropped and not is_conditional(scalar.stack):
                dropped.setdefault(key, []).append(site)
        for key in dropped.keys() & used.keys():
            self._tell(key[0], dropped[key], used[key])

    def _tell(self, name: str, dropped: list[Site], used: Site) -> None:
        site, many = dropped[0], len(dropped)
        by = "the next one" if site == used else f"another one, in line {used.line},"
        self.report(
            f"{many} {'loss' if many == 1 else 'losses'} of this line in one step: {by} gets the name {name} "
            "before anything has read it. The step learns of the last one only.",
            site if site == used else used, figures={"dropped": many},
            fix=f"# {name} = {name} + ..., begun at 0 before the loop" if site == used
            else f"# {name} = {name} + ..., or another name",
        )  # fmt: skip
