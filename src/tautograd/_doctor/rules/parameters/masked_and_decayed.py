"""Weights whose gradients are masked, and that decay all the same: TG319."""

from __future__ import annotations

import weakref
from typing import Any

from ...watch.events import Backward, Step
from ..base import Rule

STEPS = 4  # with a mask, before it is said


class MaskedAndDecayed(Rule):
    """Gradients of some entries are set to 0 by hand in every step, and weight decay moves these entries."""

    code = "TG319"
    name = "masked-and-decayed"
    why = (
        "A gradient of 0 stops what the loss does to a weight, and nothing else: an optimizer with weight decay "
        "draws it towards 0 in every step, so that what was to be kept fades away."
    )
    quiet = (
        "Entries that are 0 themselves (pruned weights), optimizers without weight decay, gradients that are 0 by "
        "themselves (words that did not come, dead units), entries that are put back after the step, and masks that "
        "change from step to step."
    )
    sure = "Certain: entries whose gradient was 0 after the mask have moved in this step."
    refute = "These entries are meant to fade."
    fix = "weight.data[mask] = kept[mask]  # after the step; or weight_decay=0 for this parameter"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 4)
- optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)
+ optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 3), torch.randn(8, 4)
  for _ in range(8):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      model.weight.grad[:2] = 0
-     optimizer.step()  # here
+     optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.after: dict[int, tuple[Any, int, int]] = {}  # gradient, its version and zeros after backward
        self.masks: dict[int, tuple[Any, Any, int]] = {}  # parameter, where it is 0, for how many steps
        self.held: list[tuple[Any, Any, Any]] = []  # parameter, mask, entries before the step
        self.moved: tuple[Any, list[tuple[Any, Any, Any]]] | None = None  # by the last step, and where

    def after_backward(self, event: Backward) -> None:
        self.after = {
            id(p): (weakref.ref(g), g._version, int((g == 0).sum()))
            for p in event.reached
            if (g := p.grad) is not None and not g.is_sparse and g.numel() <= 4_000_000
        }  # fmt: skip

    def before_step(self, event: Step) -> None:
        self._judge()
        self.held = []
        decaying = {
            id(p)
            for group in event.optimizer.param_groups
            if group.get("weight_decay") and group.get("lr")
            for p in group["params"]
        }
        for p in event.parameters:
            if id(p) not in decaying or p.grad is None or p.grad.is_sparse:
                continue
            mask = self._mask(p)
            known = self.masks.pop(id(p), None)
            if mask is None:
                continue
            same = known is not None and known[0]() is p and bool((known[1] == mask).all())
            count = known[2] + 1 if same and known is not None else 1
            self.masks[id(p)] = weakref.ref(p), mask, count
            if count == STEPS:
                self.held.append((p, mask, p.detach()[mask].clone()))

    def _mask(self, p: Any) -> Any:
        """Where a gradient was set to 0 since its backward, or by a hook, if somewhere."""
        found = self.after.get(id(p))
        if found is None:
            return None
        gradient, version, zeros = found
        by_hand = gradient() is not p.grad or p.grad._version != version
        if not by_hand and not getattr(p, "_backward_hooks", None):
            return None
        mask = p.grad == 0
        many = int(mask.sum())
        if not 0 < many < mask.numel() or (by_hand and many <= zeros):
            return None
        return mask if bool((p.detach()[mask] != 0).any()) else None

    def after_step(self, event: Step) -> None:
        held, self.held = self.held, []
        moved = [(p, m, was) for p, m, was in held if bool((p.detach()[m] != was).any())]
        if moved:
            self.moved = event.site, moved

    def at_end(self) -> None:
        self._judge()

    def _judge(self) -> None:
        """Before the next step: what was put back by hand has not moved."""
        if self.moved is None:
            return
        (site, held), self.moved = self.moved, None
        moved = [(p, int(m.sum())) for p, m, was in held if bool((p.detach()[m] != was).any())]
        if moved:
            many = sum(count for _, count in moved)
            self.report(
                f"{many} entries of {len(moved)} parameters had a gradient that was set to 0 in each of {STEPS} steps in "
                "a row, and the step has moved them: weight decay asks for no gradient.",
                site, parameters=self.doctor.names([p for p, _ in moved]), figures={"entries": many},
            )  # fmt: skip
