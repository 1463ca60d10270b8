"""What the source says of a scheduler's or an optimizer's steps: whether anything steps what a line makes."""

from __future__ import annotations

import ast
from typing import Any

from ...._user_code.sites import Site
from ..graph.loss_roots import tree_of


def is_never_stepped(site: Site) -> bool:
    """Whether the source has no step() for what is made in a line, and gives it to nobody."""
    tree = tree_of(site.file)
    if tree is None:
        return False
    scope: ast.AST = tree
    name, key = "", None
    for node in ast.walk(tree):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not first <= site.line <= last:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            scope = node  # the walk goes from the outside in
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            key = _key_of(node.value, site.line)
            if isinstance(target, ast.Attribute):
                name, scope = target.attr, tree
            elif isinstance(target, ast.Name):
                name = target.id
    return bool(name) and _only_read(scope, name, key)


def _key_of(value: ast.expr, line: int) -> Any:
    """Under which key of a dictionary display a line stands; None if it is no part of one."""
    for key, part in (
        zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ()
    ):
        if part.lineno <= line <= (part.end_lineno or part.lineno) and isinstance(
            key, ast.Constant
        ):
            return key.value
    return None


def _only_read(scope: ast.AST, name: str, key: Any = None) -> bool:
    """Whether all that is done to a name, or to what it holds under a key, is to set it and to read
    attributes other than `step`."""
    parents = {id(child): node for node in ast.walk(scope) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(scope):
        mine = (isinstance(node, ast.Name) and node.id == name) or (
            isinstance(node, ast.Attribute) and node.attr == name
        )
        if not mine or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        parent = parents.get(id(node))
        if key is not None:
            if not isinstance(parent, ast.Subscript) or not isinstance(parent.slice, ast.Constant):
                return False  # all of the dictionary goes somewhere
            if parent.slice.value != key:
                continue
            parent = parents.get(id(parent))
        if not isinstance(parent, ast.Attribute) or parent.attr == "step":
            return False
    return True


def is_in_turn_with(waiting: Site, stepping: Site | None) -> bool:
    """Whether what is made in a line is stepped only in the other branch of the `if` of a step."""
    if stepping is None or stepping.file != waiting.file:
        return False
    tree, name = tree_of(waiting.file), _name_made(waiting)
    for node in ast.walk(tree) if tree is not None and name else ():
        if not isinstance(node, ast.If):
            continue
        for mine, other in ((node.body, node.orelse), (node.orelse, node.body)):
            steps = {ast.unparse(call.func) for call in _calls(other)}
            if (
                any(call.lineno == stepping.line for call in _calls(mine))
                and f"{name}.step" in steps
            ):
                return True
    return False


def _calls(statements: list[ast.stmt]) -> list[ast.Call]:
    return [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Call)]


def _name_made(site: Site) -> str:
    """What a line gives a value to: `x`, `self.x`."""
    tree = tree_of(site.file)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        holds = node.lineno <= site.line <= (node.end_lineno or node.lineno)
        if holds and isinstance(node.targets[0], ast.Name | ast.Attribute):
            return ast.unparse(node.targets[0])
    return ""
