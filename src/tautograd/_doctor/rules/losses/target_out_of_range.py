"""Targets that mean something else to their loss: TG508."""

from __future__ import annotations

from typing import Any

from ...watch.events import Loss
from ..base import Rule

_OF_SIGNS = frozenset(
    ("margin_ranking_loss", "cosine_embedding_loss", "hinge_embedding_loss", "soft_margin_loss")
)
"""Losses whose target is 1 or -1."""
_OF_SHARES = frozenset(
    ("binary_cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss")
)
"""Losses whose target is between 0 and 1."""

_BESIDE = 0.5  # of the range: labels with noise on them may lie a little beside it


class TargetOutOfRange(Rule):
    """The targets of a loss are coded as it does not read them: 0 for -1, -1 for 0, scores for shares."""

    code = "TG508"
    name = "target-out-of-range"
    why = (
        "A loss that asks for 1 and -1 gets nothing, or the same for any output, from a 0; one that asks for shares "
        "between 0 and 1 has no least value for a target outside, so that outputs grow without end."
    )
    quiet = (
        "Targets in the range of their loss or near it (labels with noise), a 0 beside 1 and -1 (a tie), and losses "
        "that are computed without gradients."
    )
    sure = "Certain: the targets were compared with what the loss is defined for."
    refute = "Samples with such a target are meant to teach nothing."
    fix = "target = 2 * target - 1  # 1 and -1, as this loss asks"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  one, other = torch.randn(8, 3), torch.randn(8, 3)
- better = (one[:, 0] > other[:, 0]).float()
+ better = 2 * (one[:, 0] > other[:, 0]).float() - 1
  for _ in range(4):
      optimizer.zero_grad()
      scores = model(one).squeeze(1), model(other).squeeze(1)
-     loss = torch.nn.functional.margin_ranking_loss(*scores, better, margin=0.1)  # here
+     loss = torch.nn.functional.margin_ranking_loss(*scores, better, margin=0.1)
      loss.backward()
      optimizer.step()
"""
    enough = 2  # calls of a line

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.ranges: dict[Any, list[float]] = {}  # line -> times wrong, smallest, largest so far

    def on_loss(self, event: Loss) -> None:
        target = event.target
        of_signs = event.function in _OF_SIGNS
        if not (of_signs or event.function in _OF_SHARES) or not event.input.requires_grad:
            return
        if target.requires_grad or not target.numel() or target.is_complex():
            return
        least, most = float(target.min()), float(target.max())
        seen = self.ranges.setdefault(event.site, [0, least, most])
        seen[1], seen[2] = min(seen[1], least), max(seen[2], most)
        if of_signs:
            is_wrong = seen[1] == 0 and seen[2] in (0, 1) and bool((target == 0).any())
        else:
            is_wrong = least < -_BESIDE or most > 1 + _BESIDE
        seen[0] += is_wrong
        if is_wrong and seen[0] == self.enough:
            wanted = "1 or -1" if of_signs else "from 0 to 1"
            self.report(
                f"The targets of {event.function} go from {seen[1]:g} to {seen[2]:g}; this loss reads {wanted}.",
                event.site, figures={"least": seen[1], "most": seen[2]},
                fix=self.fix if of_signs else "target = (target + 1) / 2  # from 0 to 1, as this loss asks",
            )  # fmt: skip
