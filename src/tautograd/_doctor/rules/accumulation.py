"""Gradients that were not cleared, cleared too early, or met others: TG101, TG102, TG103, TG105."""

from __future__ import annotations

from typing import Any

from ..events import Backward, Clear, ModuleCall, Scaler, Step
from ..graph import leaves
from ..ledger import parameters_of
from ..sites import Site, line_like
from .base import Rule


def _in_step(rule: Rule, event: Step) -> list[tuple[Any, Any]]:
    """The accounts of a step's parameters that have a gradient."""
    found = ((rule.doctor.ledger.account(p), p) for p in event.parameters)
    return [(account, p) for account, p in found if p.grad is not None]


def _between(first: Backward, steps: list[Step], last: Backward, mine: Any) -> Step | None:
    """Another optimizer's step between two backwards, which used the first of them."""
    reached = {id(p) for p in first.reached}
    for step in steps:
        others = step.optimizer is not mine and any(id(p) in reached for p in step.parameters)
        if others and first.number < step.number < last.number:
            return step
    return None


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
    bug = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(5):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()  # here
    optimizer.step()
"""
    fixed = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

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
        for account, parameter in _in_step(self, event):
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
    bug = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
model(x).sum().backward()  # here
for _ in range(9):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    fixed = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
model(x).sum().backward()
optimizer.zero_grad()
for _ in range(9):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
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
            found = _in_step(self, event)
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
    bug = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(12):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    optimizer.zero_grad()  # here
    loss = torch.nn.functional.mse_loss(model(x), y) / 4
    loss.backward()
    if i % 4 == 3:
        optimizer.step()
"""
    fixed = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(12):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    loss = torch.nn.functional.mse_loss(model(x), y) / 4
    loss.backward()
    if i % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.lost: dict[int, list[tuple[Site | None, set[Any], set[int]]]] = {}  # by optimizer
        self.bad: dict[int, int] = {}  # windows in a row that lost something
        self.weights: dict[int, int] = {}  # versions of parameters when a backward reached them
        self.used: set[int] = set()  # numbers of backwards that a step has used
        self.wasted: dict[Any, tuple[Backward, Site | None]] = {}  # line of a backward -> the last
        self.waste: dict[Any, int] = {}  # and how often in a row nobody used it
        self.for_inputs: set[Any] = set()  # lines of backwards that serve something else

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
        self.waste[event.site] = self.waste.get(event.site, 0) + 1
        if self.waste[event.site] == 2:
            line = event.site.line if event.site else "?"
            self.report(
                f"The gradients of the backward in line {line} are cleared before any step reads them.",
                site, parameters=self.doctor.names(backward.reached),
            )  # fmt: skip

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
        self._note(event.site, found)

    def _note(self, site: Site | None, cleared: list[tuple[Any, list[Backward]]]) -> None:
        """Gradients that nobody has read were cleared in this line."""
        held = self.doctor.held()
        losses: dict[int, tuple[set[Any], set[int]]] = {}
        for account, fresh in cleared:
            p = account.parameter()
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
        found = _in_step(self, event)
        if self.lost.get(key):  # cleared, and zeros left in their place
            found = [(a, p) for a, p in found if a.added or bool((p.grad.detach() != 0).any())]
        by_hand = {id(account.parameter()) for account, _ in found if not account.added}
        # What the user has put in the place of a gradient was made of it, it seems.
        lost = [entry for entry in self.lost.pop(key, []) if entry[2] - by_hand]
        used = {b.site for account, _ in found for b in account.added}
        self.used |= {b.number for account, _ in found for b in account.added}
        if found and not used:  # gradients that the user has made: of those thrown away, it seems
            self.for_inputs |= set(self.wasted)
            self.wasted.clear()
        same = [entry for entry in lost if entry[1] & used]
        empty = bool(lost) and not found
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


def _in_source_order(*sites: Site | None) -> bool:
    """Whether these lines follow each other in one function."""
    if any(site is None for site in sites):
        return False
    places = [(s.file, s.function) for s in sites if s is not None]
    lines = [s.line for s in sites if s is not None]
    return len(set(places)) == 1 and lines == sorted(lines)


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
    bug = """
torch.manual_seed(0)
generator, critic = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
optimizer_g = torch.optim.SGD(generator.parameters(), lr=0.01)
optimizer_d = torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(5):
    real, noise = torch.randn(4, 2), torch.randn(4, 2)
    loss_d = critic(generator(noise).detach()).mean() - critic(real).mean()
    loss_d.backward()
    optimizer_d.step()
    optimizer_d.zero_grad()
    loss_g = -critic(generator(noise)).mean()
    optimizer_g.zero_grad()
    loss_g.backward()  # here
    optimizer_g.step()
"""
    fixed = """
torch.manual_seed(0)
generator, critic = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
optimizer_g = torch.optim.SGD(generator.parameters(), lr=0.01)
optimizer_d = torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(5):
    real, noise = torch.randn(4, 2), torch.randn(4, 2)
    loss_d = critic(generator(noise).detach()).mean() - critic(real).mean()
    optimizer_d.zero_grad()
    loss_d.backward()
    optimizer_d.step()
    loss_g = -critic(generator(noise)).mean()
    optimizer_g.zero_grad()
    loss_g.backward()
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
        for account, p in _in_step(self, event):
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
