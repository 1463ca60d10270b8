"""Losses that are computed with their history and that no backward ever begins from or passes: TG412.

The source gives the suspicion: a variable that is overwritten before anyone read it, or a sum that is only
logged while one of its terms is what goes on. Whether it was a loss, and was dropped, is then seen in the run:
its lines are watched for one iteration, and what they made is looked for in the graph of each backward.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ...._user_code.sites import Site, site_at
from ...._user_code.stack import user_frames
from ...watch.events import Backward, Loss, ModuleCall, Step
from ...watch.graph_walk import is_leaf_node, leaves_of, nodes
from ...watch.scalars_at_lines import Scalars, Span
from ...watch.syntax import function_around, nodes_in
from ..base import Rule

_READ_ONLY = frozenset(("item", "detach", "tolist", "data", "cpu", "numpy"))


@dataclass(frozen=True)
class Suspect:
    """A statement whose value seems to go nowhere."""

    span: Span
    function: str
    name: str
    other: int  # the line that takes its place
    term: str  # of a sum: what goes on instead of it


class LossDropped(Rule):
    """A loss is computed and thrown away: overwritten unread, or summed up and not what goes back."""

    code = "TG412"
    name = "loss-dropped"
    severity = "warning"
    why = (
        "`loss = second` where `loss += second` was meant throws the first term away; a sum that is logged "
        "while one of its terms goes back trains on that term alone. Nothing fails, and the log looks right."
    )
    quiet = (
        "What is overwritten under a condition, what was read, values without a history or that reach nothing "
        "an optimizer holds, and loops that ask for gradients with autograd.grad."
    )
    sure = "Seen: what this line made is in the graph of no backward, and nothing else reads it."
    refute = "The line is a leftover, and its loss is not wanted."
    fix = "loss = loss + other_loss  # both of them"
    example = """
  torch.manual_seed(0)
  F = torch.nn.functional
  model = torch.nn.Linear(3, 2)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 2)
  for _ in range(6):
      out = model(x)
-     loss = F.mse_loss(out, y)  # here
+     loss = F.mse_loss(out, y)
-     loss = 0.1 * out.abs().mean()
+     loss += 0.1 * out.abs().mean()
      optimizer.zero_grad()
      loss.backward()
      optimizer.step()
"""
    _most = 3  # iterations that are watched

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.read: set[Any] = set()  # code of functions that were read
        self.suspects: dict[Span, Suspect] = {}
        self.scalars: Scalars | None = None
        self.optimizer: Any = None  # whose step began the iteration
        self.passed: set[Any] = set()  # nodes of the backwards of the iteration
        self.watched = 0

    # --- suspicion ---------------------------------------------------------------------------------

    def on_module(self, event: ModuleCall) -> None:
        if event.grad_mode:
            self._read(user_frames())

    def on_loss(self, event: Loss) -> None:
        self._read(user_frames())

    def _read(self, frames: list[FrameType]) -> None:
        if self.doctor.steps > 1 or len(self.read) > 200:
            return
        for frame in frames:
            if frame.f_code not in self.read:
                self.read.add(frame.f_code)
                for suspect in suspects(frame):
                    self.suspects[suspect.span] = suspect

    # --- the iteration -----------------------------------------------------------------------------

    def before_backward(self, event: Backward) -> None:
        if self.doctor.steps <= 1:
            self._read(user_frames())
        if self.scalars is not None:
            self.passed.update(nodes(event.roots))

    def after_step(self, event: Step) -> None:
        if self.scalars is not None:
            if event.optimizer is not self.optimizer:
                return
            self._judge(self.scalars)
            self._stop()
        if self.suspects and self.watched < self._most and not event.has_closure:
            self.watched += 1
            self.scalars = Scalars(event.engine, self.doctor, self.suspects)
            self.optimizer = event.optimizer
            if not self.scalars.start():
                self._stop()

    def _stop(self) -> None:
        if self.scalars is not None:
            self.scalars.stop()
        self.scalars, self.passed = None, set()

    def _judge(self, scalars: Scalars) -> None:
        held = self.doctor.held()
        for span, made in scalars.made.items():
            suspect = self.suspects[span]
            lost = [t for t in made if t.grad_fn not in self.passed]
            if not lost or len(lost) < len(made) or not self.passed:
                self.suspects.pop(span, None)
                continue
            if not any(id(leaf) in held for leaf in leaves_of(lost[0].grad_fn, 4000)):
                continue
            self.suspects.pop(span, None)
            if suspect.term and not self._is_of_activations(lost[0].grad_fn):
                continue  # a penalty on the weights is logged, and applied by the optimizer's decay
            site = Site(span[0], span[1], suspect.function)
            if suspect.term:
                message = (
                    f"`{suspect.name}` is a sum that no backward begins from: `{suspect.term}`, one of its "
                    "terms, is what goes on, and the others teach nothing."
                )
                fix = f"return {suspect.name}  # in the place of {suspect.term}"
            else:
                message = (
                    f"`{suspect.name}` is overwritten before anything reads it: this loss is computed and "
                    "thrown away."
                )
                fix = f"{suspect.name} = {suspect.name} + ...  # in line {suspect.other}"
            self.report(
                message, site, fix_site=Site(span[0], suspect.other, suspect.function), fix=fix
            )

    def _is_of_activations(self, total: Any) -> bool:
        """Whether a sum takes more of what went back than the term that did."""
        waiting, seen, met = [total], {total}, set()
        while waiting and len(seen) < 4000:
            for following, _ in waiting.pop().next_functions:
                if following in self.passed and not is_leaf_node(following):
                    met.add(following)
                elif following is not None and following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return len(met) > 1

    def at_end(self) -> None:
        self._stop()


def suspects(frame: FrameType) -> Iterator[Suspect]:
    """Those of a running function."""
    function = function_around(site_at(frame))
    if function is None:
        return
    file, name = frame.f_code.co_filename, frame.f_code.co_name
    own = [n for n in nodes_in(function) if _is_own(n, function)]
    if any(isinstance(n, ast.Attribute) and n.attr == "grad" and _is_called(n, own) for n in own):
        return
    for block in _blocks(own, function):
        for first, other in _overwritten(block):
            yield Suspect((file, first.lineno, first.end_lineno or first.lineno), name,
                          _target(first), other.lineno, "")  # fmt: skip
    yield from _sums(own, file, name)


def _is_own(node: ast.AST, function: ast.AST) -> bool:
    return node is not function


def _is_called(attribute: ast.Attribute, own: list[ast.AST]) -> bool:
    return any(isinstance(n, ast.Call) and n.func is attribute for n in own)


def _blocks(own: list[ast.AST], function: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in [function, *own]:
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _target(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else ""
    return ""


def _overwritten(block: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Assignments of a block that another one of it replaces, with nothing that reads the name between."""
    for i, statement in enumerate(block):
        name = _target(statement)
        if not name or name.startswith("_") or not _computes(statement):
            continue
        for other in block[i + 1 :]:
            if _reads(other, name) or isinstance(other, ast.Return | ast.Break | ast.Continue):
                break
            if _target(other) == name:
                yield statement, other
                break
            if _stores(other, name):
                break


def _computes(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Call | ast.BinOp | ast.UnaryOp)


def _reads(statement: ast.AST, name: str) -> bool:
    return any(
        (isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Store))
        or (isinstance(n, ast.AugAssign) and getattr(n.target, "id", "") == name)
        or (isinstance(n, ast.Call) and getattr(n.func, "id", "") in ("locals", "eval", "exec"))
        for n in ast.walk(statement)
    )


def _stores(statement: ast.AST, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for n in ast.walk(statement)
    )


def _sums(own: list[ast.AST], file: str, function: str) -> Iterator[Suspect]:
    """Sums that are only logged, while one of their terms is returned or goes back."""
    going = dict(_going_on(own))
    parents = {id(child): n for n in own for child in ast.iter_child_nodes(n)}
    for statement in own:
        name = _target(statement) if isinstance(statement, ast.stmt) else ""
        value = getattr(statement, "value", None)
        if not name or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            continue
        terms = {n.id for n in _terms(value) if isinstance(n, ast.Name)}
        term = next((t for t in terms if t in going and t != name), "")
        stores = sum(_target(s) == name for s in own if isinstance(s, ast.stmt))
        reads = [
            n for n in own
            if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Store)
        ]  # fmt: skip
        if term and stores == 1 and all(_is_logged(n, parents) for n in reads):
            span = file, statement.lineno, statement.end_lineno or statement.lineno  # type: ignore[attr-defined]
            yield Suspect(span, function, name, going[term], term)


def _going_on(own: list[ast.AST]) -> Iterator[tuple[str, int]]:
    """Names that are returned, by themselves or in front of others, or that backward begins from."""
    for node in own:
        given = node.value if isinstance(node, ast.Return) else None
        if isinstance(given, ast.Tuple) and given.elts:
            given = given.elts[0]
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr == "backward":
            given = node.args[0] if node.args else function.value  # type: ignore[attr-defined]
        if isinstance(given, ast.Name):
            yield given.id, node.lineno  # type: ignore[attr-defined]


def _terms(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
        yield from _terms(value.left)
        yield from _terms(value.right)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult | ast.Div):
        yield value.left
        yield value.right
    else:
        yield value


def _is_logged(node: ast.Name, parents: dict[int, ast.AST]) -> bool:
    """Whether a name is read for its number only."""
    parent = parents.get(id(node))
    if isinstance(parent, ast.Attribute) and parent.attr in _READ_ONLY:
        return True
    if isinstance(parent, ast.Call) and getattr(parent.func, "id", "") in ("float", "print"):
        return True
    return isinstance(parent, ast.FormattedValue)
