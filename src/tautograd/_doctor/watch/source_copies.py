"""Copies of a network that a loop means to keep up, read in the source of the loop that is running: a
pair of names that are one network, a name that is bound anew where a weight should change, a dictionary
that is changed and thrown away. Names are looked up as they are at that moment; nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..._user_code.sites import Site
from .called_functions import Scope
from .discarded_results import value_of
from .syntax import function_around, nodes_in

_LISTS = ("parameters", "named_parameters", "buffers")


@dataclass
class Slip:
    """A statement that does not do to a copy what it says."""

    site: Site
    message: str
    why: str
    fix: str


def slips(engine: Any, scope: Scope) -> Iterator[Slip]:
    """Those in a function that is running now, or that such a one calls."""
    here = scope.site
    function = function_around(here)
    if function is None:
        return
    for node in nodes_in(function):
        if isinstance(node, ast.For):
            yield from _in_loop(engine, node, scope, here)
        elif isinstance(node, ast.Expr):
            yield from _thrown_away(engine, node, scope, here)


def _in_loop(engine: Any, loop: ast.For, scope: Scope, here: Site) -> Iterator[Slip]:
    walked = loop.iter
    parts = [walked]
    if (
        isinstance(walked, ast.Call)
        and isinstance(walked.func, ast.Name)
        and walked.func.id == "zip"
    ):
        parts = list(walked.args)
    owners = [_owner(part) for part in parts]
    if not owners or any(owner is None for owner in owners):
        return
    modules = [value_of(owner, scope) for owner in owners if owner is not None]
    if not all(isinstance(module, engine.nn.Module) for module in modules):
        return
    names = [ast.unparse(owner) for owner in owners if owner is not None]
    if len(modules) == 2 and modules[0] is modules[1] and names[0] != names[1]:
        first = next((n for n in loop.body if _writes(n)), loop)
        yield Slip(
            Site(here.file, first.lineno, here.function),
            f"{names[0]} and {names[1]} are one network, not two: what is written into the one is the "
            "other's already.",
            "An assignment gives a second name to a network. A copy has weights of its own.",
            f"{names[0]} = copy.deepcopy({names[1]})",
        )
        return
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for i, statement in enumerate(loop.body):
        bound = _bound(statement)
        if bound not in targets or not any(
            isinstance(n, ast.Name) and n.id == bound
            for n in ast.walk(statement.value)  # type: ignore[attr-defined]
        ):
            continue
        later = [n for rest in loop.body[i + 1 :] for n in ast.walk(rest)]
        if any(isinstance(n, ast.Name) and n.id == bound for n in later):
            continue
        yield Slip(
            Site(here.file, statement.lineno, here.function),
            f"`{bound} = ...` gives the name to a new tensor: the weights of {names[0]} stay as they were.",
            "The variable of a loop over parameters is a name for each. To change a weight, it has to be "
            "written into, in place.",
            f"{bound}.data.copy_(...)  # in place, not {bound} = ...",
        )


def _thrown_away(engine: Any, node: ast.Expr, scope: Scope, here: Site) -> Iterator[Slip]:
    """`net.state_dict().update(other.state_dict())`: a new dictionary each time."""
    call = node.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return
    inner = call.func.value
    if call.func.attr not in ("update", "copy") or not isinstance(inner, ast.Call):
        return
    if not isinstance(inner.func, ast.Attribute) or inner.func.attr != "state_dict":
        return
    owner = inner.func.value
    if isinstance(value_of(owner, scope), engine.nn.Module):
        name = ast.unparse(owner)
        yield Slip(
            Site(here.file, node.lineno, here.function),
            f"state_dict() makes a dictionary, this line changes it, and it is thrown away: {name} stays "
            "as it was.",
            "state_dict() gives a new dictionary at each call. load_state_dict() puts values into a network.",
            f"{name}.load_state_dict(...)",
        )


def _owner(part: ast.expr) -> ast.expr | None:
    """`net` of `net.parameters()` and `net.state_dict().values()`."""
    if not (isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)):
        return None
    if part.func.attr in _LISTS:
        return part.func.value
    if part.func.attr in ("values", "items"):
        inner = part.func.value
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            return inner.func.value if inner.func.attr == "state_dict" else None
    return None


def _bound(statement: ast.stmt) -> str | None:
    """The name of a plain assignment."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    return None


def _writes(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AugAssign | ast.Assign) or (
        isinstance(statement, ast.Expr)
        and any(
            isinstance(n, ast.Attribute) and n.attr.endswith("_") and not n.attr.endswith("__")
            for n in ast.walk(statement)
        )
    )
