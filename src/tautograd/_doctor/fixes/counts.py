"""Targets, weights, counts and statistics, mended where they are written: TG318, TG319, TG508, TG509, TG609."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .source import Source
from .writers import writes


@writes("TG318")
def count_that_is_kept(source: Source, finding: Any, line: int) -> Iterator[str]:
    """`step = state["step"] = ...`, where the sum was only read."""
    statement = source.statement(line)
    if isinstance(statement, ast.Assign):
        for node in ast.walk(statement.value):
            is_count = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
            if is_count and node.slice.value == "step":
                value = source.segment(statement.value)
                yield source.replace((statement.value, f"{source.segment(node)} = {value}"))


@writes("TG319")
def no_decay(source: Source, finding: Any, line: int) -> Iterator[str]:
    for call in (n for n in ast.walk(source.tree) if isinstance(n, ast.Call)):
        for keyword in call.keywords:
            if keyword.arg == "weight_decay":
                yield source.replace((keyword.value, "0.0"))


@writes("TG508")
def target_in_its_range(source: Source, finding: Any, line: int) -> Iterator[str]:
    """1 and -1 for 1 and 0, or the reverse."""
    to_signs = finding.figures.get("least") == 0
    for call in source.at(line):
        if isinstance(call, ast.Call) and len(call.args) >= 2:
            for target in call.args[:0:-1]:
                text = source.segment(target)
                inner = text if isinstance(target, ast.Name | ast.Attribute) else f"({text})"
                yield source.replace(
                    (target, f"2 * {inner} - 1" if to_signs else f"({inner} + 1) / 2")
                )


@writes("TG509")
def loss_of_each_sample(source: Source, finding: Any, line: int) -> Iterator[str]:
    """`reduction="none"` in the loss that is weighted, or where the loss was made."""
    calls = [n for n in source.at(line) if isinstance(n, ast.Call)]
    made = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and _is_loss(n)]
    for call in (*calls, *made):
        if call.args or call in made:
            if not any(k.arg == "reduction" for k in call.keywords):
                text = source.segment(call)
                comma = ", " if call.args or call.keywords else ""
                yield source.replace((call, f'{text[:-1]}{comma}reduction="none")'))


def _is_loss(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return str(name).endswith("Loss")


@writes("TG609")
def buffers_follow_as_well(source: Source, finding: Any, line: int) -> Iterator[str]:
    """After a loop over two networks' parameters, their buffers are copied."""
    for loop in (s for s in source.statements if isinstance(s, ast.For)):
        text = source.segment(loop.iter)
        owners = [
            source.segment(n.func.value)
            for n in ast.walk(loop.iter)
            if isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr == "parameters"
        ]
        if "zip(" in text and len(owners) == 2:
            yield source.insert_after(
                loop,
                f"for own, other in zip({owners[0]}.buffers(), {owners[1]}.buffers()):",
                "    own.copy_(other)",
            )
