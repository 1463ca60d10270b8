"""Weights that are frozen by mistake: TG303.

Freezing is usually meant. Two patterns are not: a helper that switches gradients off for a run of its
own and does not switch all of them on again, and a model that trains all but its output layer.
"""

from __future__ import annotations

import dis
import linecache
import sys
import weakref
from types import CodeType, FrameType
from typing import Any

from ..events import Backward, Freeze, ModuleCall, Step
from ..owners import Owners
from ..sites import Site, user_stack
from .base import Rule

PATIENCE = 2  # steps that go on with what a helper left frozen
OUTPUT_PATIENCE = 6  # steps with a frozen output layer


class _Frozen:
    """A call that switched gradients off."""

    def __init__(self, event: Freeze) -> None:
        self.site = event.site
        self.number = event.number
        self.function = event.stack[0] if event.stack else None
        self.callers = event.stack[1:]
        self.used = False  # the function that froze them ran them, too
        self.steps_inside = False  # it is the one that trains

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
    bug = """
torch.manual_seed(0)
encoder, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
def score():
    encoder.requires_grad_(False)  # here
    return (head(encoder(x)) - y).abs().mean().item()
for step in range(9):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(head(encoder(x)), y).backward()
    optimizer.step()
    if step == 3:
        score()
"""
    fixed = """
torch.manual_seed(0)
encoder, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
def score():
    with torch.no_grad():
        return (head(encoder(x)) - y).abs().mean().item()
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
                self.off.pop(id(p), None)
            return
        frozen = _Frozen(event)
        fresh = [p for p in event.parameters if p.requires_grad]
        for p in fresh:
            self.off[id(p)] = weakref.ref(p), frozen
        if fresh:
            self.recent.append(frozen)
            times = self.times[event.site] = self.times.get(event.site, 0) + 1
            if times <= 2 and self.doctor.steps:  # a line that does it again and again is a plan
                self.doctor.wake()

    def on_module(self, event: ModuleCall) -> None:
        if event.module._parameters:
            self.last = weakref.ref(event.module)
        if self.recent:
            self._used()

    def _used(self) -> None:
        stack = user_stack()
        for frozen in self.recent:
            frozen.used = frozen.used or frozen.is_inside(stack)

    def before_backward(self, event: Backward) -> None:
        if self.recent:
            self._used()
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
            if count >= PATIENCE and trained and frozen.used and not frozen.steps_inside:
                found.setdefault(id(frozen), []).append(p)
                calls[id(frozen)] = frozen
        for key, parameters in found.items():
            frozen = calls[key]
            self.report(
                f"{len(parameters)} parameters were trained until this line switched their "
                f"gradients off for a run of {frozen.function.function if frozen.function else '?'}"
                "(); they were not switched on again, and the optimizer steps without them.",
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
        site = known[1].site if known is not None else _assignment() or made or event.site
        self.report(
            "All parameters of the optimizer train but those of the output layer, which have "
            "requires_grad=False: it keeps its first, random weights.",
            site, parameters=owners.names(self.doctor, frozen), fix_site=made,
            figures={"frozen": len(frozen), "trained": len(rest)},
            fix="p.requires_grad = name.startswith('head')  # the other way round",
        )  # fmt: skip


def _assignment() -> Site | None:
    """The only line of the functions that run now which assigns to a `requires_grad`."""
    sites = user_stack()
    files = {site.file for site in sites}
    frame: FrameType | None = sys._getframe(1)
    found: set[Site] = set()
    while frame is not None:
        code = frame.f_code
        if code.co_filename in files:
            found.update(_stores(code))
        frame = frame.f_back
    return found.pop() if len(found) == 1 else None


def _stores(code: CodeType) -> list[Site]:
    line, found = code.co_firstlineno, []
    for instruction in dis.get_instructions(code):
        line = instruction.starts_line or line
        stores = instruction.opname == "STORE_ATTR" and instruction.argval == "requires_grad"
        if stores and "False" in linecache.getline(code.co_filename, line):
            found.append(Site(code.co_filename, line, code.co_name))
    return found
