"""The uses of PyTorch's names in one file, each with its line, and whether the program can do without it.

A use is *guarded* if the program tests first: inside a `try` that catches the error, under `if
hasattr(torch, "compile")`, in `getattr(torch, "compile", None)`. It is then reported separately, since
the program runs without it. What only a type checker reads (`if TYPE_CHECKING`) is not a use.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tautograd._names.table import ENGINES

from .scopes import SCOPES, Scope, path_of, scope_of

_CAUGHT = frozenset(
    ("AttributeError", "BaseException", "Exception", "ImportError", "ModuleNotFoundError")
)


@dataclass(frozen=True)
class Use:
    """A dotted path of PyTorch's that a program names."""

    path: str
    line: int
    column: int
    guarded: bool = False
    is_method: bool = False  # of an object that may be a tensor


class Uses(ast.NodeVisitor):
    """Visits a file and collects its uses; the modules it imports are in `imported`."""

    def __init__(self, module_scope: Scope) -> None:
        self.scope = module_scope
        self.guarded = 0
        self.found: list[Use] = []

    def note(self, path: str | None, node: ast.AST, guarded: bool = False) -> None:
        if path is not None and path.partition(".")[0] in ENGINES:
            place = getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1
            self.found.append(Use(path, *place, guarded or self.guarded > 0))

    # --- names -----------------------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = path_of(node, self.scope)
        if path is None:
            if isinstance(node.ctx, ast.Load):
                place = node.end_lineno or node.lineno, node.col_offset + 1
                self.found.append(Use(node.attr, *place, self.guarded > 0, is_method=True))
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Load):
            self.note(path, node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.note(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0 and node.module:
            for alias in node.names:
                star = alias.name == "*"
                self.note(node.module if star else f"{node.module}.{alias.name}", node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name in ("getattr", "hasattr") and len(node.args) >= 2:
            path, step = path_of(node.args[0], self.scope), _text(node.args[1])
            if path and step and name == "getattr":
                self.note(f"{path}.{step}", node, guarded=len(node.args) > 2)
        elif _last_name(node.func) == "import_module" and node.args:
            self.note(_text(node.args[0]), node)
        self.generic_visit(node)

    # --- scopes ----------------------------------------------------------------------------------

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, SCOPES):
            super().generic_visit(node)
            return
        before, self.scope = self.scope, scope_of(node, self.scope)
        super().generic_visit(node)
        self.scope = before

    # --- guards ----------------------------------------------------------------------------------

    def visit_Try(self, node: ast.Try) -> None:
        caught = any(_catches(handler) for handler in node.handlers)
        self.guarded += caught
        self._visit_all(node.body)
        self.guarded -= caught
        self._visit_all([*node.handlers, *node.orelse, *node.finalbody])

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        if _last_name(node.test) != "TYPE_CHECKING":
            asked = _asks_first(node.test)
            self.guarded += asked
            self._visit_all(node.body)
            self.guarded -= asked
        self._visit_all(node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        asked = _asks_first(node.test)
        self.guarded += asked
        self.visit(node.body)
        self.guarded -= asked
        self.visit(node.orelse)

    def _visit_all(self, nodes: list[ast.stmt] | list[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches the error that a missing name raises."""
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(_last_name(kind) in _CAUGHT for kind in kinds)


def _asks_first(test: ast.expr) -> bool:
    """Whether a condition tests for existence."""
    return any(
        isinstance(node, ast.Call) and _last_name(node.func) in ("hasattr", "find_spec")
        for node in ast.walk(test)
    )


def uses_in(tree: ast.Module, scope: Scope) -> Iterator[Use]:
    """The uses in a file, in order."""
    visitor = Uses(scope)
    for statement in tree.body:
        visitor.visit(statement)
    yield from visitor.found
