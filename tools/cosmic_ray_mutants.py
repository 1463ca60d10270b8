"""Mutants made by cosmic-ray, an independent mutation tester, in given functions of a source.

`pip install cosmic-ray` first. All of its operators that need no settings are used: each arithmetic,
comparison and unary operator replaced by every other one, numbers changed, loops that do not run,
keywords exchanged.
"""

from __future__ import annotations

import ast
import importlib
import random
from collections.abc import Iterator, Sequence
from typing import Any


def outside_mutants(
    source: str, functions: Sequence[ast.FunctionDef], most: int
) -> Iterator[tuple[str, ast.Module]]:
    """Mutated programs, at most this many, drawn with a fixed seed; each with a description of the change."""
    mutating: Any = importlib.import_module("cosmic_ray.mutating")
    places = [place for place in _places(source) if _inside(place[2], functions)]
    random.Random(0).shuffle(places)
    for operator, occurrence, line in places[:most]:
        changed = mutating.mutate_code(source, operator, occurrence)
        try:
            tree = ast.parse(changed)
        except SyntaxError:  # not all that it makes is valid Python
            continue
        yield f"line {line}: {type(operator).__name__.removeprefix('Operator')}", tree


def _places(source: str) -> list[tuple[Any, int, int]]:
    """Each operator with each of its occurrences, and the line."""
    plugins: Any = importlib.import_module("cosmic_ray.plugins")
    trees: Any = importlib.import_module("cosmic_ray.ast")
    tree = trees.get_ast(source)
    found = []
    for name in sorted(plugins.operator_names()):
        kind = plugins.get_operator(name)
        if kind.arguments():
            continue
        operator = kind()
        positions = [
            position
            for node in trees.ast_nodes(tree)
            for position in operator.mutation_positions(node)
        ]
        found += [(operator, number, start[0]) for number, (start, _) in enumerate(positions)]
    return found


def _inside(line: int, functions: Sequence[ast.FunctionDef]) -> bool:
    return any(f.lineno <= line <= (f.end_lineno or f.lineno) for f in functions)
