"""Gradients that are cleared before any step has read them: TG103."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...state.gradient_ledger import parameters_of
from ...watch.events import Backward, Clear, Scaler, Step
from ...watch.graph_walk import leaves
from ...watch.source_flow import is_conditional
from ...watch.source_lines import line_like
from ..base import Rule
from ..training_loop import training


class ClearedBeforeUse(Rule):
    """Gradients are cleared that no step has read, again and again."""

    code = "TG103"
    name = "cleared-before-use"
    why = (
        "zero_grad() between backward() and step() throws the gradients away: with one step every k "
        "batches, all but the last batch count for nothing; right before the step, all of them."
    )
    quiet = (
        "Gradients that are thrown away now and then (a skipped batch), gradients of another loss (a "
        "generator's, in the discriminator), and gradients that were used by hand."
    )
    fix = "optimizer.zero_grad()  # right after optimizer.step(), not for every batch"
    example = training(
        """
  for i in range(12):
      x, y = torch.randn(8, 3), torch.randn(8, 1)
-     optimizer.zero_grad()  # here
      loss = torch.nn.functional.mse_loss(model(x), y) / 4
      loss.backward()
      if i % 4 == 3:
          optimizer.step()
+         optimizer.zero_grad()
""",
        data="",
    )

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.lost: dict[int, list[tuple[Site | None, set[Any], set[int]]]] = {}  # by optimizer
        self.bad: dict[int, int] = {}  # windows in a row that lost something
        self.weights: dict[int, int] = {}  # versions of parameters when a backward reached them
        self.used: set[int] = set()  # numbers of backwards that a step has used
        self.starved: list[Step] = []  # steps that used none
        self.wasted: dict[Any, tuple[Backward, Site | None]] = {}  # line of a backward -> the last
        self.waste: dict[Any, int] = {}  # and how often in a row nobody used it
        self.for_inputs: set[Any] = set()  # lines of backwards that serve something else
        self.runs: dict[Any, int] = {}  # line of a clear -> how often it ran,
        self.rests: dict[Any, int] = {}  # and how often it threw away what the next steps use

    # --- what becomes of gradients -------------------------------------------------------------

    def before_backward(self, event: Backward) -> None:
        by_hand, self.doctor.ledger.dropped = self.doctor.ledger.dropped, []
        if by_hand:
            pattern = r"\.grad\s*=\s*None|\.grad(\.data)?\.zero_\(|zero_grad\(|set_to_none"
            site = line_like(pattern) or event.site
            self._note(site, [(a, added) for a, added in by_hand])
        if self.doctor.pulse.close and event.site not in self.for_inputs:
            known = {id(a.parameter()) for a in self.doctor.ledger.everyone()}
            if any(id(leaf) not in known for leaf in leaves(event.roots, 2000)):
                self.for_inputs.add(event.site)
        last = self.wasted.pop(event.site, None)
        if last is None:
            return
        backward, site = last
        if backward.number in self.used or event.site in self.for_inputs:
            self.waste[event.site] = 0
            return
        if backward.step == event.step:  # no step yet that could have used it
            return
        if self._was_for_another(backward):
            return
        self.waste[event.site] = self.waste.get(event.site, 0) + 1
        told = any(finding.code == "TG403" for finding in self.doctor.findings)
        if self.waste[event.site] == 2 and not told:  # else that is why
            line = event.site.line if event.site else "?"
            self.report(
                f"The gradients of the backward in line {line} are cleared before any step reads them.",
                site, parameters=self.doctor.names(backward.reached),
            )  # fmt: skip

    def _was_for_another(self, backward: Backward) -> bool:
        """Whether an optimizer stepped after it, without gradients, that it did not reach: it was meant
        for that one, and the graph is cut."""
        reached = {id(p) for p in backward.reached}
        return any(
            step.number > backward.number and not any(id(p) in reached for p in step.parameters)
            for step in self.starved
        )

    def after_backward(self, event: Backward) -> None:
        for p in event.reached:
            self.weights[id(p)] = p._version

    def on_scaler(self, event: Scaler) -> None:
        if event.how == "step" and event.optimizer is not None:  # it looks at them, and may skip
            for p in parameters_of(event.optimizer):
                self.weights.pop(id(p), None)
                self.used |= {b.number for b in self.doctor.ledger.account(p).added}

    def before_clear(self, event: Clear) -> None:
        found = []
        for p in event.parameters:
            account = self.doctor.ledger.account(p)
            fresh = account.added if account.read is None else account.mixed
            if fresh:
                found.append((account, fresh))
        self.runs[event.site] = self.runs.get(event.site, 0) + 1
        self._note(event.site, found)

    def _note(self, site: Site | None, cleared: list[tuple[Any, list[Backward]]]) -> None:
        """Gradients that nobody has read were cleared in this line."""
        held = self.doctor.held()
        losses: dict[int, tuple[set[Any], set[int]]] = {}
        for account, added in cleared:
            p = account.parameter()
            fresh = [
                b for b in added if b.number not in self.used
            ]  # or by another optimizer's step
            if not fresh:
                continue
            if p is None or self.weights.get(id(p)) != p._version or id(p) not in held:
                continue
            sites, names = losses.setdefault(id(held[id(p)]), (set(), set()))
            sites |= {b.site for b in fresh}
            names.add(id(p))
            for b in fresh:
                if not b.retain_graph:
                    self.wasted[b.site] = b, site
        for optimizer, (sites, ids) in losses.items():
            self.lost.setdefault(optimizer, []).append((site, sites, ids))

    def before_step(self, event: Step) -> None:
        key = id(event.optimizer)
        found = self.doctor.ledger.in_step(event)
        if self.lost.get(key):  # cleared, and zeros left in their place
            found = [(a, p) for a, p in found if a.added or bool((p.grad.detach() != 0).any())]
        by_hand = {id(account.parameter()) for account, _ in found if not account.added}
        # What the user has put in the place of a gradient was made of it, it seems.
        lost = [entry for entry in self.lost.pop(key, []) if entry[2] - by_hand]
        used = {b.site for account, _ in found for b in account.added}
        self.used |= {b.number for account, _ in found for b in account.added}
        if not used:
            self.starved = [*self.starved[-9:], event]
        if found and not used:  # gradients that the user has made: of those thrown away, it seems
            self.for_inputs |= set(self.wasted)
            self.wasted.clear()
        same = [entry for entry in lost if entry[1] & used]
        empty = bool(lost) and not found
        self._rest(event, same)
        if not same and not empty:
            self.bad[key] = 0
            return
        self.bad[key] = self.bad.get(key, 0) + 1
        if self.bad[key] < 2:
            return
        site, sites, ids = (same or lost)[-1]
        names = self.doctor.names(p for p in event.parameters if id(p) in ids)
        fix = self.fix
        if empty:
            fix = "optimizer.zero_grad()  # before loss.backward(), or after optimizer.step()"
            backward = next(iter(sites))
            if _in_source_order(site, event.site, backward):
                return  # the step comes before the backward: another rule's business
            message = "The gradients are cleared between backward and step, so the step has none."
        else:
            message = (
                f"{len(same)} backwards' gradients were cleared before this step, unread; only the "
                "last one's reached it."
            )
        self.report(message, site, parameters=names, figures={"lost backwards": len(lost)}, fix=fix)

    def _rest(self, event: Step, lost: list[tuple[Site | None, set[Any], set[int]]]) -> None:
        """What a line throws away whenever it runs: the rest of an epoch, short of a window."""
        for site in {entry[0] for entry in lost}:
            self.rests[site] = self.rests.get(site, 0) + 1
            usual = self.rests[site] == 2 and self.runs.get(site, 0) <= self.rests[site] + 1
            if site is None or not usual or is_conditional([site]):
                continue
            names = self.doctor.names(p for p in event.parameters if id(p) in lost[-1][2])
            self.report(
                "Each time this line runs it clears gradients that no step has read: what is left of the "
                "batches before it is never used.",
                site, parameters=names, figures={"times": self.rests[site]},
                fix="optimizer.step()  # for the rest, before zero_grad()",
            )  # fmt: skip


def _in_source_order(*sites: Site | None) -> bool:
    """Whether these lines follow each other in one function."""
    if any(site is None for site in sites):
        return False
    places = [(s.file, s.function) for s in sites if s is not None]
    lines = [s.line for s in sites if s is not None]
    return len(set(places)) == 1 and lines == sorted(lines)
