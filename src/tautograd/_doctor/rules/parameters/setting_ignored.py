"""A setting that is given to an object, kept by it, and read by nothing: TG320."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ...._user_code.owners import foreign
from ...._user_code.sites import Site
from ...._user_code.stack import user_frames
from ...watch.events import Step
from ...watch.syntax import nodes_in, tree_of
from ..base import Rule

# What reads attributes whose names are not in the text.
_WHOLE = {"vars", "getattr", "__dict__", "asdict", "save_hyperparameters", "hparams"}


class SettingIgnored(Rule):
    """A number that is given when an object is made is kept in an attribute that no line of the program reads."""

    code = "TG320"
    name = "setting-ignored"
    severity = "warning"
    why = (
        "A weight, a temperature or a rate that a caller sets and nobody reads changes nothing: what runs is the "
        "program without it, as if its term had weight 1."
    )
    quiet = (
        "Whole numbers and flags, settings left at their default, attributes that are read anywhere in the file (also "
        "as text), programs that hand attributes on as a whole (vars, __dict__, getattr), programs of several files."
    )
    sure = "Certain that no line of the program reads it; that one should is likely."
    refute = "It is kept for the record only."
    fix = "loss = reconstruction + self.beta * divergence"
    example = """
  torch.manual_seed(0)
  class Net(torch.nn.Module):
      def __init__(self, beta=1.0):
          super().__init__()
-         self.beta = beta  # here
+         self.beta = beta
          self.body = torch.nn.Linear(3, 1)
      def loss(self, x, y):
          out = self.body(x)
-         return torch.nn.functional.mse_loss(out, y) + out.square().mean()
+         return torch.nn.functional.mse_loss(out, y) + self.beta * out.square().mean()
  model = Net(beta=4.0)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(4):
      optimizer.zero_grad()
      model.loss(x, y).backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.steps = 0

    def before_step(self, event: Step) -> None:
        """Read the files that lead to the second step."""
        self.steps += 1
        if self.steps != 2:
            return
        for file in {frame.f_code.co_filename for frame in user_frames()}:
            if foreign[file] or not _is_alone(file):
                continue
            tree = tree_of(file)
            read = None if tree is None else _read_in(tree)
            if tree is None or read is None:
                continue
            for line, cls, name, number in _unread(tree, read):
                if not _is_alive(file, cls, name, number):
                    continue
                self.report(
                    f"The program sets {name} to {number:g}, it is kept here, and no line reads it: it "
                    "changes nothing.",
                    Site(file, line, ""), figures={"value": number},
                )  # fmt: skip


def _is_alone(file: str) -> bool:
    """Whether no other file of the program's has been imported that may read what objects of this one keep."""
    folder = Path(file).parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    modules = [vars(m) for m in list(sys.modules.values()) if type(m) is ModuleType]
    files = {m.get("__file__") for m in modules} - {file}
    script = vars(sys.modules["__main__"]).get("__file__")
    if isinstance(script, str) and Path(script).parent in folder.parents:
        folder = Path(script).parent
    return not any(
        isinstance(f, str) and folder in Path(f).parents and not foreign[f] for f in files
    )


def _is_alive(file: str, cls: str, attribute: str, number: float) -> bool:
    """Whether an object of this class has that number there."""
    for thing in gc.get_objects():
        kind = type(thing)
        if kind.__name__ != cls or not hasattr(thing, "__dict__"):
            continue
        code = getattr(getattr(kind, "__init__", None), "__code__", None)
        if code is None or code.co_filename != file:
            continue
        found = vars(thing).get(attribute)
        if type(found) is float and found == number:
            return True
    return False


def _read_in(tree: ast.Module) -> set[str] | None:
    """The attributes that a program reads; None where it may read any."""
    nodes = nodes_in(tree)
    read = {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}
    read |= {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    names = {n.id for n in nodes if isinstance(n, ast.Name)} | read
    return None if names & _WHOLE else read


def _unread(tree: ast.Module, read: set[str]) -> Iterator[tuple[int, str, str, float]]:
    """Attributes that hold a given number and that nothing reads, with the line that keeps it."""
    nodes = nodes_in(tree)
    for cls in (n for n in nodes if isinstance(n, ast.ClassDef)):
        made = next(
            (f for f in cls.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None
        )
        if made is None:
            continue
        given = _given(nodes, cls.name, made)
        uses: dict[str, int] = {}
        for node in nodes_in(made):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                uses[node.id] = uses.get(node.id, 0) + 1
        for line, attribute, name in _kept(made):
            if name in given and uses.get(name) == 1 and attribute not in read:
                yield line, cls.name, attribute, given[name]


def _kept(made: ast.FunctionDef) -> Iterator[tuple[int, str, str]]:
    """`self.attribute = name`, also several at once."""
    for node in nodes_in(made):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        pairs = zip(target.elts, value.elts, strict=False) if several else [(target, value)]  # type: ignore[attr-defined]
        for one, other in pairs:
            if not isinstance(one, ast.Attribute) or not isinstance(other, ast.Name):
                continue
            if isinstance(one.value, ast.Name) and one.value.id == "self":
                yield one.lineno, one.attr, other.id


def _given(nodes: tuple[ast.AST, ...], cls: str, made: ast.FunctionDef) -> dict[str, float]:
    """The arguments of the class that a caller sets to a number with a fraction or another than the default."""
    names = [a.arg for a in made.args.args][1:]
    defaults = dict(zip(names[::-1], made.args.defaults[::-1], strict=False))
    defaults |= {
        a.arg: d for a, d in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True) if d
    }
    found: dict[str, float] = {}
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
            continue
        if (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) != cls:
            continue
        given = dict(zip(names, node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords if k.arg}
        for name, value in given.items():
            number, usual = _number(value), _number(defaults.get(name))
            if number is not None and number != usual:
                found[name] = number
    return found


def _number(node: ast.AST | None) -> float | None:
    """A number that is written as one with a point or an exponent."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return node.value
    return None
