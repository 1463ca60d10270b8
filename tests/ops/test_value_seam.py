"""Does every operation that refuses values say so in one place (`_arrays/checks.py`)?

What an operation finds out by itself (`if (x < 0).any(): raise`) is lost where arrays keep their values to
themselves: a recorded program would go on with wrong numbers. So no `raise` in the library may hang on the content of
an array: this test follows, within each function, what was made by looking at values into the conditions of `raise`.
(Draws, in `_random`, are recorded as whole calls: a replay looks as they do.)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tautograd

SOURCE = Path(tautograd.__file__).parent
# Functions and methods that look at every element. (`item` and `tolist` need no watching: a recorder refuses them.)
LOOKING = {"any", "all", "min", "max", "sum", "allclose", "isfinite", "isnan", "argmax", "argmin"}


def looks(node: ast.AST, seen: set[str]) -> bool:
    """Whether an expression is made by looking at values."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in seen:
            return True
        if (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.func.attr in LOOKING
        ):
            return True
    return False


def raising(function: ast.AST) -> Iterator[ast.If]:
    """The conditions of a function that look at values, and under which it raises at once."""
    made: dict[str, int] = {}  # names, and the line from which on they say something of values
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and looks(node.value, {*made}):
            names = {
                n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)
            }
            made |= {name: min(node.lineno, made.get(name, node.lineno)) for name in names}
    for node in ast.walk(function):
        before = {name for name, line in made.items() if line < getattr(node, "lineno", 0)}
        if isinstance(node, ast.If) and looks(node.test, before):
            branches = [*node.body, *node.orelse]
            # A bare `raise` hands on what an array function raised, which a replay meets as well.
            if any(isinstance(part, ast.Raise) and part.exc is not None for part in branches):
                yield node


def found_in(text: str) -> list[tuple[str, int]]:
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    return sorted({(f.name, node.lineno) for f in functions for node in raising(f)})


@pytest.mark.parametrize("folder", ["_ops", "nn", "optim"])
def test_values_are_refused_in_one_place(folder: str) -> None:
    found = []
    for path in sorted((SOURCE / folder).rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        found += [f"{name}:{line} in {function}" for function, line in found_in(path.read_text())]
    assert not found, "state these by `_arrays.checks`:\n" + "\n".join(found)


def test_it_would_be_seen() -> None:
    """What the library said before there was one place for it."""
    planted = """
def division(other):
    zero = isinstance(other, np.ndarray) and not np.all(other)
    if zero:
        raise RuntimeError
def target(y, classes):
    if type(y) is np.ndarray and y.size and not (y.min() >= 0 and y.max() < classes):
        raise RuntimeError
def classes(target, n):
    low, high = target.min(), target.max()
    if low < 0 or high >= n:
        raise IndexError
def plain(x, n):
    if x.ndim != n or any(d < 0 for d in x.shape):
        raise RuntimeError
"""
    assert [name for name, _ in found_in(planted)] == ["classes", "division", "target"]
