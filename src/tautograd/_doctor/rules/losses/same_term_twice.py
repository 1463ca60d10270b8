"""A loss that has one of its terms twice: TG507."""

from __future__ import annotations

from ...watch.events import Traced
from ...watch.value_numbers import Scalar
from ..base import Rule


class SameTermTwice(Rule):
    """Two terms of a loss are the same function of the same tensors: one was meant to be of others."""

    code = "TG507"
    name = "same-term-twice"
    severity = "warning"
    why = (
        "A sum of two terms that are the same value by construction is one term with another weight. Where two are "
        "written, the second is mostly a copy of the first in which a name was not changed: the labels "
        "of the other sample, the other output, the other domain."
    )
    quiet = (
        "Terms that are equal by chance, that draw random numbers (dropout), that belong to different backwards, or "
        "of which one is subtracted."
    )
    sure = "Certain that the two are the same at every step; that another one was meant is likely."
    refute = "The term is meant to count so often."
    fix = "loss = lam * criterion(out, y_a) + (1 - lam) * criterion(out, y_b)"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 2)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 3), torch.randint(0, 2, (8,))
  for step in range(4):
      order, lam = torch.randperm(8), 0.3
      out = model(lam * x + (1 - lam) * x[order])
      y_a, y_b = y, y[order]
      criterion = torch.nn.functional.cross_entropy
-     loss = lam * criterion(out, y_a) + (1 - lam) * criterion(out, y_a)  # here
+     loss = lam * criterion(out, y_a) + (1 - lam) * criterion(out, y_b)
      optimizer.zero_grad()
      loss.backward()
      optimizer.step()
"""

    def on_traced(self, event: Traced) -> None:
        if not event.is_over:
            return
        for terms in event.values.terms:
            seen: dict[tuple[object, bool], Scalar] = {}
            for scalar, is_less in sorted(terms, key=lambda term: term[0].node):
                first = seen.setdefault((scalar.number, is_less), scalar)
                if first is not scalar:
                    self._tell(first, scalar)

    def _tell(self, first: Scalar, second: Scalar) -> None:
        place = next((s for s in second.stack if s not in first.stack), second.stack[0])
        other = next((s for s in first.stack if s not in second.stack), None)
        where = "in this line" if other is None else f"in this line and in line {other.line}"
        self.report(
            f"The loss has one term twice, {where}: the same function of the same tensors, so that the second "
            "says nothing that the first does not say.",
            place, fix="# give one of the two what it was meant for",
        )  # fmt: skip
