"""Finds lines for nodes that do not know theirs from the source: the statement that assigned their
variable.

PyTorch's nodes know the line that recorded them only in anomaly mode. Without it, a variable that is
assigned once leads from its node to its line, and from there to the operations in the same expression.
Ambiguous nodes get no line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..._user_code.owners import Owner, owners
from ..._user_code.sites import Site
from ..._verify.locate.leaving import edge_of
from ..._verify.subject.engines import is_tensor
from ..page.graph import operation_of
from .names import variables_of
from .python_flow import assignments, function_of

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Mult: "mul", ast.Add: "add", ast.Sub: "sub", ast.Div: "div", ast.Pow: "pow",
    ast.MatMult: "mm", ast.USub: "neg",
}  # fmt: skip
_ALIKE = {"mv": "mm", "bmm": "mm", "dot": "mm", "rsub": "sub", "addmm": "linear", "t": "linear"}


def assigned_lines(frame: FrameType | None, order: list[Any]) -> dict[int, Site]:
    """Lines by id of a node; `order` has the nodes of a graph, later ones first."""
    found: dict[int, Site] = {}
    while frame is not None:
        if owners[frame.f_code.co_filename] is Owner.USERS:
            for key, site in _in_frame(frame, order):
                found.setdefault(key, site)
        frame = frame.f_back
    return found


def _in_frame(frame: FrameType, order: list[Any]) -> Iterator[tuple[int, Site]]:
    function = function_of(frame)
    if function is None:
        return
    known = {id(node): node for node in order}
    made: dict[int, ast.stmt] = {}
    for name, value in variables_of(frame).items():
        if not is_tensor(value) or (edge := edge_of(value)) is None or id(edge[0]) not in known:
            continue
        lines = assignments(function, name)
        if len(lines) == 1:
            made[id(edge[0])] = lines[0]
    for key, statement in made.items():
        site = Site(frame.f_code.co_filename, statement.lineno, frame.f_code.co_name)
        yield key, site
        words = set(_operations(statement))
        pending = [known[key]]
        while pending:
            for following, _ in pending.pop().next_functions:
                if following is None or id(following) not in known or id(following) in made:
                    continue
                operation = operation_of(str(following.name()))
                if _ALIKE.get(operation, operation) in words or operation in words:
                    yield id(following), site
                    pending.append(following)


def _operations(statement: ast.stmt) -> Iterator[str]:
    """The tensor operations in a statement, by node name."""
    for part in ast.walk(statement):
        if type(part) in _OPERATORS:
            yield _OPERATORS[type(part)]
        elif isinstance(part, ast.Call):
            called = part.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            yield name.strip("_")
