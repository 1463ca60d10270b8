"""A program as its files: the script, and its own modules that it imports, parsed but not run.

A module belongs to the program if it lies beside the script or in a package below it. A name that a
file imports from another of them (`from .layers import nn`) refers to whatever it refers to there.
"""

from __future__ import annotations

import ast
import io
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tautograd._names.table import ENGINES

from .scopes import Scope, scope_of
from .uses import Use, uses_in

_DEEPEST = 300  # levels of a syntax tree; Python itself compiles hardly more
_LARGEST = 64 << 20  # characters of a file
_MANY = 2000  # files: programs are smaller, and checking a whole disk should be explicit


class CannotRead(Exception):
    """A file of the program cannot be read or is not Python."""


@dataclass
class File:
    """One file of the program."""

    path: Path
    name: str  # the module's dotted name, by which the program imports it
    tree: ast.Module
    scope: Scope

    @property
    def package(self) -> str:
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


class Program:
    """The files that a script leads to."""

    def __init__(self, script: Path, name: str = "__main__", root: Path | None = None) -> None:
        self.root = script.parent if root is None else root
        self.files: dict[str, File] = {}
        self.unread: list[tuple[Path, str]] = []
        self._waiting: deque[tuple[Path, str]] = deque()
        self._read(script, name, required=True)
        while self._waiting:
            self._read(*self._waiting.popleft())
        for file in self.files.values():
            self._follow_stars(file)
        for file in self.files.values():
            file.scope.bound = {
                name: path if path is None else self._outside(file, path)
                for name, path in file.scope.bound.items()
            }

    def _read(self, path: Path, name: str, required: bool = False) -> None:
        if name in self.files or len(self.files) >= _MANY:
            return
        try:
            with io.open_code(str(path)) as stream:  # once, from its beginning: it may be a pipe
                tree = ast.parse(stream.read(_LARGEST), str(path))
            if _depth(tree) > _DEEPEST:
                raise RecursionError(f"its code is nested more than {_DEEPEST} levels deep")
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if required:
                raise CannotRead(_said(path, error)) from error
            self.unread.append((path, _said(path, error)))
            return
        file = self.files[name] = File(path, name, tree, scope_of(tree, None))
        found = [each for module in _imported(tree, file.package) for each in self._find(module)]
        self._waiting.extendleft(reversed(found))  # in the order in which Python would load them

    def _find(self, module: str) -> Iterator[tuple[Path, str]]:
        """A module, and its parent packages, if they belong to the program."""
        steps = module.split(".")
        for length in range(1, len(steps) + 1):
            part = ".".join(steps[:length])
            place = self.root.joinpath(*steps[:length])
            for path in (place.with_suffix(".py"), place / "__init__.py"):
                if os.path.isfile(path):  # also False for a name that is too long
                    yield path, part
                    break

    def _follow_stars(self, file: File) -> None:
        """`from .common import *` binds the names that the program's module binds."""
        for module in file.scope.stars:
            other = self.files.get(_absolute(module, file.package))
            if other is None or other is file:
                continue
            for name, path in other.scope.bound.items():
                if not name.startswith("_"):
                    file.scope.bound.setdefault(name, path)

    def _outside(self, file: File, path: str, depth: int = 0) -> str | None:
        """What a path refers to after resolving the program's own modules."""
        path = _absolute(path, file.package)
        if depth > 8 or path.partition(".")[0] in ENGINES:
            return path
        steps = path.split(".")
        for length in range(len(steps) - 1, 0, -1):
            other = self.files.get(".".join(steps[:length]))
            if other is None:
                continue
            first, *rest = steps[length:]
            there = other.scope.bound.get(first)
            if there is None or there == path:
                return None
            found = self._outside(other, there, depth + 1)
            return None if found is None else ".".join((found, *rest))
        return path

    def uses(self) -> Iterator[tuple[Path, Use]]:
        for file in self.files.values():
            for use in uses_in(file.tree, file.scope):
                yield file.path, use


def _depth(tree: ast.AST) -> int:
    """The depth of a syntax tree."""
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [c for node in level for c in ast.iter_child_nodes(node)]
    return depth


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """The modules that a file imports, by full name; for `from x import y` also `x.y`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute("." * node.level + (node.module or ""), package)
            for alias in node.names:
                yield ".".join(filter(None, (module, alias.name)))


def _absolute(path: str, package: str) -> str:
    """A path with leading dots, resolved against its package."""
    rest = path.lstrip(".")
    level = len(path) - len(rest)
    if not level:
        return path
    steps = package.split(".") if package else []
    return ".".join(filter(None, (*steps[: len(steps) - level + 1], rest)))


def _said(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{path}:{error.lineno or 1}: not Python: {error.msg}"
    return f"{path}: {error.strerror if isinstance(error, OSError) else error}"
