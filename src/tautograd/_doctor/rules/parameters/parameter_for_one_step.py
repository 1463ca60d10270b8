"""Parameters that a loss reaches and that are others at every backward: TG316.

Where a new one is made does not matter: in forward, in a function, in the loop; as a parameter or as a layer
that is no part of any module. The fact is in the graph: leaves that nobody holds, of the same shapes each
time, none of which is ever seen again.
"""

from __future__ import annotations

import ast
import inspect
import weakref
from collections.abc import Iterator
from typing import Any

from ...._user_code.owners import foreign
from ...._user_code.sites import Site
from ...watch.discarded_results import value_of
from ...watch.events import Backward, ModuleCall, Step
from ...watch.graph_walk import leaves
from ...watch.syntax import nodes_in, tree_of
from ..base import Rule

_NEAR = 0.7  # of its size: one that moves less than this goes on from the last one


class ParameterForOneStep(Rule):
    """A parameter that the loss reaches is another one at every backward, and no optimizer has it."""

    code = "TG316"
    name = "parameter-for-one-step"
    why = (
        "A parameter or a layer that is made while the model runs has new weights each time. Its gradient is "
        "computed and thrown away with it: this part of the model stays random for ever."
    )
    quiet = (
        "Parameters that an optimizer gets before the backward, those that go on from the last one's "
        "values (an update by hand), and losses that reach nothing which an optimizer holds."
    )
    sure = "Certain: each of them was reached by one loss, and by no other."
    fix = "self.weight = torch.nn.Parameter(...)  # in __init__, once"
    example = """
  torch.manual_seed(0)
- body = torch.nn.Linear(3, 4)
+ body, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
- optimizer = torch.optim.SGD(body.parameters(), lr=0.01)
+ optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  def score(hidden):
-     head = torch.nn.Linear(4, 1)
      return head(hidden.tanh())
  for _ in range(6):
      optimizer.zero_grad()
-     torch.nn.functional.mse_loss(score(body(x)), y).backward()  # here
+     torch.nn.functional.mse_loss(score(body(x)), y).backward()
      optimizer.step()
"""
    many = 4  # steps in a row

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.before: dict[Any, tuple[list[Any], list[Any]]] = {}  # line -> parameters, and values
        self.runs: dict[Any, list[int]] = {}  # line -> steps with others than the last time
        self.classes: dict[type, None] = {}  # of modules that ran with a gradient

    def on_module(self, event: ModuleCall) -> None:
        if event.grad_mode and len(self.classes) < 200:
            self.classes[type(event.module)] = None

    def before_backward(self, event: Backward) -> None:
        if not self.doctor.pulse.close or event.options.get("inputs") is not None:
            return
        held, kind = self.doctor.held(), event.engine.nn.Parameter
        found = leaves(event.roots, 4000)
        fresh = [p for p in found if isinstance(p, kind) and id(p) not in held]
        last = self.before.pop(event.site, None)
        if not fresh or len(fresh) > 64 or not any(id(p) in held for p in found):
            self.runs.pop(event.site, None)
            return
        values = [p.detach().clone() for p in fresh]
        self.before[event.site] = [weakref.ref(p) for p in fresh], values
        if last is None or not self._are_others(event.engine, fresh, values, *last):
            self.runs[event.site] = []
            return
        steps = self.runs.setdefault(event.site, [])
        if not steps or steps[-1] != self.doctor.steps:
            steps.append(self.doctor.steps)
        if len(steps) == self.many - 1 and steps[-1] - steps[0] == self.many - 2:
            site = self._line_made(event.engine) or event.site
            if any(f.code == "TG306" and f.site == site for f in self.doctor.findings):
                return  # it is told already, with the layer's name
            self.report(
                f"{len(fresh)} parameters that this loss reaches are others in every step, and no optimizer "
                "ever has them: what they learn is thrown away with them.",
                site, parameters=[_shape(p) for p in fresh[:8]], figures={"steps": self.many},
            )  # fmt: skip

    def _are_others(
        self, engine: Any, fresh: list[Any], values: list[Any], old: list[Any], known: list[Any]
    ) -> bool:
        if [tuple(v.shape) for v in values] != [tuple(v.shape) for v in known]:
            return False
        if any(p is one() for p in fresh for one in old):
            return False
        for new, one in zip(values, known, strict=True):
            away, size = float((new - one).norm()), float(one.norm())
            if 0 < away < _NEAR * size:
                return False  # it goes on from there
        return True

    def after_step(self, event: Step) -> None:
        mine = {id(p) for p in event.parameters}
        for site, (old, _) in list(self.before.items()):
            if any((p := one()) is not None and id(p) in mine for one in old):
                del self.before[site]

    def _line_made(self, engine: Any) -> Site | None:
        """A call of `Parameter` or of a module's class in the forward of what ran."""
        for kind in self.classes:
            function = getattr(kind, "forward", None)
            code = getattr(inspect.unwrap(function), "__code__", None) if function else None
            if code is None or foreign[code.co_filename]:
                continue
            for call in _calls(code.co_filename, code.co_firstlineno):
                made = value_of(call.func, _Scope(function, engine))
                if made is engine.nn.Parameter or (
                    isinstance(made, type) and issubclass(made, engine.nn.Module)
                ):
                    return Site(code.co_filename, call.lineno, code.co_name)
        return None


class _Scope:
    """What a function's names stand for, when it does not run."""

    def __init__(self, function: Any, engine: Any) -> None:
        inside = inspect.unwrap(function)
        cells = zip(inside.__code__.co_freevars, inside.__closure__ or (), strict=False)
        self.f_locals = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
        self.f_globals: dict[str, Any] = {**inside.__globals__}


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - it may not be there yet
    except ValueError:
        return False
    return True


def _calls(file: str, line: int) -> Iterator[ast.Call]:
    """The calls of the function that begins in a line, its decorators included."""
    tree = tree_of(file)
    for node in nodes_in(tree) if tree is not None else ():
        if not isinstance(node, ast.FunctionDef):
            continue
        if min([node.lineno, *(d.lineno for d in node.decorator_list)]) == line:
            calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
            yield from sorted(calls, key=lambda call: call.lineno)


def _shape(parameter: Any) -> str:
    return f"one of {tuple(int(n) for n in parameter.shape)}"
