"""Sums over rows of which only the last one stays: TG415."""

from __future__ import annotations

from ...watch.events import Traced
from ..base import Rule


class RowsWrittenOver(Rule):
    """`t[index] += values` with an index that names a row more than once adds only one of its values."""

    code = "TG415"
    name = "rows-written-over"
    why = (
        "t[index] += values takes the rows, adds, and writes them back. A row that comes several times in the index is "
        "written several times, each time from what it was before: all but one of its values are lost."
    )
    quiet = "Indices in which every row comes once, masks, and rows that are written without having been read."
    sure = "Certain: the index was looked at."
    refute = "One of the values is enough, whichever it is."
    fix = "total.index_add_(0, index, values)  # or total = total.index_add(0, index, values)"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 2)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y, to = torch.randn(8, 3), torch.randn(4, 2), torch.arange(8) % 4
  for _ in range(4):
      optimizer.zero_grad()
      total, values = torch.zeros(4, 2), model(x)
-     total[to] += values  # here
+     total.index_add_(0, to, values)
      torch.nn.functional.mse_loss(total, y).backward()
      optimizer.step()
"""

    def on_traced(self, event: Traced) -> None:
        for stack, rows, different in event.values.repeated.found if event.is_over else ():
            if stack:
                self.report(
                    f"{rows} values are added to {different} different rows here, and each row keeps one of its "
                    "values: the others are written over.",
                    stack[0], figures={"values": rows, "rows": different},
                )  # fmt: skip
