"""The part of a file that a function depends on: so that a change elsewhere in the file is none of it.

Read from the file's text, without running it. What stands at the top level and is no definition counts always,
since importing the file runs it; of functions and classes those count that are named (by a name, an attribute, a text)
in what counts already. Where that cannot be told (the file is no Python, the name is not in it), all of it counts.
"""

from __future__ import annotations

import ast

_DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef


def reachable_text(source: bytes, name: str) -> bytes:
    """What of a file's text the definition of this name depends on."""
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
    """Every word in a statement that could be the name of a definition."""
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found
