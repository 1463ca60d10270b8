"""Results that are thrown away: `p.grad.clamp(-1, 1)` as a statement, without the underscore, changes
nothing. Such a statement is read in the source of the loop that is running; it counts only if what it
works on is, by the names of that moment, a parameter or its gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from ..._user_code.sites import Site, site_at
from ..._user_code.stack import user_frames
from .events import Step
from .syntax import function_around, nodes_in

_PURE = frozenset(
    (
        "clamp", "clamp_min", "clamp_max", "clip", "mul", "multiply", "div", "divide", "add", "sub",
        "subtract", "sign", "nan_to_num", "renorm", "lerp", "masked_fill", "round", "neg", "pow",
    )
)  # fmt: skip
_COPIES = frozenset(("clone", "float", "double", "half", "contiguous", "detach", "data"))


@dataclass
class Discarded:
    """A statement that works on a tensor and leaves it as it was."""

    site: Site
    call: str
    parameter: Any
    of_gradient: bool

    @property
    def message(self) -> str:
        what = "gradients" if self.of_gradient else "weights"
        return f"The result of {self.call}() is thrown away here: the {what} stay as they were."

    @property
    def fix(self) -> str:
        code = self.site.text.partition("  #")[0]
        if not self.call.endswith("_") and code.count(f".{self.call}(") == 1:
            return code.replace(f".{self.call}(", f".{self.call}_(") + "  # in place"
        return "# every call of the chain with an underscore, and no clone(): in place"


def new_discarded(rule: Any, event: Step, read: set[Any]) -> Iterator[Discarded]:
    """Those in the functions that lead to a step, once the loop has come round; each is read once."""
    if not rule.doctor.steps:
        return
    for frame in user_frames():
        if frame.f_code not in read:
            read.add(frame.f_code)
            yield from thrown_away(event.engine, frame)


def thrown_away(engine: Any, frame: FrameType) -> Iterator[Discarded]:
    """Statements without effect in the loop of a frame that is running now, those under a condition
    left out."""
    here = site_at(frame)
    function = function_around(here)
    if function is None:
        return
    for statement in _in_loop(function, here.line):
        if isinstance(statement, ast.Expr):
            found = _judge(engine, statement.value, frame)
            if found is not None:
                call, parameter, of_gradient = found
                site = Site(here.file, statement.lineno, here.function)
                yield Discarded(site, call, parameter, of_gradient)


def _in_loop(function: ast.AST, line: int) -> Iterator[ast.stmt]:
    """The statements of the loops around a line that run whenever the loop does."""
    loops = [n for n in nodes_in(function) if isinstance(n, ast.For | ast.While)]
    around = [n for n in loops if n.lineno <= line <= (n.end_lineno or n.lineno)]
    waiting: list[ast.stmt] = [s for loop in around[:1] for s in loop.body]
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, ast.For | ast.While | ast.With):
            waiting.extend(statement.body)


def _judge(engine: Any, call: ast.expr, frame: FrameType) -> tuple[str, Any, bool] | None:
    """The call, the parameter it is about, and whether it is about its gradient."""
    names: dict[str, Any] = {}
    if isinstance(call, ast.ListComp):  # [p.grad.clamp(-1, 1) for p in model.parameters()]
        names = _first(call.generators, frame)
        call = call.elt
    if not isinstance(call, ast.Call) or any(k.arg == "out" for k in call.keywords):
        return None
    function = call.func
    if not isinstance(function, ast.Attribute):
        return None
    name = function.attr
    is_pure, is_in_place = name in _PURE, name.endswith("_") and name[:-1] in _PURE
    if not is_pure and not is_in_place:
        return None
    given: ast.expr = function.value
    base, is_copy = _base(given)
    if is_in_place and not is_copy:
        return None
    module = value_of(given, frame)
    if module is engine or module is engine.nn.functional:  # torch.clamp(p.grad, ...)
        if not call.args:
            return None
        base, _ = _base(call.args[0])
    of_gradient = isinstance(base, ast.Attribute) and base.attr == "grad"
    owner = base.value if of_gradient and isinstance(base, ast.Attribute) else base
    parameter = value_of(_base(owner)[0], frame, names)
    return (name, parameter, of_gradient) if isinstance(parameter, engine.nn.Parameter) else None


def _base(node: ast.expr) -> tuple[ast.expr, bool]:
    """What a chain of calls begins with, and whether it has left that tensor for another."""
    is_copy = False
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name not in _PURE and name not in _COPIES and name.rstrip("_") not in _PURE:
                return node, is_copy
            is_copy = is_copy or name in _PURE or name == "clone"
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        else:
            return node, is_copy


def _first(loops: list[ast.comprehension], frame: FrameType) -> dict[str, Any]:
    """What the variable of a comprehension over a module's parameters stands for at first."""
    target, given = loops[0].target, loops[0].iter
    if len(loops) > 1 or loops[0].ifs or not isinstance(target, ast.Name):
        return {}
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute) or given.args:
        return {}
    module = value_of(given.func.value, frame)
    if given.func.attr != "parameters" or not hasattr(module, "_parameters"):
        return {}
    return {target.id: next(iter(module.parameters()), None)}


class Names(Protocol):
    """Where names are looked up: a frame, or what is known of a function."""

    @property
    def f_locals(self) -> dict[str, Any]: ...
    @property
    def f_globals(self) -> dict[str, Any]: ...


def value_of(node: ast.expr, frame: Names, names: dict[str, Any] | None = None) -> Any:
    """What a dotted name stands for; nothing of it is run."""
    if isinstance(node, ast.Name) and names and node.id in names:
        return names[node.id]
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        parts = getattr(value_of(node.value, frame), "_modules", None)
        return parts.get(str(node.slice.value)) if isinstance(parts, dict) else None
    if not isinstance(node, ast.Attribute):
        return None
    owner = value_of(node.value, frame)
    kept = getattr(owner, "__dict__", {})
    for place in (kept.get("_parameters"), kept.get("_modules"), kept):
        if isinstance(place, dict) and node.attr in place:
            return place[node.attr]
    return None
