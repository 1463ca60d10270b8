"""Gradients that nobody uses: a loop with an optimizer that never steps: TG405."""

from __future__ import annotations

import ast
import inspect
import textwrap
from types import CodeType
from typing import Any

from ...._user_code.owners import Owner, owners
from ...._user_code.sites import Site
from ...._user_code.source_lines import lines_of, refuse_devices
from ...._user_code.stack import user_frames
from ...state.step_measures import part
from ...watch.events import Backward, Scaler, Step
from ..base import Rule
from ..schedules.steps_in_source import is_never_stepped
from ..training_loop import training

FEW = 8  # parameters of an optimizer that are compared
ENTRIES = 64  # of each
FRAMES = 4  # functions of the user that are read for a step


class _Waiting:
    """An optimizer that has not stepped, and what became of its parameters."""

    def __init__(self, optimizer: Any, made: Site | None) -> None:
        self.made = made
        self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.backwards = 0
        self.step = 0
        self.values: list[list[float]] = []
        self.site: Site | None = None
        self.names: list[str] = []
        self.codes: set[CodeType] = set()

    def numbers(self) -> list[list[float]]:
        return [part(p)[:ENTRIES].tolist() for p in self.parameters[:FEW]]


class NeverStepped(Rule):
    """Backward after backward fills the gradients of an optimizer's parameters, and it never steps."""

    code = "TG405"
    name = "never-stepped"
    why = "backward() only computes gradients. It is optimizer.step() that moves the weights."
    quiet = (
        "A run without any optimizer, loops that read .grad or move the weights by hand, a step that "
        "stands in the loop and was not reached yet, and fewer than three backwards."
    )
    fix = "optimizer.step()  # after loss.backward()"
    example = training("""
  for _ in range(6):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
-     loss.backward()  # here
+     loss.backward()
+     optimizer.step()
""")
    least = 3  # backwards

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.waiting: dict[int, _Waiting] = {}
        self.stepped: set[int] = set()  # optimizers

    def before_step(self, event: Step) -> None:
        self._stepped(event.optimizer)

    def after_step(self, event: Step) -> None:
        self._stepped(event.optimizer)

    def on_scaler(self, event: Scaler) -> None:
        if event.how == "step":  # it may skip the optimizer's own
            self._stepped(event.optimizer)

    def _stepped(self, optimizer: Any) -> None:
        self.stepped.add(id(optimizer))
        self.waiting.pop(id(optimizer), None)

    def after_backward(self, event: Backward) -> None:
        if self.doctor.has_open_step or not event.reached:
            return
        held = self.doctor.held()
        for optimizer in {id(o): o for p in event.reached if (o := held.get(id(p)))}.values():
            if id(optimizer) in self.stepped:
                continue
            waiting = self.waiting.get(id(optimizer))
            if waiting is None:
                made = self.doctor.made_at.get(id(optimizer))
                waiting = self.waiting[id(optimizer)] = _Waiting(optimizer, made)
                waiting.values = waiting.numbers()
            waiting.backwards += 1
            if waiting.backwards > self.least:
                continue
            codes = (frame.f_code for frame in user_frames(FRAMES))
            waiting.codes.update(c for c in codes if owners[c.co_filename] <= Owner.GENERATED)
            if waiting.backwards == self.least:
                waiting.site, waiting.step = event.site, self.doctor.steps
                waiting.names = self.doctor.names(event.reached)

    def at_end(self) -> None:
        for waiting in self.waiting.values():
            if waiting.backwards < self.least or waiting.made is None:
                continue
            if waiting.numbers() != waiting.values:
                continue  # moved by hand
            uses = Uses(waiting.codes)
            if self.stepped:  # with one optimizer at work, another may wait for its turn
                if not is_never_stepped(waiting.made):
                    continue
            elif uses.steps or uses.reads:
                continue
            self.report(
                f"{waiting.backwards} backwards have filled the gradients of an optimizer's "
                "parameters, and it has never stepped: no weight has moved.",
                uses.uncalled or waiting.site, parameters=waiting.names, step=waiting.step,
                figures={"backwards": waiting.backwards, "steps": 0},
            )  # fmt: skip


def _source(code: CodeType) -> tuple[list[str], int]:
    """The lines of a function, or of a whole file, and the number of the first."""
    if code.co_name == "<module>":
        return lines_of(code.co_filename), 1
    refuse_devices(code.co_filename)
    return inspect.getsourcelines(code)


class Uses(ast.NodeVisitor):
    """What functions do with gradients: read `.grad`, call `.step()`, or name it without calling it."""

    def __init__(self, codes: set[CodeType]) -> None:
        self.steps = self.reads = False
        self.uncalled: Site | None = None
        for self._code in codes:
            try:
                lines, first = _source(self._code)
                tree = ast.parse(textwrap.dedent("".join(lines)))
            except (OSError, SyntaxError, TypeError):
                continue
            self._first = max(first, 1)
            self.visit(tree)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.reads = self.reads or node.attr in ("grad", "_grad")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in ("step", "optimizer_step"):
            owner = ast.unparse(called.value).lower()
            self.steps = self.steps or not any(word in owner for word in ("sched", "env", "prof"))
        elif isinstance(called, (ast.Attribute, ast.Name)):
            name = called.attr if isinstance(called, ast.Attribute) else called.id
            self.reads = self.reads or "grad_norm" in name or "hook" in name
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "step":
            self.uncalled = Site(
                self._code.co_filename, self._first + node.lineno - 1, self._code.co_name
            )
        self.generic_visit(node)
