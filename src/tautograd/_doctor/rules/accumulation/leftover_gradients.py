"""Gradients that were there before and take part in a step: TG101, TG102."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...watch.events import Backward, Clear, Step
from ..base import Rule
from ..training_loop import training


class AccumulatedGradients(Rule):
    """A gradient that a step has used is still there when the next backward adds to it."""

    code = "TG101"
    name = "accumulated-gradients"
    why = (
        "Gradients accumulate: backward() adds to what is there. Without clearing, each step follows "
        "the sum of all gradients so far, not the gradient of this batch."
    )
    quiet = (
        "Several backwards before one step are accumulation on purpose, and fine. So is any way of "
        "clearing: zero_grad() of the optimizer or the model, p.grad = None, p.grad.zero_(), even "
        "through .data."
    )
    fix = "optimizer.zero_grad()  # before loss.backward()"
    example = training("""
  for _ in range(5):
+     optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
-     loss.backward()  # here
+     loss.backward()
      optimizer.step()
""")

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.cleared: dict[int, Site] = {}  # where parameters were cleared last

    def before_clear(self, event: Clear) -> None:
        if event.site is not None:
            self.cleared.update({id(p): event.site for p in event.parameters})

    def before_backward(self, event: Backward) -> None:
        """Weights may be moved by hand as well, where no optimizer holds them."""
        held = self.doctor.held()
        found, cause = [], None
        for account in self.doctor.ledger:
            p = account.parameter()
            if p is None or p.grad is None or len(account.added) < 1 or id(p) in held:
                continue
            if p._version == account.weights:
                continue
            if account.mixed:
                found.append(p)
                cause = cause or account.mixed[0]
            account.read = account.read or event  # the update by hand has used it
        if cause is not None:
            self.report(
                f"{len(found)} gradients that an update by hand has used were not cleared before this "
                "backward added to them.",
                cause.site, parameters=self.doctor.names(found),
                fix="p.grad = None  # after the update",
            )  # fmt: skip

    def before_step(self, event: Step) -> None:
        found = []
        cause: Backward | None = None
        for account, parameter in self.doctor.ledger.in_step(event):
            if not account.mixed or account.read is None:
                continue
            own = {b.site for b in account.added if b.number < account.read.number}
            again = [b for b in account.mixed if b.site in own or not own]
            if again:
                cause = cause or again[0]
                found.append((account, parameter))
        if cause is None:
            return
        names = self.doctor.names(p for _, p in found)
        times = max(len(account.added) for account, _ in found)
        clears = {self.cleared[id(p)] for _, p in found if id(p) in self.cleared}
        one = len(found) == 1
        message = (
            f"{len(found)} {'gradient' if one else 'gradients'} that the last step used "
            f"{'was' if one else 'were'} not cleared before this backward added to "
            f"{'it' if one else 'them'}: the step follows the sum of {times} backwards."
        )
        if clears:
            message += (
                f" They are cleared in line {min(clears).line}, but not before every backward."
            )
        self.report(
            message, cause.site, fix_site=min(clears) if clears else None, parameters=names,
            figures={"backwards in the gradient": times, "parameters": len(found)},
        )  # fmt: skip

    def after_step(self, event: Step) -> None:
        if event.has_closure:  # its backwards ran inside of the step
            self.before_step(event)


class StrayGradients(Rule):
    """The first step uses gradients of a backward that has nothing to do with the loop."""

    code = "TG102"
    name = "stray-gradients"
    why = (
        "A backward before the loop (a trial run, a sanity check) leaves its gradients behind, and "
        "the first step takes them along."
    )
    quiet = "A line that calls backward again later belongs to the loop."
    fix = "optimizer.zero_grad()  # after the trial"
    example = training("""
- model(x).sum().backward()  # here
+ model(x).sum().backward()
+ optimizer.zero_grad()
  for _ in range(9):
      loss = torch.nn.functional.mse_loss(model(x), y)
      loss.backward()
      optimizer.step()
      optimizer.zero_grad()
""")
    patience = 8  # steps without that line before it counts as stray

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.steps: dict[int, int] = {}
        self.pending: dict[Site, tuple[int, int, list[str]]] = {}  # line -> optimizer, until, names
        self.lines: dict[Site, int] = {}

    def after_backward(self, event: Backward) -> None:
        if event.site is not None:
            self.lines[event.site] = self.lines.get(event.site, 0) + 1
            if self.lines[event.site] > 1:
                self.pending.pop(event.site, None)

    def before_step(self, event: Step) -> None:
        key = id(event.optimizer)
        count = self.steps[key] = self.steps.get(key, 0) + 1
        if count == 1:
            found = self.doctor.ledger.in_step(event)
            order: dict[Any, Backward] = {}
            for account, _ in found:
                order.update({b.number: b for b in account.added})
            sites = [b.site for _, b in sorted(order.items())]
            for site in sites[:-1]:
                if site is not None and site != sites[-1] and self.lines.get(site) == 1:
                    names = self.doctor.names(p for _, p in found)
                    self.pending[site] = key, count + self.patience, names
        for site, (optimizer, until, names) in list(self.pending.items()):
            if optimizer == key and count >= until:
                del self.pending[site]
                self._say(site, names)

    def at_end(self) -> None:
        for site, (optimizer, _, names) in self.pending.items():
            if self.steps.get(optimizer, 0) >= 4:
                self._say(site, names)

    def _say(self, site: Site, names: list[str]) -> None:
        self.report(
            "The first step used gradients of this backward, which runs once, before the loop, and "
            "whose gradients were never cleared.",
            site, parameters=names,
        )  # fmt: skip
