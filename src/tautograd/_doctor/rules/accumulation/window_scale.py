"""Several backwards before one step, and the size of their sum: TG104."""

from __future__ import annotations

import math
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.source_lines import line_of
from ...._user_code.stack import user_stack
from ...watch.events import Backward, Clip, Loss, Scaler, Step
from ..base import Rule
from ..clipping.gradient_probe import Probe
from ..graph.loss_roots import Root, common, innermost_loop, root_of
from ..training_loop import training

UNEQUAL = 1.25  # numbers of labels that differ by less weigh about the same


class WindowScale(Rule):
    """Gradients of several batches meet in one step, and their sum is not the mean it should be."""

    code = "TG104"
    name = "window-scale"
    severity = "warning"
    why = (
        "Backwards add up. The mean over a window of k batches needs each loss divided by k, the last "
        "short window's by its own length, and batches with fewer labels must weigh less."
    )
    quiet = (
        "Sums are not divided; different losses before one step are one joint loss; gradients divided "
        "by hand, or a weight given to backward(), are on purpose. A loop of its own around the "
        "backwards, with the step after it, may be a sum on purpose, unless its line says 'accum' or "
        "'micro'."
    )
    fix = "(loss / batches_in_this_window).backward()"
    example = training(
        """
  for i in range(16):
      x, y = torch.randn(8, 3), torch.randn(8, 1)
      loss = torch.nn.functional.mse_loss(model(x), y)
-     loss.backward()  # here
+     (loss / 4).backward()
      if i % 4 == 3:
          optimizer.step()
          optimizer.zero_grad()
""",
        data="",
    )

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.scaled: list[int] = []  # sequence numbers of losses given to a scaler
        self.roots: dict[int, Root | None] = {}  # by number of the backward
        self.stacks: dict[int, list[Site]] = {}
        self.counts: dict[int, int] = {}  # labels of a backward's loss
        self.losses: list[int | None] = []  # labels of the losses since the last backward
        self.full: set[tuple[Site, int]] = set()  # lines whose divisor was once the window's length
        self.bad: dict[tuple[Site, str], int] = {}  # windows in a row
        self.windows = False  # whether there was a window of several backwards at all
        self.probe = Probe()

    def on_scaler(self, event: Scaler) -> None:
        self.probe.on_scaler(event)
        if event.how == "scale":
            outputs = event.outputs
            for output in outputs if isinstance(outputs, (list, tuple)) else (outputs,):
                if getattr(output, "grad_fn", None) is not None:
                    self.scaled = [*self.scaled[-15:], output.grad_fn._sequence_nr()]

    def on_loss(self, event: Loss) -> None:
        if self.windows and getattr(event.input, "requires_grad", False):
            self.losses.append(_labels(event) if len(self.losses) < 2 else None)

    def before_backward(self, event: Backward) -> None:
        losses, self.losses = self.losses, []
        plain = (
            len(event.roots) == 1
            and not event.retain_graph
            and event.options.get("gradient") is None
            and event.options.get("inputs") is None
        )
        self.roots[event.number] = root_of(event.roots[0], self.scaled) if plain else None
        if len(losses) == 1 and losses[0] is not None:
            self.counts[event.number] = losses[0]
        if self.windows:
            self.stacks[event.number] = user_stack()

    def after_backward(self, event: Backward) -> None:
        self.probe.after_backward(event)

    def after_clip(self, event: Clip) -> None:
        self.probe.after_clip(event)

    def before_step(self, event: Step) -> None:
        untouched = self.probe.untouched() if self.probe.armed else None
        found = self._window(event)
        if found:
            self._judge(event, found, untouched)
        if len(self.roots) > 500:
            for kept in (self.roots, self.stacks, self.counts):
                for number in list(kept)[:-250]:
                    del kept[number]

    def _window(self, event: Step) -> list[Backward]:
        """The backwards of one line whose gradients this step uses; none, if it is not as simple."""
        backwards: dict[int, Backward] = {}
        for p in event.parameters:
            if p.grad is None:
                continue
            account = self.doctor.ledger.account(p)
            if account.read is not None:
                return []
            for backward in account.added:
                backwards[backward.number] = backward
        found = [backward for _, backward in sorted(backwards.items())]
        if len({b.site for b in found}) != 1 or found[0].site is None:
            return []
        if any(self.roots.get(b.number) is None for b in found):
            return []
        return found

    def _judge(self, event: Step, found: list[Backward], untouched: bool | None) -> None:
        site, length = found[0].site, len(found)
        assert site is not None
        roots = [root for b in found if (root := self.roots[b.number]) is not None]
        divisors = {root.divisor for root in roots}
        if not all(map(math.isfinite, divisors)):
            return
        divisor = round(divisors.pop()) if len(divisors) == 1 else 0
        if any(abs(root.divisor - divisor) > 1e-6 * abs(divisor) for root in roots):
            divisor = 0  # not one whole number
        means = {root.is_mean for root in roots}
        if length > 1:
            self.windows = True
            mine = {id(p) for p in event.parameters}
            if len({frozenset(id(p) for p in b.reached if id(p) in mine) for b in found}) != 1:
                return  # parts of a model, each with its own loss
        if divisor > 1 and length == divisor:
            self.full.add((site, divisor))
        elif (site, divisor) in self.full and False not in means:
            self.report(
                f"This loss is divided by {divisor}, but the step in line {_line(event.site)} took "
                f"{length} backwards: its gradient is {length}/{divisor} of the mean.",
                site, figures={"divided by": divisor, "backwards": length},
            )  # fmt: skip
            return
        if length == 1 or means != {True}:
            return
        together = self._in_one_loop(found, event)
        if divisor in (0, length):
            undivided = False
        else:
            self.probe.armed = True
            undivided = bool(together and untouched)
        if self._again(site, "divided", undivided):
            self.probe.armed = False
            what = "not divided" if divisor == 1 else f"divided by {divisor} only"
            self.report(
                f"{length} backwards add up to each step, and the mean loss is {what}: the gradient "
                f"is {length / divisor:g} times the mean over the window.",
                site, figures={"backwards": length, "divided by": divisor},
            )  # fmt: skip
        counts = [self.counts.get(b.number) for b in found]
        known = [count for count in counts if count]
        unequal = len(known) == length and max(known) >= UNEQUAL * min(known)
        if self._again(site, "unequal", unequal and bool(divisor == length or together)):
            self.report(
                f"The means of one window are over {', '.join(map(str, known[:6]))} labels: each label "
                "of a small batch weighs more than one of a large batch.",
                site, figures={"labels": known[:20]}, key=(self.code, site, "unequal"),
                fix="loss = criterion(output, target, reduction='sum') / labels_in_this_window",
            )  # fmt: skip

    def _again(self, site: Site, what: str, is_bad: bool) -> bool:
        """Whether a window is bad for the second time in a row."""
        self.bad[site, what] = self.bad.get((site, what), 0) + 1 if is_bad else 0
        return self.bad[site, what] == 2

    def _in_one_loop(self, found: list[Backward], event: Step) -> bool:
        """Whether the step is taken, now and then, in the loop that the backwards are made by."""
        stacks = [self.stacks.get(b.number) for b in found]
        if stacks[0] is None or any(stack != stacks[0] for stack in stacks):
            return False
        lines = common(stacks[0], user_stack())
        loop = lines and innermost_loop(lines[0])
        if not lines or not loop:
            return False
        if loop[0] <= lines[1].line <= loop[1]:
            return True
        header = line_of(lines[0].file, loop[0]).lower()
        return "accum" in header or "micro" in header


def _line(site: Site | None) -> str:
    return str(site.line) if site else "?"


def _labels(event: Loss) -> int | None:
    """How many labels a mean is over."""
    if event.options.get("reduction", "mean") != "mean" or event.options.get("weight") is not None:
        return None
    target = event.target
    if event.function not in ("cross_entropy", "nll_loss"):
        return int(event.input.numel())
    if target.is_floating_point():
        return int(event.input.shape[0])
    return int((target != event.options.get("ignore_index", -100)).sum())
