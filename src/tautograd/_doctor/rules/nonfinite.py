"""A finite loss whose gradient is not: TG701."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..events import Backward, Sample, Step
from ..flow import Lines, Passage, is_finite, line_of
from ..graph import node_name, nodes
from ..numbers import largest
from ..sites import Site
from .base import Rule

_REASONS = {
    "Sqrt": "the slope of sqrt is infinite at 0, and NaN below",
    "Pow": "a power below 1 has an infinite slope at 0",
    "Norm": "a norm has no slope at 0",
    "LinalgVectorNorm": "a norm has no slope at 0",
    "Div": "something is divided by 0",
    "Log": "the slope of log is infinite at 0",
    "Acos": "the slope of acos is infinite at 1 and -1",
    "Asin": "the slope of asin is infinite at 1 and -1",
    "Exp": "exp has overflown, and infinity times 0 is NaN",
}


@dataclass
class _Origin:
    """The first operation in backward order that made something that is not finite."""

    backward: Backward
    number: int  # among the graph's nodes
    name: str
    operation: str
    site: Site | None


class NonFiniteGradient(Rule):
    """A finite loss gives NaN or infinite gradients, and a step uses them."""

    code = "TG701"
    name = "non-finite-gradient"
    why = (
        "One NaN in a gradient is NaN in every weight after the step. A mask hides a bad value in the "
        "forward, not in the backward: 0 times infinity is NaN."
    )
    quiet = (
        "A loss that is not finite itself, steps that a GradScaler skips, and gradients that are "
        "mended or thrown away before the step."
    )
    fix = (
        "safe = torch.where(mask, x, torch.ones_like(x))  # then torch.where(mask, safe.sqrt(), 0)"
    )
    bug = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.rand(8, 1)
for _ in range(4):
    optimizer.zero_grad()
    out = model(x)
    root = out.sqrt()  # here
    loss = (torch.where(out > 0, root, out) - y).square().mean()
    loss.backward()
    optimizer.step()
"""
    fixed = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.rand(8, 1)
for _ in range(4):
    optimizer.zero_grad()
    out = model(x)
    root = torch.where(out > 0, out, torch.ones_like(out)).sqrt()
    loss = (torch.where(out > 0, root, out) - y).square().mean()
    loss.backward()
    optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.origin: _Origin | None = None  # in the gradients that no step has used yet
        self.pending: tuple[_Origin, int, list[str]] | None = None  # waits for its line
        self.lines = Lines()
        self.said = False
        self.loss_is_finite = True
        self.last: Backward | None = None

    def before_backward(self, event: Backward) -> None:
        self.lines.stop()
        self.last = event
        if self.pending is not None:
            origin, *_ = self.pending
            for number, node in enumerate(nodes(event.roots)):
                if number == origin.number:
                    if node.name() == origin.name:
                        origin.site = line_of(node)
                    break
            self._say()
        if self.doctor.pulse.is_thorough and not self.said:
            values = [largest(event.engine, root) for root in event.roots]
            self.loss_is_finite = is_finite(values)

    def on_passage(self, event: Backward, passage: Passage) -> None:
        if self.said or self.origin is not None or not self.loss_is_finite:
            return
        if is_finite(passage.leaving) or not is_finite(passage.arrived):
            return
        self.origin = _Origin(
            event, passage.number, passage.node.name(), node_name(passage.node),
            line_of(passage.node),
        )  # fmt: skip

    def before_step(self, event: Step) -> None:
        origin, self.origin = self.origin, None
        if origin is None or event.by_scaler or self.said:
            return
        bad = [
            p
            for p in event.parameters
            if (g := p.grad) is not None and not math.isfinite(largest(event.engine, g))
        ]
        if bad:
            self.pending = origin, self.doctor.steps, self.doctor.names(bad)
            if origin.site is not None:
                self._say()

    def after_step(self, event: Step) -> None:
        if self.pending is not None:
            self.lines.ask(event.engine)

    def at_end(self) -> None:
        self.lines.stop()
        if self.pending is not None:
            self._say()

    def _say(self) -> None:
        if self.pending is None:
            return
        origin, step, names = self.pending
        self.pending, self.said = None, True
        reason = _REASONS.get(origin.operation, "")
        self.report(
            f"The loss is finite and its gradient is not: in backward, {origin.name} is the first to "
            "make NaN or infinity of finite numbers" + (f" ({reason})." if reason else "."),
            origin.site or origin.backward.site, parameters=names,
            figures={"operation": origin.name, "step": step, "parameters": len(names)},
        )  # fmt: skip

    def on_sample(self, event: Sample) -> None:
        """Later on, when backward is not looked at node by node."""
        bad = [
            p for p, n in zip(event.parameters, event.norms, strict=True) if not math.isfinite(n)
        ]
        if not bad or self.said or self.pending is not None:
            return
        self.said = True
        if not math.isfinite(event.loss) or self.doctor.pulse.is_thorough:
            return
        names = self.doctor.names(bad)
        self.report(
            f"In step {self.doctor.steps} the loss is finite ({event.loss:.4g}) and the gradients of "
            f"{len(bad)} parameters are not.",
            self.last.site if self.last is not None else None, parameters=names,
            figures={"step": self.doctor.steps, "parameters": len(names)},
        )  # fmt: skip
