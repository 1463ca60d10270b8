"""Scaled losses whose gradients are clipped or used as they are, and the reverse: TG201, TG202."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...state.gradient_ledger import parameters_of
from ...watch.events import Backward, Clip, Scaler, Step
from ...watch.graph_walk import node_name
from ..base import Rule
from ..graph.loss_roots import as_number
from ..training_loop import training
from .gradient_probe import Probe

WALK = 3000  # nodes that are looked at for the scaler's multiplication


class _Scales(Rule):
    """Which backwards started from a scaled loss, and whose gradients were unscaled since."""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.scaler: Any = None  # the one seen last
        self.given: list[int] = []  # sequence numbers of losses it was given
        self.scaled: dict[int, bool | None] = {}  # by number of the backward; None: not known
        self.unscaled: dict[int, int] = {}  # parameter -> number of the event

    def on_scaler(self, event: Scaler) -> None:
        self.scaler = event.scaler
        if event.how == "scale":
            outputs = event.outputs
            for output in outputs if isinstance(outputs, (list, tuple)) else (outputs,):
                if getattr(output, "grad_fn", None) is not None:
                    self.given = [*self.given[-31:], output.grad_fn._sequence_nr()]
        elif event.how == "unscale_" and event.optimizer is not None:
            self.on_unscale(event)
            self.unscaled.update({id(p): event.number for p in parameters_of(event.optimizer)})

    def on_unscale(self, event: Scaler) -> None: ...

    def before_backward(self, event: Backward) -> None:
        if self.scaler is None:
            return
        if len(self.scaled) > 500:
            self.scaled = dict(list(self.scaled.items())[-250:])
        if event.options.get("gradient") is not None:
            self.scaled[event.number] = None
        else:
            self.scaled[event.number] = self._starts_scaled(event.roots)

    def _starts_scaled(self, roots: tuple[Any, ...]) -> bool | None:
        """Whether a loss given to the scaler is multiplied by something, near the root."""
        given = set(self.given)
        oldest = min(given, default=0)
        waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
        seen, count = set(waiting), 0
        while waiting:
            node = waiting.pop(0)
            count += 1
            if count > WALK:
                return None
            name = node_name(node)
            for following, _ in node.next_functions:
                if following is None:
                    continue
                if name == "Mul" and following._sequence_nr() in given:
                    return True
                if following not in seen and given and following._sequence_nr() > oldest:
                    seen.add(following)
                    waiting.append(following)
            if count == 1 and name == "Mul" and self._by_hand(node):
                return True
        return False

    def _by_hand(self, node: Any) -> bool:
        """`loss * scaler.get_scale()`."""
        number = as_number(getattr(node, "_saved_other", None))
        return number is not None and number == self.scaler.get_scale()

    def still_scaled(self, parameter: Any) -> bool:
        """Whether a gradient is of scaled losses, and was not unscaled since."""
        added = self.doctor.ledger.account(parameter).added
        return (
            bool(added)
            and any(self.scaled.get(b.number) for b in added)
            and self.unscaled.get(id(parameter), 0) < added[-1].number
        )


class ClipBeforeUnscale(_Scales):
    """Gradients are clipped while they are still multiplied by the scaler's scale."""

    code = "TG201"
    name = "clip-before-unscale"
    why = (
        "A GradScaler multiplies the loss, often by 65,536. The gradients are that much too large "
        "until unscale_, so a limit meant for true gradients cuts them to next to nothing."
    )
    quiet = "A limit that is multiplied by the scale as well, and an infinite one."
    fix = "scaler.unscale_(optimizer)  # before clipping"
    example = training(
        """
  for _ in range(5):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
      scaler.scale(loss).backward()
-     torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # here
+     scaler.unscale_(optimizer)
+     torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
      scaler.step(optimizer)
      scaler.update()
""",
        scheduler="""
  scaler = torch.amp.GradScaler("cpu")
""",
    )

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.pending: list[tuple[Clip, set[int]]] = []

    def after_clip(self, event: Clip) -> None:
        if self.scaler is None:
            return
        found = {id(p) for p in event.parameters if p.grad is not None and self.still_scaled(p)}
        if found:
            scale = float(self.scaler.get_scale())
            large = event.limit > 100 and event.limit >= 1e-3 * scale  # scaled as well
            if scale > 1 and not large and event.limit < 1e8:
                self.pending = [*self.pending[-7:], (event, found)]

    def on_scaler(self, event: Scaler) -> None:
        super().on_scaler(event)
        if event.how == "step":
            self.on_unscale(event)

    def on_unscale(self, event: Scaler) -> None:
        """What was clipped before is divided only now."""
        if not self.pending or event.optimizer is None:
            return
        mine = parameters_of(event.optimizer)
        for clip, ids in self.pending:
            hit = [p for p in mine if id(p) in ids]
            if hit:
                scale = float(event.scaler.get_scale())
                self.report(
                    f"The gradients are clipped while they are still {scale:g} times too large.",
                    clip.site, parameters=self.doctor.names(hit),
                    figures={"scale": scale, "limit": clip.limit},
                )  # fmt: skip
        self.pending = []

    def after_step(self, event: Step) -> None:
        self.pending = []


class ScaledWithoutScaler(_Scales):
    """Scaled gradients go into a plain step, or gradients are unscaled that were never scaled."""

    code = "TG202"
    name = "scaled-without-scaler"
    why = (
        "Loss scaling has two halves: scale() before backward, and unscaling in scaler.step(). With one "
        "half missing, gradients are too large or too small by the scale, and Adam hides it."
    )
    quiet = (
        "A plain step after unscale_, gradients divided by hand, and scalers that are not enabled."
    )
    fix = "scaler.step(optimizer)"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
  scaler = torch.amp.GradScaler("cpu")
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(5):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
      scaler.scale(loss).backward()
-     optimizer.step()  # here
+     scaler.step(optimizer)
+     scaler.update()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.probe = Probe()
        self.found = 0

    def on_scaler(self, event: Scaler) -> None:
        super().on_scaler(event)
        self.probe.armed = self.found < 3  # gradients may be divided by hand: a copy tells
        if event.how == "step" and event.optimizer is not None:
            last = max((self._last(p) for p in parameters_of(event.optimizer)), default=0)
            if not any(self.unscaled.get(id(p), 0) > last for p in parameters_of(event.optimizer)):
                self.on_unscale(event)

    def _last(self, parameter: Any) -> int:
        added = self.doctor.ledger.account(parameter).added
        return added[-1].number if added else 0

    def on_unscale(self, event: Scaler) -> None:
        for p in parameters_of(event.optimizer):
            if p.grad is None:
                continue
            added = self.doctor.ledger.account(p).added
            before = self.unscaled.get(id(p), 0)
            if added and added[0].number < before:
                self.report(
                    "These gradients were unscaled already; what was added since is of another scale.",
                    event.site, fix="scaler.unscale_(optimizer)  # once, right before the step",
                )  # fmt: skip
                return
            for backward in added:
                if self.scaled.get(backward.number) is False:
                    self._never_scaled(event, backward)
                    return

    def _never_scaled(self, event: Scaler, backward: Backward) -> None:
        reached = {id(p) for p in backward.reached}
        mine = [p for p in parameters_of(event.optimizer) if id(p) in reached]
        scale = float(event.scaler.get_scale())
        if scale == 1:
            return
        self.report(
            "This backward starts from a loss that the scaler has not multiplied, and its gradients are "
            f"divided by {scale:g} in line {_line(event.site)}.",
            backward.site, parameters=self.doctor.names(mine), figures={"scale": scale},
            fix="scaler.scale(loss).backward()",
        )  # fmt: skip

    def after_backward(self, event: Backward) -> None:
        self.probe.after_backward(event)

    def after_clip(self, event: Clip) -> None:
        self.probe.after_clip(event)

    def before_step(self, event: Step) -> None:
        if self.scaler is None or event.by_scaler:
            return
        hit = [p for p in event.parameters if p.grad is not None and self.still_scaled(p)]
        if not hit or not self.probe.untouched():
            return
        scale = float(self.scaler.get_scale())
        if scale != 1:
            self.found += 1
            self.report(
                f"The loss was scaled, and this step uses its gradients as they are, {scale:g} times "
                "too large.",
                event.site, parameters=self.doctor.names(hit), figures={"scale": scale},
            )  # fmt: skip


def _line(site: Site | None) -> str:
    return str(site.line) if site else "?"
