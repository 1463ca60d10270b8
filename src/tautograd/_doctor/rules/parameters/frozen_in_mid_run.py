"""Weights that are frozen by mistake: TG303.

Freezing is usually meant. Two patterns are not: a helper that switches gradients off for a run of its
own and does not switch all of them on again, and a model that trains all but its output layer.
"""

from __future__ import annotations

import dis
import sys
import weakref
from types import CodeType, FrameType
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.source_lines import line_of
from ...._user_code.stack import user_stack
from ...state.parameter_owners import Owners
from ...watch.events import Backward, Freeze, ModuleCall, Step
from ..base import Rule

PATIENCE = 2  # steps that go on with what a helper left frozen
OUTPUT_PATIENCE = 6  # steps with a frozen output layer


class _Frozen:
    """A line that switched gradients off, between two steps."""

    def __init__(self, site: Site | None, stack: list[Site]) -> None:
        self.site = site
        self.function = stack[0] if stack else None
        self.callers = stack[1:]
        self.used = False  # the function that froze them ran them, too
        self.steps_inside = False  # it is the one that trains
        self.backward = False  # a backward came after it,
        self.in_part = False  # and then some of them were switched on again

    @property
    def is_mistake(self) -> bool:
        return (self.used and not self.steps_inside) or self.in_part

    def is_inside(self, stack: list[Site]) -> bool:
        """Whether this is still the call of the function that froze."""
        if self.function is None:
            return False
        depth = len(stack) - len(self.callers) - 1
        return (
            depth >= 0
            and stack[depth + 1 :] == self.callers
            and stack[depth].file == self.function.file
            and stack[depth].function == self.function.function
        )


class FrozenInMidRun(Rule):
    """Gradients switched off for a moment and not on again, or a frozen output layer."""

    code = "TG303"
    name = "frozen-in-mid-run"
    why = (
        "A parameter with requires_grad=False gets no gradient, and the optimizer passes over it "
        "without a word: from then on it stays as it is."
    )
    quiet = (
        "Freezing as a plan: backbones, adapters, schedules that freeze or thaw, the two nets of a "
        "GAN in turn. Only gradients that a helper switched off for a run of its own and left off, "
        "or an output layer that alone is frozen although the optimizer holds it, are told."
    )
    fix = "with torch.no_grad():  # for a run without gradients; requires_grad stays as it is"
    example = """
  torch.manual_seed(0)
  encoder, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
  optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  def score():
-     encoder.requires_grad_(False)  # here
-     return (head(encoder(x)) - y).abs().mean().item()
+     with torch.no_grad():
+         return (head(encoder(x)) - y).abs().mean().item()
  for step in range(9):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(head(encoder(x)), y).backward()
      optimizer.step()
      if step == 3:
          score()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.off: dict[int, tuple[Any, _Frozen]] = {}  # parameters that a call switched off
        self.recent: list[_Frozen] = []  # since the last step
        self.frozen_steps: dict[int, int] = {}  # parameter -> steps of its optimizer
        self.times: dict[Site | None, int] = {}  # how often a line switched gradients off
        self.last: Any = None  # the layer that ran last
        self.last_layers: dict[int, int] = {}  # layer -> times that it gave the output

    # --- who switches gradients off, and what runs then ---------------------------------------

    def on_freeze(self, event: Freeze) -> None:
        if event.on:
            for p in event.parameters:
                _, known = self.off.pop(id(p), (None, None))
                if known is not None and known in self.recent:
                    known.in_part = known.backward
            return
        fresh = [p for p in event.parameters if p.requires_grad]
        if not fresh:
            return
        again = self.recent and self.recent[-1].site == event.site
        frozen = self.recent[-1] if again else _Frozen(event.site, event.stack)
        for p in fresh:
            self.off[id(p)] = weakref.ref(p), frozen
        if not again:
            self.recent.append(frozen)
            times = self.times[event.site] = self.times.get(event.site, 0) + 1
            if times <= 2 and self.doctor.steps:  # a line that does it again and again is a plan
                self.doctor.wake()

    def on_module(self, event: ModuleCall) -> None:
        if event.module._parameters:
            self.last = weakref.ref(event.module)
            for p in event.module._parameters.values():
                if p is not None and not p.requires_grad and id(p) not in self.off:
                    self._see_assigned(p)
        if self.recent:
            self._used()

    def _see_assigned(self, parameter: Any) -> None:
        """A trained parameter is found frozen: by a line that a running function has, perhaps."""
        if not self.doctor.ledger.account(parameter).seen:
            return
        found = _assignments()
        frozen = _Frozen(found[0][0], found[0][1]) if len(found) == 1 else _Frozen(None, [])
        known = [one for one in self.recent if one.site == frozen.site]
        frozen = known[0] if known else frozen
        self.off[id(parameter)] = weakref.ref(parameter), frozen
        if not known:
            self.recent.append(frozen)

    def _used(self) -> None:
        stack = user_stack()
        for frozen in self.recent:
            frozen.used = frozen.used or frozen.is_inside(stack)

    def before_backward(self, event: Backward) -> None:
        if self.recent:
            self._used()
            for frozen in self.recent:
                frozen.backward = True
        if self.doctor.steps < OUTPUT_PATIENCE + 2 and self.last is not None:
            layer = self.last()
            if layer is not None:
                self.last_layers[id(layer)] = self.last_layers.get(id(layer), 0) + 1

    # --- what the optimizer finds --------------------------------------------------------------

    def before_step(self, event: Step) -> None:
        if self.recent:
            stack = user_stack()
            for frozen in self.recent:
                frozen.steps_inside = frozen.steps_inside or frozen.is_inside(stack)
            self.recent = []
        if self.off:
            self._left_off(event)
        if self.doctor.steps < 4 * OUTPUT_PATIENCE:
            self._frozen_output(event)

    def _left_off(self, event: Step) -> None:
        found: dict[int, list[Any]] = {}
        calls: dict[int, _Frozen] = {}
        for p in event.parameters:
            known = self.off.get(id(p))
            if known is None or known[0]() is not p:
                continue
            if p.requires_grad:  # switched on in another way
                del self.off[id(p)]
                self.frozen_steps.pop(id(p), None)
                continue
            count = self.frozen_steps[id(p)] = self.frozen_steps.get(id(p), 0) + 1
            frozen = known[1]
            trained = self.doctor.ledger.account(p).seen > 0
            if count >= PATIENCE and trained and frozen.is_mistake:
                found.setdefault(id(frozen), []).append(p)
                calls[id(frozen)] = frozen
        for key, parameters in found.items():
            frozen = calls[key]
            self.report(
                f"{len(parameters)} parameters were trained until this line switched their "
                "gradients off for a run in between; they were not switched on again, and the "
                "optimizer steps without them.",
                frozen.site, parameters=self.doctor.names(parameters),
                figures={"frozen": len(parameters), "held": len(event.parameters)},
            )  # fmt: skip

    def _frozen_output(self, event: Step) -> None:
        """All that is held trains but the weight of the layer whose output the loss is made of."""
        frozen = [p for p in event.parameters if not p.requires_grad]
        if not frozen:
            return
        rest = [p for p in event.parameters if p.requires_grad]
        if not rest or any(self.doctor.ledger.account(p).seen == 0 for p in rest):
            return
        if any(self.doctor.ledger.account(p).seen for p in frozen):
            return  # frozen later: a plan
        key = id(event.optimizer)
        count = self.frozen_steps[key] = self.frozen_steps.get(key, 0) + 1
        if count != OUTPUT_PATIENCE:
            return
        owners = Owners(self.doctor)
        places = [owners.modules(p) for p in frozen]
        if any(len(modules) != 1 for modules in places):
            return
        layers = {id(modules[0]): modules[0] for modules in places}
        if len(layers) != 1:
            return
        layer = next(iter(layers.values()))
        parameters = [p for p in layer._parameters.values() if p is not None]
        whole = {id(p) for p in parameters} == {id(p) for p in frozen}
        if not whole or not layer.training or not any(p.ndim > 1 for p in parameters):
            return
        if self.last_layers.get(id(layer), 0) < count - 1 or len(self.last_layers) != 1:
            return
        known = self.off.get(id(frozen[0]))
        made = self.doctor.made_at.get(id(event.optimizer))
        site = known[1].site if known is not None else None
        if site is None:
            lines = _assignments()
            site = lines[0][0] if len(lines) == 1 else made or event.site
        self.report(
            "All parameters of the optimizer train but those of the output layer, which have "
            "requires_grad=False: it keeps its first, random weights.",
            site, parameters=owners.names(self.doctor, frozen), fix_site=made,
            figures={"frozen": len(frozen), "trained": len(rest)},
            fix="p.requires_grad = name.startswith('head')  # the other way round",
        )  # fmt: skip


def _assignments() -> list[tuple[Site, list[Site]]]:
    """Lines of the functions that run now which set a `requires_grad` to False: each with the lines
    that led to its function, innermost first."""
    stack = user_stack()
    found: list[tuple[Site, list[Site]]] = []
    frame: FrameType | None = sys._getframe(1)
    depth = 0
    while frame is not None and depth < len(stack):
        code, site = frame.f_code, stack[depth]
        if (code.co_filename, code.co_name, frame.f_lineno) == (
            site.file,
            site.function,
            site.line,
        ):
            found += [(line, stack[depth:]) for line in _stores(code) if line.line < site.line]
            depth += 1
        frame = frame.f_back
    return found


def _stores(code: CodeType) -> list[Site]:
    line, found = code.co_firstlineno, []
    for instruction in dis.get_instructions(code):
        line = instruction.starts_line or line
        stores = instruction.opname == "STORE_ATTR" and instruction.argval == "requires_grad"
        if stores and "False" in line_of(code.co_filename, line):
            found.append(Site(code.co_filename, line, code.co_name))
    return found
