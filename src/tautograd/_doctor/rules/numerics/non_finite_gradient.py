"""Gradients that are not finite, and the operation that made them so: TG701."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from typing import Any

from ...._user_code.sites import Site
from ...state.gradient_ledger import parameters_of
from ...state.step_measures import largest
from ...watch.backward_flow import Passage, is_finite, line_of
from ...watch.events import Backward, Event, RiskyBackward, Sample, Scaler, Step
from ...watch.graph_walk import node_name, nodes
from ...watch.nonfinite_origin import origin_in_forward
from ..base import Rule
from ..training_loop import training

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
_SINGULAR = frozenset(_REASONS) - {"Exp"}
MODERATE = 1e15  # what only an infinite slope makes infinite, unless the dtype ends at 65504
SKIPS = 4  # steps in a row that a scaler has to skip for one operation's sake
_FORWARD = {
    "Log": "log of 0 or less",
    "Sqrt": "the root of something below 0",
    "Div": "a division by 0",
    "Exp": "exp has overflown",
    "Pow": "a power that has overflown, or of 0 or less",
}


@dataclass
class _Origin:
    """The first operation that made something that is not finite; its number is among the nodes."""

    backward: Site | None
    message: str
    number: int
    name: str
    site: Site | None
    is_operation: bool = True
    fix: str = ""
    is_singular: bool = False  # whatever the scale is, and no overflow


class NonFiniteGradient(Rule):
    """NaN or infinite gradients, and a step uses them: the operation that made the first of them."""

    code = "TG701"
    name = "non-finite-gradient"
    why = (
        "One NaN in a gradient is NaN in every weight after the step. A mask hides a bad value in the "
        "forward, not in the backward: 0 times infinity is NaN."
    )
    quiet = (
        "A loss that is not finite but whose gradient is, steps that a GradScaler skips (but not all of "
        "them, for an infinite slope that no scale cures), gradients that "
        "are mended or thrown away before the step, and loops of which TG801 has told already."
    )
    fix = (
        "safe = torch.where(mask, x, torch.ones_like(x))  # then torch.where(mask, safe.sqrt(), 0)"
    )
    example = training(
        """
  for _ in range(4):
      optimizer.zero_grad()
      out = model(x)
-     root = out.sqrt()  # here
+     root = torch.where(out > 0, out, torch.ones_like(out)).sqrt()
      loss = (torch.where(out > 0, root, out) - y).square().mean()
      loss.backward()
      optimizer.step()
""",
        data="x, y = torch.randn(8, 3), torch.rand(8, 1)",
    )

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.origin: _Origin | None = None  # in the gradients that no step has used yet
        self.asleep: _Origin | None = None  # the same, of a step that was not looked at
        self.pending: tuple[_Origin, int, list[str]] | None = None  # waits for its line
        self.said = False
        self.loss_is_finite = True
        self.last: Backward | None = None
        self.stepped: Site | None = None
        self.skipped: tuple[Any, int] = None, 0  # what made a scaler skip, and how often in a row
        self.optimizers: dict[int, Any] = {}  # that have stepped: weak references

    # --- what a backward shows -------------------------------------------------------------------

    def before_backward(self, event: Backward) -> None:
        self.doctor.lines.stop(self.code)
        self.last = event
        if self.pending is not None:
            self._find_line(self.pending[0], event)
            self._say()
        if self.said or not self.doctor.pulse.is_thorough:
            return
        values = [largest(event.engine, root) for root in event.roots]
        self.loss_is_finite = is_finite(values)
        if self.loss_is_finite:
            self.asleep = None
        else:
            self._look_into(event, values[0])

    @staticmethod
    def _find_line(origin: _Origin, event: Backward) -> None:
        for number, node in enumerate(nodes(event.roots)):
            if number == origin.number:
                if node.name() == origin.name:
                    origin.site = line_of(node)
                break

    def _look_into(self, event: Backward, loss: float) -> None:
        """A loss that is not finite: what made it so."""
        if self.asleep is not None and (bad := self._bad_weights(event.engine)):
            self._tell_of_weights(event, bad)
            return
        found = origin_in_forward(event.engine, event.roots)
        if found is None:
            return
        name = str(found.node.name())
        site = line_of(found.node) or self.doctor.risks.line(event.roots[0], found.node)
        if found.parameter is not None:
            self._tell_of_weights(event, [found.parameter])
            return
        if found.is_data:
            message = (
                f"The loss is {loss}: {name} was given NaN or infinity that no operation made."
            )
            fix = "assert torch.isfinite(x).all()  # look for it in the data"
        else:
            made = (
                "is the first to make NaN or infinity of finite numbers"
                if found.is_certain
                else "is the first that is known to give NaN or infinity"
            )
            reason = _FORWARD.get(node_name(found.node), "")
            message = f"The loss is {loss}: {name} {made}" + (f" ({reason})." if reason else ".")
            fix = "x = x.clamp(min=1e-6)  # before the operation; or a smaller learning rate"
        self.origin = _Origin(event.site, message, found.number, name, site, fix=fix)

    def on_passage(self, event: Backward, passage: Passage) -> None:
        if self.said or self.origin is not None or not self.loss_is_finite:
            return
        if is_finite(passage.leaving) or not is_finite(passage.arrived):
            return
        self.origin = _made_by(passage, event.site, line_of(passage.node))

    def on_risk(self, event: RiskyBackward) -> None:
        if not self.said and self.asleep is None:
            self.asleep = _made_by(event.passage, event.site, event.line)

    # --- what a step makes of it -----------------------------------------------------------------

    def before_step(self, event: Step) -> None:
        self.stepped = event.site
        if id(event.optimizer) not in self.optimizers:
            self.optimizers[id(event.optimizer)] = weakref.ref(event.optimizer)
        origin, self.origin = self.origin, None
        if origin is None or event.by_scaler or self.said:
            return
        bad = [p for p in event.parameters if not _is_finite(event.engine, p.grad)]
        if bad:
            self._tell(origin, self.doctor.steps, bad)

    def on_scaler(self, event: Scaler) -> None:
        """A smaller scale cures an overflow; an infinite slope stays, and every step is skipped."""
        if event.how != "step" or self.said or self.pending is not None:
            return
        origin, self.origin = self.origin, None
        if origin is None or not origin.is_singular:
            self.skipped = None, 0
            return
        place = origin.backward, origin.number, origin.name
        self.skipped = place, self.skipped[1] + 1 if self.skipped[0] == place else 1
        held = parameters_of(event.optimizer) if event.optimizer is not None else []
        bad = [p for p in held if not _is_finite(event.engine, p.grad)]
        if self.skipped[1] == SKIPS and bad:
            origin.message += " The scaler has to skip every step."
            self._tell(origin, self.doctor.steps, bad)
            if origin.site is None:  # and no step will come to ask
                self.doctor.lines.ask(event.engine, self.code)

    def after_step(self, event: Step) -> None:
        if self.pending is not None:
            self.doctor.lines.ask(event.engine, self.code)

    def _tell_of_weights(self, event: Event, bad: list[Any]) -> None:
        """Weights are not finite, though the loss before them was: the step between did it."""
        if self.asleep is not None:
            origin, self.asleep = self.asleep, None
        else:
            loss = self.doctor.numbers.previous
            step = self.doctor.steps
            origin = _Origin(
                event.site,
                f"Weights are not finite since step {step}"
                + (f", whose loss was finite ({loss:.4g})" if math.isfinite(loss) else "")
                + f": its gradient or its update was not. taut doctor --look-at {step} tells which "
                "operation made it, if the run can be repeated.",
                -1, "", self.stepped or event.site, is_operation=False,
            )  # fmt: skip
        self._tell(origin, self.doctor.steps - 1, bad)

    def _tell(self, origin: _Origin, step: int, bad: list[Any]) -> None:
        if any(finding.code == "TG801" for finding in self.doctor.findings):
            self.said = True  # that is why
            return
        self.pending = origin, step, self.doctor.names(bad)
        if origin.site is not None:
            self._say()

    def at_end(self) -> None:
        if self.pending is None and not self.said:
            self._look_at_the_end()
        if self.pending is not None:
            self._say()

    def _look_at_the_end(self) -> None:
        """The last step may have been the one."""
        engines = list(self.doctor.stepped.values())
        if not engines or not math.isfinite(self.doctor.numbers.loss):
            return
        bad = self._bad_weights(engines[-1])
        if bad:
            event = self.last or Event(0, 0, self.stepped, engines[-1])
            self.doctor.numbers.previous = self.doctor.numbers.loss
            self._tell_of_weights(event, bad)

    def _bad_weights(self, engine: Any) -> list[Any]:
        alive = [o for reference in self.optimizers.values() if (o := reference()) is not None]
        return [p for o in alive for p in parameters_of(o) if not _is_finite(engine, p)]

    def _say(self) -> None:
        if self.pending is None:
            return
        origin, step, names = self.pending
        self.pending, self.said = None, True
        figures: dict[str, Any] = {"step": step + 1, "parameters": len(names)}
        if origin.is_operation:
            figures = {"operation": origin.name, **figures}
        self.report(
            origin.message, origin.site or origin.backward, parameters=names, figures=figures,
            fix=origin.fix or self.fix,
        )  # fmt: skip

    def on_sample(self, event: Sample) -> None:
        """Later on, when backward is not looked at node by node: where a loss cannot be read."""
        bad = [
            p for p, n in zip(event.parameters, event.norms, strict=True) if not math.isfinite(n)
        ]
        if not bad or self.said or self.pending is not None or self.asleep is not None:
            return
        if self.doctor.numbers.is_near or self.doctor.pulse.is_thorough:
            return
        self.said = True
        if not math.isfinite(event.loss):
            return
        names = self.doctor.names(bad)
        self.report(
            f"In step {self.doctor.steps} the loss is finite ({event.loss:.4g}) and the gradients of "
            f"{len(bad)} parameters are not.",
            self.last.site if self.last is not None else None, parameters=names,
            figures={"step": self.doctor.steps, "parameters": len(names)},
        )  # fmt: skip


def _made_by(passage: Passage, backward: Site | None, line: Site | None) -> _Origin:
    reason = _REASONS.get(node_name(passage.node), "")
    message = (
        f"The loss is finite and its gradient is not: in backward, {passage.node.name()} is the first "
        "to make NaN or infinity of finite numbers" + (f" ({reason})." if reason else ".")
    )
    given = [g for g in passage.came if g is not None and g.is_floating_point()]
    is_singular = (
        node_name(passage.node) in _SINGULAR
        and all(passage.engine.finfo(g.dtype).max > MODERATE for g in given)
        and max(passage.arrived, default=math.inf) < MODERATE
    )
    return _Origin(
        backward, message, passage.number, passage.node.name(), line, is_singular=is_singular
    )


def _is_finite(engine: Any, tensor: Any) -> bool:
    return tensor is None or math.isfinite(largest(engine, tensor))
