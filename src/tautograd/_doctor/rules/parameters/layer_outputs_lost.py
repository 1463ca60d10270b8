"""Layers that run in a loop whose turns each overwrite what the one before has made: TG313."""

from __future__ import annotations

import ast
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_site
from ...watch.events import ModuleCall, Step
from ...watch.syntax import function_around, nodes_in
from ..base import Rule
from ..training_loop import training


class LayerOutputsLost(Rule):
    """Layers run one after the other in a loop, and each overwrites what the last one made."""

    code = "TG313"
    name = "layer-outputs-lost"
    why = (
        "A loop over layers that gives each of them the same input keeps only the last one's output: the others "
        "run, cost time, and learn nothing."
    )
    quiet = (
        "Outputs that are kept, added up or read anywhere in the loop, layers that get a gradient, and those that "
        "no optimizer holds."
    )
    sure = "Certain that the output is overwritten before anything reads it, and that no gradient arrives."
    fix = "x = layer(x)  # each layer gets what the last one made"
    example = """
  class Net(torch.nn.Module):
      def __init__(self):
          super().__init__()
          self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(2)])
          self.head = torch.nn.Linear(3, 1)
      def forward(self, x):
+         out = x
          for layer in self.layers:
-             out = torch.tanh(layer(x))  # here
+             out = torch.tanh(layer(out))
          return self.head(out)""" + training(model="Net()", steps=8)
    enough = 5  # steps

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.lines: dict[
            Site, dict[int, Any]
        ] = {}  # modules that ran in a line, until they are judged

    def on_module(self, event: ModuleCall) -> None:
        if self.doctor.steps < self.enough and event.grad_mode and event.module._parameters:
            site = user_site()
            if site is not None:
                self.lines.setdefault(site, {})[id(event.module)] = event.module

    def after_step(self, event: Step) -> None:
        if self.doctor.steps != self.enough:
            return
        lines, self.lines = self.lines, {}
        held, account = self.doctor.held(), self.doctor.ledger.account
        for site, modules in lines.items():
            lost = []
            for module in modules.values():
                own = list(module.parameters())
                if own and all(id(p) in held and not account(p).seen for p in own):
                    lost.append(own)
            if lost and len(lost) < len(modules) and _is_overwritten(site):
                names = self.doctor.names(p for own in lost for p in own)
                self.report(
                    f"{len(lost)} of {len(modules)} layers that run in this line get no gradient: each turn of "
                    "the loop overwrites what the one before has made.",
                    site, parameters=names, figures={"lost": len(lost), "layers": len(modules)},
                )  # fmt: skip


def _is_overwritten(site: Site) -> bool:
    """Whether a line in a loop gives a value to a name that nothing in the loop reads."""
    function = function_around(site)
    loops = [
        node
        for node in (nodes_in(function) if function is not None else ())
        if isinstance(node, ast.For) and node.body[0].lineno <= site.line <= (node.end_lineno or 0)
    ]
    if not loops:
        return False
    inner = max(loops, key=lambda loop: loop.lineno)
    names: set[str] = set()
    for node in ast.walk(inner):
        if isinstance(node, ast.Assign) and node.lineno <= site.line <= (node.end_lineno or 0):
            if not all(isinstance(target, ast.Name) for target in node.targets):
                return False
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    if not names or any(isinstance(n, ast.Break | ast.Return | ast.Yield) for n in ast.walk(inner)):
        return False
    read = {
        n.id for n in ast.walk(inner) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    added = {
        n.target.id
        for n in ast.walk(inner)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
    return not names & (read | added)
