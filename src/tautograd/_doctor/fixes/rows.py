"""Rows that belong together, mended where they are taken, drawn or written: TG414, TG415, TG417, TG907, TG915."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .source import Source
from .writers import writes


@writes("TG414")
def likelihood_of_what_was_drawn(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The name of an earlier draw of this function in the place of the second one."""
    drawn = [
        s.targets[0].id
        for s in ast.walk(source.function(line))
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and _draws(s.value)
        and s.lineno < line
    ]  # fmt: skip
    for name in reversed(drawn):
        for node in source.at(line):
            if isinstance(node, ast.Call) and _name(node) in ("sample", "multinomial", "rsample"):
                yield source.replace((node, name))


def _draws(node: ast.expr) -> bool:
    return any(
        isinstance(n, ast.Call) and _name(n) in ("sample", "multinomial", "rsample")
        for n in ast.walk(node)
    )


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@writes("TG415")
def sum_by_index_add(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Subscript):
        return
    into, index = source.segment(statement.target.value), source.segment(statement.target.slice)
    sign = {ast.Add: "", ast.Sub: ", alpha=-1"}.get(type(statement.op))
    if sign is not None:
        made = f"index_add(0, {index}, {source.segment(statement.value)}{sign})"
        yield source.replace((statement, f"{into} = {into}.{made}"))


@writes("TG417")
def each_of_its_own(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The second of two equal values with the second name."""
    statement = source.statement(line)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Tuple):
        return
    target, values = statement.targets[0], statement.value.elts
    names = [source.segment(n) for n in target.elts] if isinstance(target, ast.Tuple) else []
    for i, first in enumerate(values):
        for j, second in enumerate(values):
            if i != j and j < len(names) and ast.dump(first) == ast.dump(second):
                changed = [
                    (n, names[j])
                    for n in ast.walk(second)
                    if isinstance(n, ast.Name) and n.id == names[i]
                ]
                if changed:
                    yield source.replace(*changed)


@writes("TG915")
def one_order_for_both(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The second draw of an order goes, or both read one that is drawn before."""
    drawn: dict[str, list[ast.Assign]] = {}
    for node in ast.walk(source.function(line)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if _name(node.value) == "randperm":
                drawn.setdefault(source.segment(node), []).append(node)
    for same in drawn.values():
        for second in sorted(same, key=lambda n: n.lineno)[1:]:
            yield source.delete(second)
    statement = source.statement(line)
    calls = [n for n in source.at(line) if isinstance(n, ast.Call) and _name(n) == "randperm"]
    if statement is not None and len(calls) > 1:
        text = source.replace(*((n, "order") for n in calls))
        changed = Source(text)
        there = changed.statement(statement.lineno)
        if there is not None:
            yield changed.insert_before(there, f"order = {source.segment(calls[0])}")


@writes("TG907")
def another_shuffle_each_time(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A generator for itertools.cycle, and the epoch told to the sampler."""
    for call in source.at(line):
        if isinstance(call, ast.Call) and _name(call) == "cycle" and len(call.args) == 1:
            loader = source.segment(call.args[0])
            yield source.replace((call, f"(batch for _ in iter(int, 1) for batch in {loader})"))
    loops = [source.statement(line), *source.around(line)]
    inner = next((s for s in loops if isinstance(s, ast.For)), None)
    outer = next((s for s in loops if isinstance(s, ast.For) and s is not inner), None)
    if inner is not None and outer is not None:
        loader, epoch = source.segment(inner.iter), source.segment(outer.target)
        yield source.insert_before(inner, f"{loader}.sampler.set_epoch({epoch})")
