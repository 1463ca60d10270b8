"""A file of the user's as text and as a tree: changes are made to the text, where the tree says."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from ..._user_code.source_lines import is_regular_or_absent

_LARGEST = 4 << 20  # bytes of a file that is read


class Source:
    """The text of a file; each change gives the text of another."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.tree = ast.parse(text)

    @functools.cached_property
    def statements(self) -> list[ast.stmt]:
        """All of them, in the order of their lines; an outer one before those inside."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        return sorted(found, key=lambda s: (s.lineno, -(s.end_lineno or s.lineno)))

    def statement(self, line: int) -> ast.stmt | None:
        """The innermost statement that holds a line."""
        holding = [s for s in self.statements if s.lineno <= line <= (s.end_lineno or s.lineno)]
        return min(holding, key=lambda s: (s.end_lineno or s.lineno) - s.lineno, default=None)

    def function(self, line: int) -> ast.AST:
        """The innermost function around a line, or the module."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        around = [
            n for n in ast.walk(self.tree)
            if isinstance(n, kinds) and n.lineno <= line <= (n.end_lineno or n.lineno)
        ]  # fmt: skip
        return max(around, key=lambda n: n.lineno, default=self.tree)

    def around(self, line: int) -> list[ast.stmt]:
        """The compound statements around a line, the innermost first."""
        inner = self.statement(line)
        found = [
            s for s in self.statements
            if s is not inner and s.lineno <= line <= (s.end_lineno or s.lineno)
        ]  # fmt: skip
        return found[::-1]

    def calls(self, scope: ast.AST, method: str) -> list[ast.Call]:
        """Calls of a method (or a function) of this name, in the order of their lines."""
        found = [
            n for n in ast.walk(scope)
            if isinstance(n, ast.Call)
            and (
                (isinstance(n.func, ast.Attribute) and n.func.attr == method)
                or (isinstance(n.func, ast.Name) and n.func.id == method)
            )
        ]  # fmt: skip
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))

    def at(self, line: int) -> Iterator[ast.expr]:
        """The expressions of the statement that holds a line, the outer ones first."""
        statement = self.statement(line)
        if statement is not None:
            bodies = {
                id(n) for name in ("body", "orelse", "finalbody") for s in getattr(statement, name, [])
                for n in ast.walk(s)
            }  # fmt: skip
            yield from (
                n for n in ast.walk(statement) if isinstance(n, ast.expr) and id(n) not in bodies
            )

    def segment(self, node: ast.AST) -> str:
        """What is written there."""
        return ast.get_source_segment(self.text, node) or ""

    # --- changes -------------------------------------------------------------------------------

    def _offset(self, line: int, column: int) -> int:
        """Where a place of the tree is in the text: columns count bytes."""
        before = sum(map(len, self.lines[: line - 1]))
        return before + len(self.lines[line - 1].encode()[:column].decode())

    def replace(self, *changes: tuple[ast.AST, str]) -> str:
        """Other text in the place of nodes."""
        text = self.text
        spans = [
            (
                self._offset(n.lineno, n.col_offset),  # type: ignore[attr-defined]
                self._offset(n.end_lineno, n.end_col_offset),  # type: ignore[attr-defined]
                new,
            )
            for n, new in changes
        ]
        for start, end, new in sorted(spans, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def indent(self, statement: ast.stmt) -> str:
        line = self.lines[statement.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def insert_before(self, statement: ast.stmt, *new: str) -> str:
        return self._insert(statement.lineno - 1, self.indent(statement), new)

    def insert_after(self, statement: ast.stmt, *new: str) -> str:
        return self._insert(statement.end_lineno or statement.lineno, self.indent(statement), new)

    def insert_first(self, block: list[ast.stmt], *new: str) -> str:
        """As the first statements of a block."""
        return self.insert_before(block[0], *new)

    def _insert(self, at: int, indent: str, new: tuple[str, ...]) -> str:
        lines = list(self.lines)
        if at and not lines[at - 1].endswith("\n"):
            lines[at - 1] += "\n"
        lines[at:at] = [f"{indent}{line}\n" for line in new]
        return "".join(lines)

    def _left_by(self, statement: ast.stmt) -> list[str]:
        """The lines that take a statement's place: a block that had only this one passes."""
        only = any(
            [statement] == getattr(s, name, None)
            for s in self.statements for name in ("body", "orelse", "finalbody")
        )  # fmt: skip
        return [f"{self.indent(statement)}pass\n"] if only else []

    def delete(self, statement: ast.stmt) -> str:
        """Without a statement; a block that had only this one passes."""
        lines = list(self.lines)
        first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
        lines[first:last] = self._left_by(statement)
        return "".join(lines)

    def moved(
        self, statement: ast.stmt, before: ast.stmt | None = None, after: ast.stmt | None = None
    ) -> str:
        """A statement in another place, with the indent of what is there."""
        there = before or after
        assert there is not None
        own = self.lines[statement.lineno - 1 : statement.end_lineno or statement.lineno]
        strip = len(self.indent(statement))
        text = [line[strip:].rstrip("\n") for line in own]
        at = there.lineno - 1 if before is not None else there.end_lineno or there.lineno
        lines = list(self.lines)
        first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
        new = [f"{self.indent(there)}{line}\n" for line in text]
        gone = self._left_by(statement)
        if at <= first:
            lines[first:last] = gone
            lines[at:at] = new
        else:
            lines[at:at] = new
            lines[first:last] = gone
        return "".join(lines)

    def unwrapped(self, block: ast.With) -> str:
        """The body of a `with`, without it."""
        lines = list(self.lines)
        first, last = block.body[0], block.body[-1]
        shift = len(self.indent(first)) - len(self.indent(block))
        body = lines[first.lineno - 1 : last.end_lineno or last.lineno]
        lines[block.lineno - 1 : block.end_lineno or block.lineno] = [
            line[shift:] if line[:shift].isspace() else line for line in body
        ]
        return "".join(lines)

    def importing(self, text: str, name: str) -> str:
        """The text, with `import name` where other imports are, if it is not there."""
        if any(
            isinstance(n, ast.Import) and name in (a.name for a in n.names)
            for n in ast.walk(self.tree)
        ):
            return text
        changed = Source(text)
        future = [
            s for s in changed.tree.body
            if isinstance(s, ast.ImportFrom) and s.module == "__future__"
        ]  # fmt: skip
        doc = changed.tree.body[:1] if ast.get_docstring(changed.tree) is not None else []
        after = [*doc, *future]
        if after:
            return changed.insert_after(after[-1], f"import {name}")
        return f"import {name}\n{text}"


@functools.lru_cache(maxsize=32)
def read_source(file: str) -> Source | None:
    """A file of Python; None for what is none."""
    if not is_regular_or_absent(file):
        return None
    try:
        data = Path(file).read_bytes()
        return Source(data.decode("utf-8")) if len(data) <= _LARGEST else None
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None
