"""What a source file defines under a name, read from its text: nothing is imported.

A name is defined if the file binds it once, by `def`, `class`, a lambda or an instance of one of its
own classes. Imported names are not its own; a name bound twice is ambiguous.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tautograd._stand_ins.silence import without_warnings

_Scope = ast.Module | ast.ClassDef
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class NotDefined(Exception):
    """The file does not define the name; the message continues after 'the file ...'."""


@dataclass(frozen=True)
class Definition:
    """A thing that a file defines."""

    name: str
    """Dotted, from the top level of the file."""
    kind: str
    """function, class, lambda, instance (of a class of the file) or value (anything else)."""
    line: int
    """The first line, decorators included."""
    of: Definition | None = None
    """The class of an instance."""
    needs: int = 0
    """Required arguments of a function."""
    decorated: bool = False
    """Whether the name is bound to the result of a decorator."""
    body: tuple[int, int, int, int] | None = None
    """The range of a lambda's expression: first line and column, last line and column."""
    methods: tuple[Definition, ...] = ()
    """The undecorated functions of a class."""


def parsed(source: bytes) -> ast.Module:
    """The syntax tree of a source file."""
    try:
        with without_warnings:  # an escape in a string, for example: not ours to report
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotDefined(f"is no Python source: {type(error).__name__}") from None


def definition_in(tree: ast.Module, name: str, *, values: bool = False) -> Definition:
    """What a file defines under a dotted name; with `values`, a name bound to any expression counts."""
    scope: _Scope = tree
    steps = name.split(".")
    if not all(map(str.isidentifier, steps)):
        raise NotDefined("can define nothing of that name")
    for number, step in enumerate(steps, 1):
        node = _only_binding(scope, step, tree)
        if number == len(steps):
            if scope is not tree and _is_descriptor(node):
                raise NotDefined(f"makes a descriptor of '{name}'")
            return _described(node, name, tree, values)
        if not isinstance(node, ast.ClassDef):
            raise NotDefined(f"defines no class '{step}' for '{name}' to be in")
        scope = node
    raise NotDefined("defines nothing without a name")


def binds(scope: _Scope, name: str) -> bool:
    """Whether a scope binds a name at all, in any way."""
    return any(True for _ in _bindings(scope, name))


def attribute_in(tree: ast.Module, name: str, attribute: str) -> ast.expr | None:
    """The last value that `name.attribute = ...` assigns at the top level of a file."""
    found = None
    for node in _of_scope(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if (
                isinstance(target, ast.Attribute)
                and target.attr == attribute
                and _dotted(target.value) == name
            ):
                found = node.value
    return found


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as text; empty for any other expression."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return ".".join(reversed([*steps, node.id])) if isinstance(node, ast.Name) else ""


# ---- bindings ------------------------------------------------------------------------------------


def _only_binding(scope: _Scope, name: str, tree: ast.Module) -> ast.AST:
    found = list(_bindings(scope, name))
    if scope is tree:
        found += [n for n in ast.walk(tree) if isinstance(n, ast.Global) and name in n.names]
    if not found:
        raise NotDefined(f"does not define '{name}'")
    if len(found) > 1 or _is_private_of_a_class(name, tree):
        raise NotDefined(f"binds '{name}' more than once, so its text does not say what it is")
    if isinstance(found[0], (ast.Import, ast.ImportFrom)):
        raise NotDefined(f"does not define '{name}' but imports it")
    return found[0]


def _bindings(scope: _Scope, name: str) -> Iterator[ast.AST]:
    """The statements and names by which a scope binds (or deletes) a name."""
    for node in _of_scope(scope):
        if isinstance(node, _DEFINES):
            if node.name == name:
                yield node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if (alias.asname or alias.name.partition(".")[0]) == name:
                    yield node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            if _is_name(node, name):
                yield node
        elif isinstance(node, ast.Name):
            if node.id == name and not isinstance(node.ctx, ast.Load):
                yield node
        elif name in _captured(node):
            yield node


def _is_name(node: ast.Assign | ast.AnnAssign, name: str) -> bool:
    """Whether an assignment has one target, and it is this name."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name


def _captured(node: ast.AST) -> list[str | None]:
    """Names that a node binds by a plain string: `except E as name`, and patterns of `match`."""
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name]
    return [node.rest] if isinstance(node, ast.MatchMapping) else []


def _of_scope(scope: _Scope) -> Iterator[ast.AST]:
    """The nodes of a scope, in order: descends into `if`, `try` and loops, not into functions and classes."""
    waiting: list[ast.AST] = list(reversed(scope.body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            inner: list[ast.AST] = [node.value]  # its single target is handled with it
            if not isinstance(node.targets[0], ast.Name):
                inner.append(node.targets[0])
        elif isinstance(node, ast.AnnAssign):
            inner = [node.annotation, *([node.value] if node.value is not None else [])]
            if not isinstance(node.target, ast.Name):
                inner.append(node.target)
        elif isinstance(node, (*_DEFINES, ast.Lambda)):
            inner = _outside(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        else:
            inner = list(ast.iter_child_nodes(node))
        waiting += reversed(inner)


def _outside(node: ast.AST) -> list[ast.AST]:
    """The parts of a function, class or lambda that the enclosing scope evaluates: all but its body."""
    parts: list[ast.AST] = [*getattr(node, "decorator_list", ())]
    if isinstance(node, ast.ClassDef):
        return [*parts, *node.bases, *node.keywords]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        returns = getattr(node, "returns", None)
        parts += [node.args, *([returns] if returns is not None else [])]
    return parts


def _is_private_of_a_class(name: str, tree: ast.Module) -> bool:
    """Whether a file contains `__x` for the name `_Class__x`: inside a class the two are the same."""
    if not name.startswith("_") or "__" not in name[1:]:
        return False
    said = {
        text
        for node in ast.walk(tree)
        for _, value in ast.iter_fields(node)
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str) and text.startswith("__") and not text.endswith("__")
    }
    return any(name != text and name.endswith(text) for text in said)


# ---- what is bound -------------------------------------------------------------------------------


def _described(node: ast.AST, name: str, tree: ast.Module, values: bool) -> Definition:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        line = min([node.lineno, *(part.lineno for part in node.decorator_list)])
        if isinstance(node, ast.ClassDef):
            own = [n for n in node.body if isinstance(n, ast.FunctionDef) and not _is_descriptor(n)]
            methods = (_described(n, f"{name}.{n.name}", tree, values) for n in own)
            return Definition(name, "class", line, methods=tuple(methods))
        return Definition(
            name, "function", line, needs=_needed(node.args), decorated=bool(node.decorator_list)
        )
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if isinstance(value, ast.Lambda):
        return Definition(
            name, "lambda", value.lineno, needs=_needed(value.args), body=_place(value.body)
        )
    made_of = _own_class(value, tree)
    if made_of is not None:
        return Definition(name, "instance", value.lineno if value else 0, of=made_of)
    if values and value is not None and not isinstance(value, (ast.Name, ast.Attribute)):
        return Definition(name, "value", value.lineno)
    raise NotDefined(f"binds '{name}' to something that it does not define")


def _is_descriptor(node: ast.AST) -> bool:
    """Whether a decorator may turn a method into something that runs code on lookup."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(
        not (isinstance(part, ast.Name) and part.id in ("staticmethod", "classmethod"))
        for part in decorators
    )


def _place(node: ast.expr) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _needed(arguments: ast.arguments) -> int:
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional + sum(default is None for default in arguments.kw_defaults)


def _own_class(value: ast.expr | None, tree: ast.Module) -> Definition | None:
    """The class in the file that an expression instantiates: `Net(...)`."""
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name)):
        return None
    node = _only_binding(tree, value.func.id, tree) if binds(tree, value.func.id) else None
    return _described(node, value.func.id, tree, False) if isinstance(node, ast.ClassDef) else None
