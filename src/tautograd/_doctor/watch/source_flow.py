"""Following a value through the names of a function's source, where it cannot be followed as a tensor.

A number that left the graph with `item()` comes back, perhaps, by way of a few assignments. Which
names it can be in is read from the syntax; that is only used together with what was seen to happen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..._user_code.sites import Site
from .syntax import Function, function_around, holds, nodes_in

_FILLS = frozenset(("append", "extend", "insert", "add", "update", "setdefault"))
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Delete, ast.Assert)


def _statement(function: Function, line: int) -> ast.stmt | None:
    """The innermost statement around a line; None if several share it."""
    inside = [n for n in nodes_in(function) if isinstance(n, ast.stmt) and holds(n, line)]
    if sum(isinstance(n, _SIMPLE) for n in inside) > 1:
        return None
    return min((n for n in inside if n is not function), key=_length, default=None)


def _length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno


def _text(node: ast.expr) -> str | None:
    """The name of a place: `x`, `self.x`; of `x[0]` and `x.y[0]` what is before the bracket."""
    while isinstance(node, ast.Subscript | ast.Starred):
        node = node.value
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node)
    return None


def _places(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _places(part)
    elif (name := _text(target)) is not None:
        yield name


def _written(statement: ast.stmt) -> set[str]:
    """The names that a statement gives values to."""
    found: set[str] = set()
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            found.update(_places(target))
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign | ast.For):
        found.update(_places(statement.target))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr in _FILLS:
            found.update(_places(function.value))
    for node in ast.walk(statement) if isinstance(statement, _SIMPLE) else ():
        if isinstance(node, ast.NamedExpr):
            found.update(_places(node.target))
    return found


def _reads(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement uses one of these names."""
    if isinstance(statement, ast.For):
        parts: list[ast.AST] = [statement.iter]
    elif isinstance(statement, ast.If | ast.While):
        parts = [statement.test]
    elif isinstance(statement, ast.With):
        parts = [item.context_expr for item in statement.items]
    elif isinstance(statement, _SIMPLE):
        parts = [statement]
    else:
        return False
    for part in parts:
        for node in ast.walk(part):
            if not isinstance(node, ast.Name | ast.Attribute):
                continue
            used = isinstance(node.ctx, ast.Load) or isinstance(statement, ast.AugAssign)
            if used and ast.unparse(node) in names:
                return True
    return False


def flows(left: list[Site], entered: list[Site]) -> bool:
    """Whether a value of the first line may be in the last one, by the names of the source.

    Both are given by the lines that led there, innermost first.
    """
    start: list[Site] = list(left)
    while start:
        function = function_around(start[0])
        statement = _statement(function, start[0].line) if function is not None else None
        if function is None or statement is None:
            return False
        for site in entered:
            if site.file == start[0].file and function_around(site) is function:
                return _leads(function, statement, site.line)
        if not _is_returned(function, statement):
            return False
        start = start[1:]  # it was returned: go on where the function was called
    return False


def assigned(stack: list[Site]) -> tuple[str, Site] | None:
    """The name that a value gets where it was made, or where it was returned to, and that line; the
    lines that led to it are given innermost first."""
    for site in stack:
        function = function_around(site)
        statement = _statement(function, site.line) if function is not None else None
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name | ast.Attribute):
                return ast.unparse(target), site
        if not isinstance(statement, ast.Return):
            return None
    return None


def _is_returned(function: Function, statement: ast.stmt) -> bool:
    """Whether a function may return what a statement makes."""
    if isinstance(statement, ast.Return):
        return True
    ends = [node.lineno for node in nodes_in(function) if isinstance(node, ast.Return)]
    return any(_leads(function, statement, line) for line in ends)


def _leads(function: Function, statement: ast.stmt, line: int) -> bool:
    end = _statement(function, line)
    if end is None:
        return False
    if end is statement:
        return True
    names = _written(statement)
    body = [node for node in nodes_in(function) if isinstance(node, ast.stmt)]
    while names:
        if _reads(end, names):
            return True
        more = {n for s in body if s is not function and _reads(s, names) for n in _written(s)}
        if more <= names:
            return False
        names |= more
    return False


def is_conditional(stack: list[Site]) -> bool:
    """Whether a line is run under a condition that its author set: then it may be meant."""
    for depth, site in enumerate(stack):
        function = function_around(site)
        if function is None:
            continue
        for node in nodes_in(function):
            if not holds(node, site.line):
                continue
            asks = isinstance(node, ast.If) and not any(
                holds(part, site.line) for part in (*node.body, *node.orelse)
            )
            if depth == 0 and isinstance(node, ast.If | ast.IfExp) and not asks:
                return True
            if isinstance(node, ast.With) and any(_is_switch(i.context_expr) for i in node.items):
                return True
    return False


def _is_switch(expression: ast.expr) -> bool:
    """`torch.set_grad_enabled(flag)`, or one context or another."""
    if isinstance(expression, ast.IfExp):
        return True
    if not isinstance(expression, ast.Call) or not expression.args:
        return False
    name = _text(expression.func) or ""
    return name.endswith("set_grad_enabled") and not isinstance(expression.args[0], ast.Constant)
