"""Gradients of two losses that meet in one network, which only one of them should train: TG105."""

from __future__ import annotations

from typing import Any

from ...watch.events import Backward, ModuleCall, Step
from ..base import Rule


class MeetingLosses(Rule):
    """A step uses gradients of a loss that another optimizer has already stepped on."""

    code = "TG105"
    name = "meeting-losses"
    why = (
        "A generator's loss sends gradients through the discriminator as well. If those are not "
        "cleared before the discriminator's own backward, it follows the sum of both losses, which "
        "pull in opposite directions."
    )
    quiet = (
        "Several losses before all steps are one joint loss; gradients cleared in between are fine."
    )
    fix = "optimizer_d.zero_grad()  # right before the discriminator's own backward"
    example = """
  torch.manual_seed(0)
  generator, critic = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
  optimizer_g = torch.optim.SGD(generator.parameters(), lr=0.01)
  optimizer_d = torch.optim.SGD(critic.parameters(), lr=0.01)
  for _ in range(5):
      real, noise = torch.randn(4, 2), torch.randn(4, 2)
      loss_d = critic(generator(noise).detach()).mean() - critic(real).mean()
+     optimizer_d.zero_grad()
      loss_d.backward()
      optimizer_d.step()
-     optimizer_d.zero_grad()
      loss_g = -critic(generator(noise)).mean()
      optimizer_g.zero_grad()
-     loss_g.backward()  # here
+     loss_g.backward()
      optimizer_g.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.recent: list[Step] = []
        self.inputs: dict[
            int, dict[int, set[bool]]
        ] = {}  # module -> memory of an input -> recorded
        self.against: set[int] = set()  # parameters of modules that judge another's output

    def on_module(self, event: ModuleCall) -> None:
        """A module that sees the same numbers with and without their graph judges who made them:
        what it learns from itself is kept apart from what its judgement teaches the other."""
        if not event.grad_mode or not event.args:
            return
        given = event.args[0]
        if not isinstance(given, event.engine.Tensor) or not given.numel():
            return
        try:
            memory = given.data_ptr()
        except RuntimeError:  # inside of a functional transform a tensor has none
            return
        seen = self.inputs.setdefault(id(event.module), {})
        if len(seen) > 64:
            seen.clear()
        kinds = seen.setdefault(memory, set())
        kinds.add(bool(given.requires_grad))
        if len(kinds) == 2:
            self.against |= {id(p) for p in event.module.parameters()}

    def before_step(self, event: Step) -> None:
        for account, p in self.doctor.ledger.in_step(event):
            if len(account.added) < 2:
                continue
            last = account.added[-1]
            if id(p) in self.against and self._follows_both(account, event):
                return
            for early in account.added[:-1]:
                if early.site == last.site:
                    continue
                other = _between(early, self.recent, last, event.optimizer)
                if other is None:
                    continue
                reached = {id(q) for q in early.reached}
                names = self.doctor.names(q for q in event.parameters if id(q) in reached)
                self.report(
                    "Gradients of this loss, on which another optimizer has stepped already, are "
                    f"still in {len(names)} parameters when the loss in line "
                    f"{last.site.line if last.site else '?'} adds its own.",
                    early.site, parameters=names,
                )  # fmt: skip
                return

    def _follows_both(self, account: Any, event: Step) -> bool:
        """Whether a judge's step uses the loss that is meant for the other one, too."""
        mine = {id(p) for p in event.parameters}
        own = [b for b in account.added if all(id(p) in mine for p in b.reached)]
        others = [b for b in account.added if any(id(p) not in mine for p in b.reached)]
        if not own or not others:
            return False
        names = self.doctor.names(p for p in others[-1].reached if id(p) in mine)
        self.report(
            "This loss is meant for another network, but its gradients are still in "
            f"{len(names)} parameters of the one that judges it when that one steps.",
            others[-1].site, parameters=names,
        )  # fmt: skip
        return True

    def after_step(self, event: Step) -> None:
        self.recent = [*self.recent[-20:], event]
        self.inputs.clear()


def _between(first: Backward, steps: list[Step], last: Backward, mine: Any) -> Step | None:
    """Another optimizer's step between two backwards, which used the first of them."""
    reached = {id(p) for p in first.reached}
    for step in steps:
        others = step.optimizer is not mine and any(id(p) in reached for p in step.parameters)
        if others and first.number < step.number < last.number:
            return step
    return None
