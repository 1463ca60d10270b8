"""Layers that a module defines and never mentions again: TG312."""

from __future__ import annotations

import ast
from typing import Any

from ...._user_code.owners import foreign
from ...._user_code.sites import Site
from ...._user_code.stack import user_site
from ...state.parameter_owners import roots
from ...watch.events import ModuleCall, Step
from ...watch.syntax import nodes_in, tree_of
from ..base import Rule
from ..training_loop import training


class UnusedLayer(Rule):
    """A layer that the optimizer holds is used by no line of the file, or an upper recurrent layer by no loss."""

    code = "TG312"
    name = "unused-layer"
    severity = "warning"
    why = (
        "A layer that forward() leaves out is not part of the model: it gets no gradient, and the model is "
        "shallower than it was written."
    )
    quiet = (
        "Layers that are mentioned anywhere in the file (also under a condition), that get a gradient, that "
        "run, or that no optimizer holds; layers of libraries."
    )
    sure = "Certain that nothing uses it in this run, and that no line of the file names it."
    fix = "x = self.layer2(x)  # in forward()"
    example = training(
        before="""
  class Net(torch.nn.Module):
      def __init__(self):
          super().__init__()
          self.first = torch.nn.Linear(3, 4)
-         self.second = torch.nn.Linear(4, 4)  # here
+         self.second = torch.nn.Linear(4, 4)
          self.last = torch.nn.Linear(4, 1)
      def forward(self, x):
-         return self.last(torch.tanh(self.first(x)))
+         return self.last(torch.tanh(self.second(torch.tanh(self.first(x)))))
""",
        model="Net()",
        steps=6,
    )

    enough = 5  # steps

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.stacked: dict[int, tuple[Any, Site | None]] = {}  # recurrent layers on one another

    def on_module(self, event: ModuleCall) -> None:
        module = event.module
        is_stack = isinstance(module, event.engine.nn.RNNBase) and module.num_layers > 1
        if is_stack and event.grad_mode and id(module) not in self.stacked:
            self.stacked[id(module)] = module, user_site()

    def _upper_layers(self) -> None:
        """The last of a stack gets exactly 0, the first does not: its output enters no loss."""
        for module, site in self.stacked.values():
            first, last = (
                [p.grad for name, p in module.named_parameters() if f"_l{layer}" in name]
                for layer in (0, module.num_layers - 1)
            )
            if all(g is None or not bool(g.any()) for g in last) and any(
                g is not None and bool(g.any()) for g in first
            ):
                self.report(
                    f"Layer {module.num_layers} of this {type(module).__name__} gets a gradient of exactly 0, "
                    "the first does not: what the upper layer gives is not in the loss.",
                    site, fix="last = hidden[-1]  # of the last layer; hidden[0] is the first one's",
                    why="A recurrent layer returns the last state of each of its layers: (layers, batch, features).",
                )  # fmt: skip

    def after_step(self, event: Step) -> None:
        if self.doctor.steps != self.enough:
            return
        self._upper_layers()
        self.stacked = {}
        held, account = self.doctor.held(), self.doctor.ledger.account
        for root in roots(self.doctor):
            for module in root.modules():
                file = _file(type(module))
                for name, child in module._modules.items() if file else ():
                    own = [] if child is None else list(child.parameters())
                    dead = own and all(id(p) in held and not account(p).seen for p in own)
                    if dead and (site := _only_assigned(file, name)) is not None:
                        self.report(
                            f"The layer {name} of {type(module).__name__} is defined here and used nowhere: "
                            "no line of this file mentions it again, and it has had no gradient.",
                            site, parameters=self.doctor.names(own),
                            fix=f"x = self.{name}(x)  # in forward(), or leave it out",
                        )  # fmt: skip


def _file(kind: type) -> str:
    """The program's file that a module's forward is written in; empty for one of a library."""
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    file = "" if code is None else str(code.co_filename)
    return "" if not file or foreign[file] else file


def _only_assigned(file: str, name: str) -> Site | None:
    """Where `self.name` is assigned, if that is the only mention of the name in the file."""
    tree = tree_of(file)
    if tree is None:
        return None
    found: list[int] = []
    for node in nodes_in(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and name in node.value:
            return None
        if isinstance(node, ast.Attribute) and node.attr == name:
            if not isinstance(node.ctx, ast.Store):
                return None
            found.append(node.lineno)
    return Site(file, found[0], "__init__") if len(found) == 1 else None
