"""Clipping that does not bound the step: of nothing, of others, or in vain: TG203, TG204, TG205."""

from __future__ import annotations

from typing import Any

from ...watch.discarded_results import new_discarded
from ...watch.events import Clip, Step
from ..base import Rule
from ..training_loop import training
from .clip_account import account_of


class _Clipping(Rule):
    """Reports the verdicts of its own code."""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.account = account_of(doctor)

    def after_clip(self, event: Clip) -> None:
        self.account.after_clip(event)

    def before_step(self, event: Step) -> None:
        self.account.before_step(event)
        for verdict in [v for v in self.account.verdicts if v.code == self.code]:
            self.account.verdicts.remove(verdict)
            self.report(
                verdict.message, verdict.site, parameters=self.doctor.names(verdict.parameters),
                figures=verdict.figures,
            )  # fmt: skip

    def after_step(self, event: Step) -> None:
        self.account.after_step(event)


class ClipOfNothing(_Clipping):
    """The parameters to clip are none, or have no gradients, while the stepped ones do."""

    code = "TG203"
    name = "clip-of-nothing"
    why = (
        "model.parameters() is a generator: once it has been gone through, nothing is left in it, and "
        "clipping nothing is no error. The step follows gradients of any size."
    )
    quiet = "Parts that are frozen or not used, as long as what the step uses is clipped as well."
    fix = "torch.nn.utils.clip_grad_norm_(model.parameters(), limit)"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
- parameters = model.parameters()
+ parameters = list(model.parameters())
  optimizer = torch.optim.SGD(parameters, lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(5):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
-     torch.nn.utils.clip_grad_norm_(parameters, 0.1)  # here
+     torch.nn.utils.clip_grad_norm_(parameters, 0.1)
      optimizer.step()
"""


class ClipOfOthers(_Clipping):
    """What is clipped before a step is not what the step uses."""

    code = "TG204"
    name = "clip-of-others"
    why = "A step is bounded only if its own gradients are clipped, not those of another network."
    quiet = (
        "Clips that another optimizer's step uses, steps that nobody meant to clip, and gradients that "
        "are copied to other parameters before the step."
    )
    fix = "torch.nn.utils.clip_grad_norm_(actor.parameters(), limit)  # of the net that steps next"
    example = """
  torch.manual_seed(0)
  actor, critic = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
  for_actor = torch.optim.SGD(actor.parameters(), lr=0.01)
  for_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
  x = torch.randn(8, 3)
  for _ in range(5):
      for_critic.zero_grad()
      critic(x).pow(2).mean().backward()
      torch.nn.utils.clip_grad_norm_(critic.parameters(), 0.1)
      for_critic.step()
      for_actor.zero_grad()
      actor(x).pow(2).mean().backward()
-     torch.nn.utils.clip_grad_norm_(critic.parameters(), 0.1)  # here
+     torch.nn.utils.clip_grad_norm_(actor.parameters(), 0.1)
      for_actor.step()
"""


class ClipLost(_Clipping):
    """Gradients are clipped after the step, before more is added to them, or as copies."""

    code = "TG205"
    name = "clip-lost"
    why = (
        "Clipping bounds the gradients that are there when it runs. After the step it is too late, and "
        "what a later backward adds is not bounded; nor does p.grad.clamp() bound them, which gives a "
        "new tensor."
    )
    quiet = "Clipping for the norm it returns, with an infinite limit; gradients used by hand."
    fix = (
        "torch.nn.utils.clip_grad_norm_(model.parameters(), limit)  # right before optimizer.step()"
    )
    example = training("""
  for _ in range(5):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
+     torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
      optimizer.step()
-     torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # here
""")

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.read: set[Any] = set()  # functions whose source was read

    def before_step(self, event: Step) -> None:
        super().before_step(event)
        for found in new_discarded(self, event, self.read):
            if found.of_gradient:
                self.report(
                    found.message, found.site, parameters=self.doctor.names([found.parameter]),
                    fix=found.fix,
                )  # fmt: skip
