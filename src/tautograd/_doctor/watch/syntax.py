"""The syntax of the files that a program is made of, parsed once and walked once.

Rules ask at every step which function is around a line; a walk through a whole file each time would cost more
than the step.
"""

from __future__ import annotations

import ast
import functools

from ..._user_code.sites import Site
from ..._user_code.source_lines import lines_of

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module

_MANY = 64  # files whose syntax is kept
_trees: dict[str, tuple[list[str], ast.Module | None]] = {}


def tree_of(file: str) -> ast.Module | None:
    """A file's syntax, if there is one to be had."""
    lines = lines_of(file)  # the same list until the file changes, if there is a file
    known = _trees.get(file)
    if known is not None and (known[0] is lines or (not known[0] and not lines)):
        return known[1]
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        tree = None
    while len(_trees) >= _MANY:
        _trees.pop(next(iter(_trees)), None)
    _trees[file] = lines, tree
    return tree


@functools.lru_cache(maxsize=1024)
def nodes_in(node: ast.AST) -> tuple[ast.AST, ...]:
    """The node and all below it, as `ast.walk` finds them."""
    return tuple(ast.walk(node))


@functools.lru_cache(maxsize=_MANY)
def _functions(tree: ast.Module) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    return tuple(n for n in nodes_in(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def function_around(site: Site) -> Function | None:
    """The innermost function around a line."""
    tree = tree_of(site.file)
    found: Function | None = tree
    for node in _functions(tree) if tree is not None else ():
        if holds(node, site.line) and (found is tree or node.lineno >= getattr(found, "lineno", 0)):
            found = node
    return found


def holds(node: ast.AST, line: int) -> bool:
    """Whether a line is one of a node's."""
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return first is not None and last is not None and first <= line <= last
