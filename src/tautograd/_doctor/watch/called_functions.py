"""The functions that a running function calls, with what their arguments stand for at this moment; read
in the source, nothing is run."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

from ..._user_code.owners import foreign
from ..._user_code.sites import Site, site_at
from .discarded_results import value_of
from .syntax import function_around, nodes_in


@dataclass
class Scope:
    """A function and what its names stand for: of a frame that is running, or of a call to come."""

    site: Site
    f_locals: dict[str, Any]
    f_globals: dict[str, Any]


def scope_of(frame: FrameType) -> Scope:
    """The function of a frame that is running."""
    return Scope(site_at(frame), frame.f_locals, frame.f_globals)


def called(scope: Scope) -> Iterator[Scope]:
    """The user's own functions that this one calls by a name or as a method."""
    function = function_around(scope.site)
    for node in nodes_in(function) if function is not None else ():
        if not isinstance(node, ast.Call):
            continue
        found, bound = _callee(node, scope)
        if found is None or foreign[found.__code__.co_filename]:
            continue
        code = found.__code__
        values = [*bound, *(value_of(argument, scope) for argument in node.args)]
        known = dict(zip(code.co_varnames[: code.co_argcount], values, strict=False))
        known.update({k.arg: value_of(k.value, scope) for k in node.keywords if k.arg})
        known.update(_closed_over(found))
        yield Scope(
            Site(code.co_filename, _last_line(code), code.co_name), known, found.__globals__
        )


def _callee(call: ast.Call, scope: Scope) -> tuple[FunctionType | None, list[Any]]:
    """The function that is called, and the object whose method it is."""
    bound: list[Any] = []
    if isinstance(call.func, ast.Attribute):
        owner = value_of(call.func.value, scope)
        made = inspect.getattr_static(type(owner), call.func.attr, None)
        bound = [owner]
    else:
        made = value_of(call.func, scope)
    while isinstance(inner := getattr(made, "__wrapped__", None), FunctionType):
        made = inner  # behind a decorator such as no_grad
    return (made if isinstance(made, FunctionType) else None), bound


def _closed_over(function: FunctionType) -> dict[str, Any]:
    known = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            known[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return known


def _last_line(code: CodeType) -> int:
    """A line of the body, where the first may be a decorator's."""
    return max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
