"""Terms that were overwritten, written twice, or made of a draw, mended where they are written: TG413, TG506, TG507."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .source import Source
from .writers import writes


@writes("TG413")
def draw_with_a_path(source: Source, finding: Any, line: int) -> Iterator[str]:
    """`mean + std * randn_like(std)` for `normal(mean, std)`, and `rsample` for `sample`."""
    for node in source.at(line):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "sample":
            yield source.replace((node.func, f"{source.segment(node.func.value)}.rsample"))
        elif node.func.attr == "normal" and len(node.args) >= 2:
            mean, std = (_in_a_product(source, a) for a in node.args[:2])
            engine = source.segment(node.func.value)
            noise = f"{engine}.randn_like({source.segment(node.args[0])})"
            yield source.replace((node, f"({mean} + {std} * {noise})"))


def _in_a_product(source: Source, node: ast.expr) -> str:
    text = source.segment(node)
    return (
        text
        if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Constant)
        else f"({text})"
    )


@writes("TG506")
def sum_of_the_losses(source: Source, finding: Any, line: int) -> Iterator[str]:
    """What was there before is added, if need be from 0 on."""
    statement = source.statement(line)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    name = source.segment(statement.targets[0])
    added = source.replace((statement.value, f"{name} + {source.segment(statement.value)}"))
    yield added
    for loop in source.around(line):
        if isinstance(loop, ast.For):
            changed = Source(added)
            head = changed.statement(loop.lineno)
            if head is not None:
                yield changed.insert_before(head, f"{name} = 0.0")


@writes("TG507")
def the_name_that_nobody_reads(source: Source, finding: Any, line: int) -> Iterator[str]:
    """In the second of two equal calls, a name that was made for this and is read nowhere."""
    statement = source.statement(line)
    if statement is None:
        return
    scope = source.function(line)
    names = [n for n in ast.walk(scope) if isinstance(n, ast.Name)]
    read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    unread = dict.fromkeys(n.id for n in names if isinstance(n.ctx, ast.Store) and n.id not in read)
    calls: dict[str, list[ast.Call]] = {}
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            calls.setdefault(source.segment(node), []).append(node)
    for same in calls.values():
        second = max(same, key=lambda call: (call.lineno, call.col_offset))
        for name in unread if len(same) > 1 else ():
            for given in reversed(second.args):
                if isinstance(given, ast.Name):
                    yield source.replace((given, name))
