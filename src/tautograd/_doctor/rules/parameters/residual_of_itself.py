"""Residual connections that add a value to itself, because its input was overwritten: TG314."""

from __future__ import annotations

import ast
import functools
from types import CodeType
from typing import Any

from ...._user_code.owners import foreign
from ...._user_code.sites import Site
from ...watch.events import ModuleCall
from ...watch.syntax import nodes_in, tree_of
from ..base import Rule
from ..training_loop import training

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class ResidualOfItself(Rule):
    """`x + x` in a forward whose x was overwritten on the way: the input is not in the sum."""

    code = "TG314"
    name = "residual-of-itself"
    severity = "warning"
    why = (
        "A residual connection adds the input of a block to its output. If the block's output was given the "
        "input's name, the sum is twice the output, and the input is gone."
    )
    quiet = (
        "Sums of different names, names that are given a value once, and products such as 2 * x."
    )
    sure = "Certain that both are the same value, and that the name held another one before."
    refute = "Twice the value is meant."
    fix = "x = x + skip  # where skip = x stood at the beginning"
    example = """
  class Block(torch.nn.Module):
      def __init__(self):
          super().__init__()
          self.inner = torch.nn.Linear(3, 3)
      def forward(self, x):
+         skip = x
          x = torch.tanh(self.inner(x))
-         x = x + x  # here
+         x = x + skip
          return x""" + training(
        model="torch.nn.Sequential(Block(), torch.nn.Linear(3, 1))", steps=4
    )

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.read: set[CodeType] = set()  # forwards whose source was looked at

    def on_module(self, event: ModuleCall) -> None:
        code = getattr(getattr(type(event.module), "forward", None), "__code__", None)
        if not event.grad_mode or code is None or code in self.read:
            return
        self.read.add(code)
        if foreign[code.co_filename] or not any(p.requires_grad for p in event.module.parameters()):
            return
        for line, name in _doubled(code.co_filename, code.co_firstlineno):
            self.report(
                f"{name} is added to itself: it was given another value before, so the block's input is not in "
                "the sum.",
                Site(code.co_filename, line, code.co_name), modules=[type(event.module).__name__],
                fix=f"# keep the input under another name, skip = {name}, and add that",
            )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _doubled(file: str, first: int) -> tuple[tuple[int, str], ...]:
    """Lines of a function in which an argument is added to itself, after it was overwritten."""
    tree = tree_of(file)
    if tree is None:
        return ()
    for node in nodes_in(tree):
        if isinstance(node, _Function):
            begins = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if begins <= first <= node.body[0].lineno and node.name == "forward":
                arguments = {a.arg for a in node.args.args[1:]}
                return tuple(_in(node, arguments))
    return ()


def _in(function: _Function, arguments: set[str]) -> list[tuple[int, str]]:
    found = []
    for node in nodes_in(function):
        name = _twice(node)
        if name in arguments and any(
            isinstance(other, ast.Assign)
            and other.lineno < getattr(node, "lineno", 0)
            and any(
                isinstance(t, ast.Name) and t.id == name
                for target in other.targets
                for t in ast.walk(target)
            )
            and isinstance(other.value, ast.Call)
            for other in nodes_in(function)
        ):
            found.append((getattr(node, "lineno", 0), name))
    return found


def _twice(node: ast.AST) -> str:
    """The name that a sum adds to itself; an empty text if it does not."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides: tuple[ast.expr, ast.expr] = node.left, node.right
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        sides = node.target, node.value
    else:
        return ""
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    return names[0] if len(names) == 2 and names[0] == names[1] else ""
