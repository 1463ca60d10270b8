"""What names in a file refer to: `F` to `torch.nn.functional`, after `import torch.nn.functional as F`.

A name is followed through imports, through assignments of one dotted path to one name, and from inner
scopes into outer ones, as Python resolves names. A name bound by anything else in its scope (an
argument, a loop, a second assignment) refers to something unknown, and nothing is reported about it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)


@dataclass
class Scope:
    """The names that one scope binds: to a dotted path, or (None) to something unknown."""

    bound: dict[str, str | None] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)  # modules of which everything was imported
    outer: Scope | None = None
    is_class: bool = False
    declared: set[str] = field(default_factory=set)  # names that are global or nonlocal here

    def lookup(self, name: str) -> str | None:
        """The dotted path that a name refers to here, if known."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound and (scope is self or not scope.is_class):
                return scope.bound[name]
            scope = scope.outer
        return None

    def bind(self, name: str, path: str | None) -> None:
        """Bind a name to a path; a name with two different paths is unknown."""
        self.bound[name] = path if self.bound.get(name, path) == path else None


def dotted(node: ast.expr) -> tuple[ast.Name, list[str]] | None:
    """A chain of attributes as its first name and the rest; None for anything else."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return (node, steps[::-1]) if isinstance(node, ast.Name) else None


def path_of(node: ast.expr, scope: Scope) -> str | None:
    """The dotted path of an expression, if it is a chain that begins with a known name."""
    chain = dotted(node)
    if chain is None:
        return None
    start = scope.lookup(chain[0].id)
    return None if start is None else ".".join((start, *chain[1]))


def scope_of(node: ast.AST, outer: Scope | None) -> Scope:
    """The scope of a module, class, function or comprehension, with its bindings."""
    scope = Scope(outer=outer, is_class=isinstance(node, ast.ClassDef))
    for argument in _arguments(node):
        scope.bind(argument, None)
    later: list[tuple[ast.Name, ast.expr]] = []
    followed: set[int] = set()
    for statement in _of_this_scope(node):
        _bind(statement, scope, later, followed)
    for target, value in later:  # once all imports of the scope are known
        scope.bind(target.id, path_of(value, scope))
    return scope


def _arguments(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        a = node.args
        for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
            if argument is not None:
                yield argument.arg


def _of_this_scope(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes inside, without those of inner scopes."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, SCOPES):
            yield from _of_this_scope(child)


def _bind(
    node: ast.AST, scope: Scope, later: list[tuple[ast.Name, ast.expr]], followed: set[int]
) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.partition(".")[0]
            scope.bind(alias.asname or first, alias.name if alias.asname else first)
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                scope.stars.append(module)
            else:
                joint = "" if module.endswith(".") else "."
                scope.bind(alias.asname or alias.name, f"{module}{joint}{alias.name}")
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        scope.declared.update(node.names)
    elif isinstance(node, ast.Assign):
        if _assign(node.targets, node.value, later):
            followed.add(id(node.targets[0]))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        if id(node) not in followed and node.id not in scope.declared:
            scope.bind(node.id, None)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        scope.bind(node.name, None)
    elif isinstance(node, ast.ExceptHandler):
        scope.bind(node.name or "", None)


def _assign(
    targets: list[ast.expr], value: ast.expr, later: list[tuple[ast.Name, ast.expr]]
) -> bool:
    """`Tensor = torch.Tensor` binds a name to a path. Two paths for one name make it unknown."""
    if len(targets) == 1 and isinstance(targets[0], ast.Name) and dotted(value) is not None:
        later.append((targets[0], value))
        return True
    return False
