"""Layers that a module defines and never mentions again: TG312."""

from __future__ import annotations

import ast
import linecache

from ..._user_code.owners import foreign
from ..._user_code.sites import Site
from ..state.parameter_owners import roots
from ..watch.events import Step
from .base import Rule


class UnusedLayer(Rule):
    """A layer that the optimizer holds is assigned in `__init__`, and no line of the file uses it."""

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
    bug = """
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 4)
        self.second = torch.nn.Linear(4, 4)  # here
        self.last = torch.nn.Linear(4, 1)
    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(6):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
    fixed = """
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 4)
        self.second = torch.nn.Linear(4, 4)
        self.last = torch.nn.Linear(4, 1)
    def forward(self, x):
        return self.last(torch.tanh(self.second(torch.tanh(self.first(x)))))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(6):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""

    enough = 5  # steps

    def after_step(self, event: Step) -> None:
        if self.doctor.steps != self.enough:
            return
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
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    found: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and name in node.value:
            return None
        if isinstance(node, ast.Attribute) and node.attr == name:
            if not isinstance(node.ctx, ast.Store):
                return None
            found.append(node.lineno)
    return Site(file, found[0], "__init__") if len(found) == 1 else None
