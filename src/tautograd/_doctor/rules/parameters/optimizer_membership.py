"""Parameters that the loss reaches and no optimizer holds, and the other way round: TG301, TG302."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_frames
from ...state.parameter_owners import Owners, is_resting
from ...watch.events import Backward, Freeze, ModuleCall, Registration, Step
from ..base import Rule
from ..graph.never_stepped import Uses
from ..training_loop import plain_steps
from .forgotten_leaves import ENOUGH, watch_of


class _Membership(Rule):
    """Goes by the watch over parameters that no optimizer holds, which the doctor has once."""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.watch = watch_of(doctor)

    def before_backward(self, event: Backward) -> None:
        self.watch.before_backward(event)

    def after_backward(self, event: Backward) -> None:
        self.watch.after_backward(event)


class OptimizerHoldsDead(_Membership):
    """An optimizer holds parameters that were replaced; the loss reaches the new ones, it does not."""

    code = "TG302"
    name = "optimizer-holds-dead"
    why = (
        "An optimizer holds the parameters it was given, not the model. If they are replaced after "
        "that (a new head, a copy of the model, a pruned weight), it goes on with the old ones, "
        "which nothing uses, and the new ones never learn."
    )
    quiet = (
        "Parameters that are held and not used now (experts, other phases, frozen ones), as long as "
        "no others stand in their place."
    )
    fix = "optimizer = torch.optim.SGD(model.parameters(), lr)  # after the replacement"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
+ model[2] = torch.nn.Linear(4, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
- model[2] = torch.nn.Linear(4, 1)  # here
  x, y = torch.randn(8, 3), torch.randn(8, 1)""" + plain_steps(6)

    def after_step(self, event: Step) -> None:
        self.watch.after_step(event)

    def on_registered(self, event: Registration) -> None:
        self.watch.on_registered(event)

    def at_end(self) -> None:
        self.watch.stop_listening()

    def before_step(self, event: Step) -> None:
        watch = self.watch
        parameters = watch.forgotten_for(ENOUGH - 1)
        now = watch.reached.get(id(event.optimizer))
        if not parameters or now is None:
            return
        dead = [p for p in event.parameters if p.requires_grad and id(p) not in now]
        if not dead:
            return
        forgotten = {id(p): p for p in parameters}
        gone = {id(p) for p in dead}
        for replacement in reversed(watch.replaced):
            old = [p for r in replacement.old if (p := r()) is not None and id(p) in gone]
            new = [p for r in replacement.new if (p := r()) is not None and id(p) in forgotten]
            if old and new:
                self._say(event, replacement.site, old, new)
                watch.settle(new)
        rest = [p for p in parameters if id(p) in watch.forgotten]
        if len(dead) == len(event.parameters) and _same_shapes(dead, rest):
            if any(p.grad is not None for p in dead):
                return  # their gradients come from elsewhere
            made = self.doctor.made_at.get(id(event.optimizer))
            self._say(event, made or event.site, dead, rest)
            watch.settle(rest)

    def _say(self, event: Step, site: Site | None, old: list[Any], new: list[Any]) -> None:
        made = self.doctor.made_at.get(id(event.optimizer))
        where = "" if made is None or made == site else f" (made in line {made.line})"
        names = Owners(self.doctor).names(self.doctor, new)
        self.report(
            f"{len(new)} parameters that the loss reaches came in the place of {len(old)} that the "
            f"optimizer{where} holds: it steps the old ones, and the new ones never change.",
            site, fix_site=made, parameters=names,
            figures={"held and unused": len(old), "used and not held": len(new)},
        )  # fmt: skip


def _same_shapes(one: list[Any], other: list[Any]) -> bool:
    return bool(one) and sorted(tuple(p.shape) for p in one) == sorted(
        tuple(p.shape) for p in other
    )


class _Numbers:
    """Plain tensors of one entry that nobody holds; somebody may move them later, by hand."""

    def __init__(
        self, watch: Any, numbers: list[Any], place: tuple[Site | None, int], step: int
    ) -> None:
        self.found = [(p, watch.forgotten[id(p)]) for p in numbers]
        self.place, self.step = place, step
        self.codes = {frame.f_code for frame in user_frames(4)}

    def still(self) -> list[Any]:
        """Those that have not moved, if no gradient is read in the functions that train."""
        still = [p for p, one in self.found if not one.moved(p)]
        return [] if still and Uses(self.codes).reads else still


class NotInOptimizer(_Membership):
    """Trainable parameters that the loss reaches, and that no optimizer holds."""

    code = "TG301"
    name = "not-in-optimizer"
    why = (
        "Layers in a plain Python list, a second network, a temperature, or a parameter that is made "
        "later are not in the list that the optimizer was given. Their gradients are computed and never used."
    )
    quiet = (
        "Parameters of any optimizer, parameters and numbers that are updated by hand, modules in eval mode, a "
        "loop that trains an input only, and a model of which only the last part was given to the "
        "optimizer (a linear probe)."
    )
    fix = "optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])"
    example = """
  torch.manual_seed(0)
  encoder, decoder = torch.nn.Linear(3, 2), torch.nn.Linear(2, 3)
- optimizer = torch.optim.Adam(encoder.parameters())  # here
+ optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
  x = torch.randn(8, 3)
  for _ in range(6):
      encoder.zero_grad()
      decoder.zero_grad()
      torch.nn.functional.mse_loss(decoder(encoder(x)), x).backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.numbers: list[_Numbers] = []

    def on_module(self, event: ModuleCall) -> None:
        self.watch.on_module(event)

    def on_freeze(self, event: Freeze) -> None:
        self.watch.on_freeze(event)

    def after_step(self, event: Step) -> None:
        watch = self.watch
        watch.after_step(event)
        reached = watch.just_reached
        parameters = watch.forgotten_for(ENOUGH)
        if not watch.forgotten:
            watch.stop_listening()
        if not parameters or not reached:
            return
        mine = [p for p in event.parameters if id(p) in reached]
        if not mine:
            return
        numbers = [p for p in parameters if watch.forgotten[id(p)].is_number]
        if numbers:
            self.numbers.append(_Numbers(watch, numbers, self._place(event), self.doctor.steps))
        watch.settle(parameters)
        parameters = [p for p in parameters if all(p is not n for n in numbers)]
        if not parameters:
            return
        owners = Owners(self.doctor)
        if not any(owners.owned(p) for p in mine) and any(owners.owned(p) for p in parameters):
            return  # what is trained is an input of the model
        mode = [m for p in mine for m in owners.modules(p)]
        if not is_resting(mode):
            parameters = [p for p in parameters if not is_resting(owners.modules(p))]
        if not parameters:
            return
        if self._is_probe(owners, mine, parameters) and not self._are_thawed(mine, parameters):
            return
        self._say(owners, parameters, self._place(event), self.doctor.steps)

    def _place(self, event: Step) -> tuple[Site | None, int]:
        """Where the optimizer was made, and how much it holds."""
        made = self.doctor.made_at.get(id(event.optimizer)) or event.site
        return made, len(event.parameters)

    def _say(
        self, owners: Owners, parameters: list[Any], place: tuple[Site | None, int], step: int
    ) -> None:
        made, held = place
        names = owners.names(self.doctor, parameters)
        hidden = next(filter(None, map(owners.list_of, parameters)), "")
        fix = self.fix
        if hidden:
            fix = f"self.{hidden} = torch.nn.ModuleList(...)  # not a plain list: its layers are not found"
        self.report(
            f"{len(parameters)} trainable parameters are reached by the loss, but no optimizer "
            "holds them: they never change.",
            made, parameters=names, fix=fix, step=step,
            figures={"not held": len(parameters), "held": held}, key=(self.code, made),
        )  # fmt: skip

    def at_end(self) -> None:
        """Numbers may be moved now and then, by hand: whether any was is known only now."""
        self.watch.stop_listening()
        for numbers in self.numbers:
            still = numbers.still()
            if still:
                self._say(Owners(self.doctor), still, numbers.place, numbers.step)

    def _are_thawed(self, mine: list[Any], rest: list[Any]) -> bool:
        """Whether the rest gets gradients only since a while: it was unfrozen, to be trained."""
        account = self.doctor.ledger.account
        held = max(account(p).seen for p in mine)
        return held >= 3 + max(account(p).seen for p in rest)

    def _is_probe(self, owners: Owners, mine: list[Any], rest: list[Any]) -> bool:
        """Whether the held ones are whole last layers of the model that the others belong to."""
        models = {id(r) for p in rest for r in owners.roots(p)}
        if len(models) != 1 or any({id(r) for r in owners.roots(p)} != models for p in mine):
            return False
        if not all(owners.owned(p) for p in rest):
            return False
        last = {id(m) for p in mine for m in owners.modules(p)}
        first = {id(m) for p in rest for m in owners.modules(p)}
        order = self.watch.order
        if last & first or not all(m in order for m in last | first):
            return False
        return max(order[m] for m in first) < min(order[m] for m in last)
