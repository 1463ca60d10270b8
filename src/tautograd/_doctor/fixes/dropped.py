"""Losses that are dropped, and mixtures loaded into the wrong network, mended: TG412, TG317."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .models import _modules
from .source import Source
from .writers import writes


@writes("TG412")
def add_instead(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The statement that overwrites adds; what is given on is the sum; or the first is given a name."""
    first = source.statement(line)
    places = [finding.fix_site.line] if finding.fix_site is not None else []
    for statement in filter(None, map(source.statement, [*places, line])):
        if not isinstance(first, ast.Assign) or not isinstance(first.targets[0], ast.Name):
            return
        name = first.targets[0].id
        if isinstance(statement, ast.Assign) and statement is not first:
            value = source.segment(statement.value)
            if source.segment(statement.targets[0]) == name:
                yield source.replace((statement, f"{name} = {name} + {value}"))
        terms = {n.id for n in ast.walk(first.value) if isinstance(n, ast.Name)}
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in terms and statement is not first:
                yield source.replace((node, name))


@writes("TG317")
def load_into_the_copy(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The state goes into another module of the same function or object."""
    for call in (n for n in source.at(line) if isinstance(n, ast.Call)):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or getattr(call.func, "attr", "") != "load_state_dict":
            continue
        mine = source.segment(owner)
        others = [m for m in _modules(source, line) if m != mine]
        others += [
            source.segment(n)
            for n in ast.walk(source.tree)
            if isinstance(n, ast.Attribute) and source.segment(n.value) == "self"
        ]
        for other in dict.fromkeys(o for o in others if "target" in o or "copy" in o or "ema" in o):
            yield source.replace((owner, other))
