"""Steps and backwards in the wrong order: TG402, TG403, TG404."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...watch.events import Backward, Step
from ...watch.graph_walk import is_leaf_node, nodes, present_moment
from ..base import Rule
from ..training_loop import training


class LeafLoss(Rule):
    """`backward()` on a loss that is itself a leaf: nothing was recorded, so nothing is learned."""

    code = "TG402"
    name = "leaf-loss"
    why = (
        "A loss made from plain numbers, or cut from its graph, has no history; requires_grad_() on it "
        "silences the error, and the gradient goes to the loss itself."
    )
    quiet = "A leaf that is a parameter of an optimizer."
    fix = "loss = criterion(model(x), y)  # as it is, without requires_grad_()"
    example = training("""
  for _ in range(3):
      optimizer.zero_grad()
-     loss = torch.tensor(torch.nn.functional.mse_loss(model(x), y).item(), requires_grad=True)
-     loss.backward()  # here
+     loss = torch.nn.functional.mse_loss(model(x), y)
+     loss.backward()
      optimizer.step()
""")

    def before_backward(self, event: Backward) -> None:
        held = self.doctor.held()
        for root in event.roots:
            if root.is_leaf and root.requires_grad and id(root) not in held:
                self.report(
                    "The loss is a leaf: it was made anew or cut off, and backward() from it reaches "
                    "no parameter.",
                    event.site,
                )


class StepWithoutGradients(Rule):
    """A step with no gradient that is new since the last one."""

    code = "TG403"
    name = "step-without-gradients"
    why = (
        "A second step on the same gradients moves the weights again by an old direction; a step "
        "before the first backward, or right after clearing, moves nothing."
    )
    quiet = "A step before any backward at all (some do that to please a scheduler)."
    fix = "loss.backward()  # before every optimizer.step()"
    example = training("""
  for _ in range(3):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
      loss.backward()
      optimizer.step()
-     optimizer.step()  # here
""")

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.last: dict[int, Step] = {}
        self.ever: set[int] = set()  # optimizers whose parameters ever got a gradient
        self.empty: dict[int, int] = {}
        self.shared: dict[int, int] = {}  # steps in a row on what another optimizer has stepped on

    def before_step(self, event: Step) -> None:
        key = id(event.optimizer)
        last = self.last.get(key)
        accounts = [self.doctor.ledger.account(p) for p in event.parameters]
        fresh = any(
            last is None or b.number > last.number for a in accounts for b in a.added
        ) or any(
            p.grad is not None and not a.added
            for a, p in zip(accounts, event.parameters, strict=True)
        )
        if any(a.seen for a in accounts):
            self.ever.add(key)
        self._look_for_others(event)
        if fresh:
            self.empty[key] = 0
            return
        if any(p.grad is not None for p in event.parameters):
            self.report(
                "No gradient is new since the last step: this one repeats the old direction.",
                event.site, parameters=self.doctor.names(p for p in event.parameters if p.grad is not None),
            )  # fmt: skip
        elif key in self.ever:
            self.empty[key] = self.empty.get(key, 0) + 1
            cleared = any(finding.code == "TG103" for finding in self.doctor.findings)
            if self.empty[key] == 2 and not cleared:  # else that says why there is none
                self.report(
                    "None of its parameters has a gradient: the step does nothing.", event.site
                )

    def _look_for_others(self, event: Step) -> None:
        """Two optimizers with a parameter in common: each step moves it by the same gradient."""
        key, other, again = id(event.optimizer), None, []
        for p in event.parameters if _is_own(event.optimizer, event.engine) else ():
            account = self.doctor.ledger.account(p)
            read = account.read
            if p.grad is None or read is None or account.mixed or not account.added:
                continue
            if read.optimizer is event.optimizer or read.number < account.added[-1].number:
                continue
            if _is_own(read.optimizer, event.engine):
                other = read
                again.append(p)
        self.shared[key] = self.shared.get(key, 0) + 1 if again else 0
        if other is not None and self.shared[key] == 2:
            line = other.site.line if other.site else "?"
            self.report(
                f"{len(again)} parameters are held by two optimizers: the step in line {line} has moved "
                "them by these gradients already, and this one does it again.",
                event.site, parameters=self.doctor.names(again),
                fix_site=self.doctor.made_at.get(key),
                why="Each optimizer moves all that it holds: what two of them hold moves twice.",
                fix="optimizer = torch.optim.SGD(head.parameters(), lr)  # without what the other one holds",
            )  # fmt: skip

    def after_step(self, event: Step) -> None:
        self.last[id(event.optimizer)] = event


class StaleGraph(Rule):
    """A step uses gradients of a graph that was recorded before its weights last moved."""

    code = "TG404"
    name = "stale-graph"
    why = (
        "A graph kept with retain_graph=True holds the values of its time. Backward through it after "
        "a step gives the gradient of old weights, through all that was kept so far."
    )
    quiet = (
        "Graphs through other networks, whose weights did not move; gradients that no step uses."
    )
    fix = "hidden = hidden.detach()  # before it enters the next step's graph"
    example = """
  torch.manual_seed(0)
  cell = torch.nn.Linear(4, 2)
  optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)
  x = torch.randn(5, 2)
- out = cell(torch.cat([x, x], 1)).sum()
  for _ in range(5):
+     out = cell(torch.cat([x, x], 1)).sum()
      optimizer.zero_grad()
-     out.backward(retain_graph=True)  # here
+     out.backward()
      optimizer.step()
"""
    first = 12  # backwards that are looked at in any case; later only those of kept graphs

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.moved: dict[int, int] = {}  # parameter -> moment of the last step that moved it
        self.kept = False
        self.stepped: Site | None = None  # where the last step was
        self.count = 0
        self.stale: dict[int, set[int]] = {}  # number of a backward -> parameters it is stale for
        self.samples: dict[
            int, tuple[list[float], int]
        ] = {}  # numbers of a weight, and their moment

    def before_backward(self, event: Backward) -> None:
        self.count += 1
        look = self.kept or self.count <= self.first
        self.kept = self.kept or event.retain_graph
        held = self.doctor.held()
        by_hand = self._moved_by_hand(held) if self.kept else {}
        if not look or not (self.moved or by_hand):
            return
        found = set()
        for node in nodes(event.roots, 5000):
            if is_leaf_node(node):
                continue
            for following, _ in node.next_functions:
                if following is None or not is_leaf_node(following):
                    continue
                parameter = following.variable
                moment = self.moved.get(id(parameter), by_hand.get(id(parameter)))
                if moment is not None and node._sequence_nr() < moment:
                    found.add(id(parameter))
                    if id(parameter) in by_hand:
                        self._say(event, self.doctor.names([parameter]))
        if found:
            self.stale[event.number] = found
            self.stale = dict(list(self.stale.items())[-50:])

    def before_step(self, event: Step) -> None:
        for p in event.parameters:
            for backward in self.doctor.ledger.account(p).added:
                if id(p) in self.stale.get(backward.number, ()):
                    names = self.doctor.names(
                        q for q in event.parameters if id(q) in self.stale[backward.number]
                    )
                    self._say(backward, names)
                    return

    def after_backward(self, event: Backward) -> None:
        """Weights that no optimizer holds may be moved by hand: a few numbers of each tell."""
        if not self.kept:
            return
        held = self.doctor.held()
        moment = None
        for p in event.reached:
            if id(p) not in held:
                moment = present_moment(event.engine) if moment is None else moment
                self.samples[id(p)] = _sample(p), moment

    def _moved_by_hand(self, held: dict[int, Any]) -> dict[int, int]:
        found = {}
        for account in self.doctor.ledger:
            p = account.parameter()
            if p is None or id(p) in held or id(p) not in self.samples:
                continue
            numbers, moment = self.samples[id(p)]
            if _sample(p) != numbers:
                found[id(p)] = moment
        return found

    def _say(self, backward: Backward, names: list[str]) -> None:
        details: dict[str, Any] = {}
        if not self.kept and self.stepped is not None:  # a new graph: the step came in between
            details = {
                "fix_site": self.stepped, "fix": "optimizer.step()  # after loss.backward()",
                "why": "A gradient is that of the weights with which its loss was computed. If a step "
                "moves them before backward(), the next step follows the slope of a place it has left.",
            }  # fmt: skip
        self.report(
            "This backward goes through operations that were recorded before the last step moved "
            f"{names[0]}: its gradient is that of old weights.",
            backward.site, parameters=names, **details,
        )  # fmt: skip

    def after_step(self, event: Step) -> None:
        self.stepped = event.site
        self.moved.update(dict.fromkeys(map(id, event.parameters), present_moment(event.engine)))


def _is_own(optimizer: Any, engine: Any) -> bool:
    """Whether it is one of the engine's: another may hold parameters and use no gradients."""
    return type(optimizer).__module__.startswith(engine.__name__ + ".")


def _sample(parameter: Any) -> list[float]:
    numbers: list[float] = parameter.detach().reshape(-1)[:8].tolist()
    return numbers
