"""Two names that get one value in one line: TG417."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ...._user_code.owners import foreign
from ...._user_code.sites import Site
from ...watch.events import ModuleCall
from ...watch.syntax import nodes_in, tree_of
from ..base import Rule


class SameForBoth(Rule):
    """`h, c = h[order], h[order]`: both names get what was made of one, and the other's value is lost."""

    code = "TG417"
    name = "same-for-both"
    severity = "warning"
    why = (
        "A line that does the same to two values and writes the first one's name twice throws the second away. What "
        "comes after reads a copy of the first under its name: a hidden state as a cell, an input as a target."
    )
    quiet = (
        "Values that do not depend on the names that are written, names that had no value before, and calls that "
        "make something new of nothing."
    )
    sure = "Certain that one value is lost in this line; that it was meant to be kept is all but certain."
    refute = "Both are meant to be the first from here on."
    fix = "h, c = h[:, order], c[:, order]"
    example = """
  torch.manual_seed(0)
  class Net(torch.nn.Module):
      def __init__(self):
          super().__init__()
          self.cell, self.head = torch.nn.LSTMCell(3, 4), torch.nn.Linear(4, 1)
      def forward(self, x):
          h, c = self.cell(x)
-         h, c = h.flip(0), h.flip(0)  # here
+         h, c = h.flip(0), c.flip(0)
          return self.head(self.cell(x, (h, c))[0])
  model = Net()
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(4):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.read: set[Any] = set()  # code that was looked at

    def on_module(self, event: ModuleCall) -> None:
        code = getattr(type(event.module).forward, "__code__", None)
        if code is None or code in self.read:
            return
        self.read.add(code)
        if foreign[code.co_filename]:
            return
        tree = tree_of(code.co_filename)
        for node in nodes_in(tree) if tree is not None else ():
            if (
                isinstance(node, ast.FunctionDef)
                and code.co_firstlineno <= node.lineno <= code.co_firstlineno + 8
                and node.name == code.co_name
            ):
                for line, lost, kept in _lost(node):
                    self.report(
                        f"{lost} gets here what is made of {kept}, and its own value is lost: both names mean the "
                        "same from here on.",
                        Site(code.co_filename, line, code.co_name),
                    )  # fmt: skip


def _lost(function: ast.FunctionDef) -> Iterator[tuple[int, str, str]]:
    """The lines that write one value to two names, the name whose value is lost, and the other."""
    stored: list[tuple[int, str]] = [
        (n.lineno, n.id) for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]  # fmt: skip
    stored += [(function.lineno, a.arg) for a in function.args.args]
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
            continue
        names = [n.id if isinstance(n, ast.Name) else "" for n in target.elts]
        read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        for i, one in enumerate(value.elts):
            for j, other in enumerate(value.elts):
                if i == j or j >= len(names) or i >= len(names) or isinstance(one, ast.Name | ast.Constant):
                    continue
                used = {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}
                had = any(name == names[j] and line < node.lineno for line, name in stored)
                if (
                    ast.dump(one) == ast.dump(other) and names[i] in used and had
                    and names[j] not in read and names[j]
                ):  # fmt: skip
                    yield node.lineno, names[j], names[i]
