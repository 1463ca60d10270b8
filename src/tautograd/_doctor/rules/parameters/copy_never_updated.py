"""Copies of a network that a written update never reaches: TG315.

That a copy stays as it is may be meant: a reference does. It is not if the program has lines that would change it,
and none of them can run: nobody calls the function that they are in, or they wait for a condition whose numbers
have stopped moving.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_frames, user_site
from ...state.parameter_owners import roots
from ...state.step_measures import part
from ...watch.discarded_results import value_of
from ...watch.events import ModuleCall, Sample
from ...watch.syntax import nodes_in, tree_of
from ..base import Rule

MANY = 4  # copies that are followed
LONGEST = 80  # samples that one is followed
SAME = 8  # samples in a row in which no number of a condition moved
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Copy:
    """A network that no optimizer holds and that is asked without gradients, in the loop."""

    def __init__(self, module: Any, site: Site | None, steps: int, names: set[str]) -> None:
        self.module, self.site, self.since, self.names = weakref.ref(module), site, steps, names
        self.values = _values(module)
        self.watched: dict[
            int, list[Any]
        ] = {}  # line of an update -> what its condition was made of


class CopyNeverUpdated(Rule):
    """A copy of the trained network stays as it is, though the program has lines that would update it."""

    code = "TG315"
    name = "copy-never-updated"
    why = (
        "A target network or a moving average that is never brought up to date answers with the weights of the "
        "first step: what is learned from it is learned from a network that knows nothing."
    )
    quiet = (
        "Copies that change, copies for which no line of the program has an update (a reference, a teacher), updates "
        "that are called from anywhere, and conditions whose numbers still move."
    )
    sure = "Certain that it has not changed, and that no line that would change it can be reached as things stand."
    refute = "The copy is meant to stay: then the update can go."
    fix = "update_target()  # in the loop, after optimizer.step()"
    example = """
  import copy
  class Learner:
      def __init__(self):
          self.online = torch.nn.Linear(3, 1)
          self.target = copy.deepcopy(self.online)
      @torch.no_grad()
      def follow(self):
          for mine, theirs in zip(self.online.parameters(), self.target.parameters()):
              theirs.lerp_(mine, 0.1)
  torch.manual_seed(0)
  learner = Learner()
  optimizer = torch.optim.SGD(learner.online.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(30):
      with torch.no_grad():
-         aim = 0.5 * y + 0.5 * learner.target(x)  # here
+         aim = 0.5 * y + 0.5 * learner.target(x)
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(learner.online(x), aim).backward()
      optimizer.step()
+     learner.follow()
"""
    enough = 20  # steps in which it stays as it is

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.copies: dict[int, _Copy] = {}

    def on_module(self, event: ModuleCall) -> None:
        module = event.module
        if event.grad_mode or not self.doctor.steps or id(module) in self.copies:
            return
        if len(self.copies) >= MANY or not any(module is root for root in roots(self.doctor)):
            return
        held, own = self.doctor.held(), list(module.parameters())
        if own and not any(id(p) in held for p in own) and self._has_twin(module, held):
            names = {name for frame in user_frames() for name in _names_of(module, frame)}
            self.copies[id(module)] = _Copy(module, user_site(), self.doctor.steps, names)

    def _has_twin(self, module: Any, held: dict[int, Any]) -> bool:
        """Whether a network of the same shapes is trained."""
        shapes = [tuple(p.shape) for p in module.parameters()]
        return any(
            [tuple(p.shape) for p in own] == shapes and all(id(p) in held for p in own)
            for root in roots(self.doctor)
            for other in root.modules()
            if other is not module and (own := list(other.parameters()))
        )

    def on_sample(self, event: Sample) -> None:
        for known in list(self.copies.values()):
            module = known.module()
            if module is None or _values(module) != known.values:
                known.names = set()
            waited = self.doctor.steps - known.since
            if not known.names or known.site is None or waited < self.enough - SAME:
                continue
            updates = list(_updates(known))
            if not updates or len(known.watched.get(updates[0][1], ())) > LONGEST:
                known.names = set()
            for file, line, tests in updates:
                known.watched.setdefault(line, []).append(_numbers(file, line, tests))
            if waited < self.enough or not updates:
                continue
            if all(self._is_out_of_reach(known, *update) for update in updates):
                file, line, _ = updates[0]
                known.names = set()
                self.report(
                    f"This {type(module).__name__} has the shapes of a network that is trained, and has not changed "
                    f"in {waited} steps: the lines that would update it are not reached.",
                    known.site, fix_site=Site(file, line, ""), figures={"steps": waited},
                )  # fmt: skip

    def _is_out_of_reach(
        self, known: _Copy, file: str, line: int, tests: list[ast.expr] | str
    ) -> bool:
        if isinstance(tests, str):
            return not _is_mentioned(tests, {file, *(f.f_code.co_filename for f in user_frames())})
        last = known.watched[line][-SAME:]
        return len(last) == SAME and last[0] is not None and all(one == last[0] for one in last)


def _values(module: Any) -> list[list[float]]:
    return [part(p)[:32].tolist() for p in list(module.parameters())[:4]]


def _names_of(module: Any, frame: FrameType) -> Iterator[str]:
    """What a running function calls a module: a name, or an attribute of one."""
    for name, value in frame.f_locals.items():
        if value is module:
            yield name
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict) and type(value).__module__ not in ("builtins", "types"):
            inside = {**held, **(held.get("_modules") or {})}
            yield from (key for key, one in inside.items() if one is module)


def _updates(known: _Copy) -> Iterator[tuple[str, int, list[ast.expr] | str]]:
    """Lines that would change a copy: with the tests they wait for in the loop that runs, or with the name of
    the function that they are in. Those before the loop are none."""
    frames = {(f.f_code.co_filename, f.f_code.co_name): f.f_lineno for f in user_frames()}
    for file in {file for file, _ in frames}:
        tree = tree_of(file)
        for function in [tree, *nodes_in(tree)] if tree is not None else ():
            if not isinstance(function, _Function | ast.Module):
                continue
            name = getattr(function, "name", "<module>")
            runs = (file, name) in frames
            for chain in _writes(function, known.names if runs else known.names - _own(function)):
                line = chain[-1].lineno
                if not runs:
                    yield file, line, name
                    continue
                at = frames[file, name]
                if any(
                    isinstance(n, ast.For | ast.While) and n.lineno <= at <= (n.end_lineno or 0)
                    for n in chain
                ):
                    yield file, line, [n.test for n in chain if isinstance(n, ast.If)]


def _writes(function: ast.AST, names: set[str]) -> Iterator[list[ast.stmt]]:
    """Statements of a function that write into what has one of these names, with those around them."""

    def inside(block: list[ast.stmt], around: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
        for statement in block:
            if isinstance(statement, _Function | ast.ClassDef):
                continue
            here = [*around, statement]
            if _loads(statement, names) or _mixes(statement, names):
                yield here
                continue
            for field in ("body", "orelse", "finalbody"):
                yield from inside(getattr(statement, field, []), here)

    yield from inside(getattr(function, "body", []), [])


def _own(function: ast.AST) -> set[str]:
    """Names that a function gives values to itself: there they are something else."""
    nodes = nodes_in(function)
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _ends(node: ast.expr) -> str:
    """The last name of a place: `target` of `self.target`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _loads(statement: ast.stmt, names: set[str]) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr == "load_state_dict" and _ends(call.func.value) in names


def _mixes(statement: ast.stmt, names: set[str]) -> bool:
    """A loop over pairs of parameters, of which something is written."""
    if not isinstance(statement, ast.For):
        return False
    over = any(
        isinstance(n, ast.Attribute)
        and n.attr in ("parameters", "state_dict", "named_parameters", "buffers")
        and _ends(n.value) in names
        for n in ast.walk(statement.iter)
    )
    return over and any(
        (isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and n.attr == "data")
        or (isinstance(n, ast.Attribute) and n.attr.endswith("_") and not n.attr.endswith("__"))
        for s in statement.body
        for n in ast.walk(s)
    )


def _is_mentioned(name: str, files: set[str]) -> bool:
    """Whether any line names a function, other than its own definition."""
    for file in files:
        tree = tree_of(file)
        for node in nodes_in(tree) if tree is not None else ():
            is_text = isinstance(node, ast.Constant) and node.value == name
            if is_text or (isinstance(node, ast.Name | ast.Attribute) and _ends(node) == name):
                return True
    return False


def _numbers(file: str, line: int, tests: list[ast.expr] | str) -> tuple[Any, ...] | None:
    """All that conditions are made of, by way of the assignments of the running function; None if that is
    not all numbers."""
    if isinstance(tests, str) or not tests:
        return None
    frame = next((f for f in user_frames() if f.f_code.co_filename == file), None)
    tree = tree_of(file)
    if frame is None or tree is None:
        return None
    places: dict[str, ast.expr] = {}
    waiting = list(tests)
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Call) and _ends(node.func) not in ("min", "max", "int"):
                return None
            text = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
            if not text or text in places or text in ("min", "max", "int"):
                continue
            places[text] = node  # type: ignore[assignment]
            waiting += [
                s.value
                for s in nodes_in(tree)
                if isinstance(s, ast.Assign | ast.AugAssign)
                and ast.unparse(s.targets[0] if isinstance(s, ast.Assign) else s.target) == text
                and abs(s.lineno - line) < 200
            ]
    found = tuple(value_of(node, frame) for _, node in sorted(places.items()))
    return found if found and all(isinstance(v, bool | int | float) for v in found) else None
