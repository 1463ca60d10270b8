"""Labels that are renamed twice: TG917."""

from __future__ import annotations

from ...watch.events import Traced
from ..base import Rule


class RenamedTwice(Rule):
    """Classes are renamed one after another in one tensor, and what was renamed is renamed again."""

    code = "TG917"
    name = "renamed-twice"
    why = (
        "labels[labels == a] = b makes of two classes one, if b is still to be renamed: the next line finds both. At the "
        "end several classes have one name, and no model can tell them apart."
    )
    quiet = "Renamings that read from a copy, tables (table[labels]), and entries that are written once."
    sure = "Certain: the entries that were written were found again."
    refute = "The classes are meant to be merged."
    fix = "renamed = labels.clone()  # renamed[labels == a] = b; or table[labels]"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 4)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, kinds, order = torch.randn(12, 3), torch.arange(12) % 3, [1, 2, 3]
  for _ in range(4):
-     labels = old = kinds + 0
+     labels, old = kinds + 0, kinds
      for kind in range(3):
-         labels[old == kind] = order[kind]  # here
+         labels[old == kind] = order[kind]
      optimizer.zero_grad()
      torch.nn.functional.cross_entropy(model(x), labels).backward()
      optimizer.step()
"""

    def on_traced(self, event: Traced) -> None:
        many: dict[object, int] = {}
        for stack, entries in event.values.renamings.found if event.is_over else ():
            if stack:
                many[stack[0]] = many.get(stack[0], 0) + entries
        for site, entries in many.items():
            self.report(
                f"{entries} entries that were renamed are found by their new name here, and renamed again: several "
                "classes become one.",
                site, figures={"entries": entries},
            )  # fmt: skip
