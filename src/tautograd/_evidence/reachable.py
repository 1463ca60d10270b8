"""The part of a file that a function depends on, so that changes elsewhere in the file do not count.

Read from the file's text, without running it. Top-level code that is not a definition always counts,
since importing the file runs it; functions and classes count if they are named (by a name, an
attribute, a string) in what already counts. If that cannot be determined (the file is not Python, the
name is not in it), all of it counts.
"""

from __future__ import annotations

import ast

_DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef


def reachable_text(source: bytes, name: str) -> bytes:
    """The parts of a file's text that the definition of this name depends on."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    definitions: dict[str, list[ast.stmt]] = {}
    always: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, _DEFINITIONS):
            definitions.setdefault(statement.name, []).append(statement)
        else:
            always.append(statement)
    first = name.partition(".")[0]
    if first not in definitions:
        return source
    counted: set[str] = set()
    wanted = {first}
    for statement in always:
        wanted |= _named_in(statement)
    while found := [n for n in wanted if n in definitions and n not in counted]:
        for one in found:
            counted.add(one)
            for statement in definitions[one]:
                wanted |= _named_in(statement)
    kept = [
        statement
        for statement in tree.body
        if not isinstance(statement, _DEFINITIONS) or statement.name in counted
    ]
    return "\n".join(ast.dump(statement) for statement in kept).encode()


def _named_in(statement: ast.stmt) -> set[str]:
    """Every word in a statement that may name a definition."""
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found
