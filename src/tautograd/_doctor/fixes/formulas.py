"""Formulas and feeding, mended: values of themselves, axes, orders, seeds: TG411, TG808, TG904 to TG911."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .graphs import closed
from .source import Source
from .writers import writes


@writes("TG411")
def old_value_as_a_number(source: Source, finding: Any, line: int) -> Iterator[str]:
    """In a ratio, `exp(new - old)`, the old value is a number; elsewhere another value was meant."""
    for call in source.at(line):
        is_ratio = isinstance(call, ast.Call) and source.segment(call.func).endswith("exp")
        for node in ast.walk(call) if is_ratio else ():
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                yield source.replace((node.right, f"{source.segment(node.right)}.detach()"))


@writes("TG411")
def what_was_given_and_not_read(source: Source, finding: Any, line: int) -> Iterator[str]:
    """Two calls are the same, and an argument of the function is read nowhere."""
    scope = source.function(line)
    if not isinstance(scope, ast.FunctionDef):
        return
    read = {n.id for n in ast.walk(scope) if isinstance(n, ast.Name)}
    unread = [a.arg for a in scope.args.args if a.arg not in read]
    calls = [n for n in ast.walk(scope) if isinstance(n, ast.Call)]
    for i, second in enumerate(calls):
        if any(source.segment(first) == source.segment(second) for first in calls[:i]):
            for given in reversed(second.args):
                for name in unread:
                    yield source.replace((given, name))


@writes("TG808")
def the_argument_itself(source: Source, finding: Any, line: int) -> Iterator[str]:
    for name in ("zeros_like", "ones_like", "empty_like"):
        for call in source.calls(source.tree, name):
            if call.args:
                yield source.replace((call, source.segment(call.args[0])))


@writes("TG904")
def heads_beside_tokens(source: Source, finding: Any, line: int) -> Iterator[str]:
    if "heads and tokens" not in finding.message:
        return
    for node in source.at(line):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr in ("view", "reshape") and len(node.args) == 4:
            first, heads, tokens, part = (source.segment(a) for a in node.args)
            inner = closed(source, node.func.value)
            split = f"{inner}.reshape({first}, {tokens}, {heads}, {part})"
            yield source.replace((node, f"{split}.transpose(1, 2)"))
        elif node.func.attr in ("view", "reshape") and len(node.args) == 3:
            inner = closed(source, node.func.value)
            args = ", ".join(source.segment(a) for a in node.args)
            yield source.replace((node, f"{inner}.transpose(1, 2).reshape({args})"))


@writes("TG904", "TG906")
def softmax_over_the_last_axis(source: Source, finding: Any, line: int) -> Iterator[str]:
    if "softmax" not in finding.message.lower():
        return
    for node in source.at(line):
        if isinstance(node, ast.Call) and "softmax" in source.segment(node.func):
            axes = [k.value for k in node.keywords if k.arg == "dim"]
            axes += [a for a in node.args if isinstance(a, ast.Constant | ast.UnaryOp)]
            for given in axes:
                yield source.replace((given, "-1"))


def with_a_step(source: Source, statement: ast.stmt) -> Iterator[str]:
    """A statement right after each step of something else in its function, the nearest first."""
    scope = source.function(statement.lineno)
    steps = [
        s for s in ast.walk(scope)
        if isinstance(s, ast.Expr) and re.search(r"(?<!scheduler)\.step\(\)$", source.segment(s))
        and s is not statement
    ]  # fmt: skip
    for step in sorted(steps, key=lambda s: abs(s.lineno - statement.lineno)):
        yield source.moved(statement, after=step)


@writes("TG905")
def step_per_batch(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A schedule that is as long as there are batches is stepped with the optimizer."""
    if "was stepped" not in finding.message and "counts batches" not in finding.message:
        return
    statement = source.statement(line)
    if isinstance(statement, ast.Expr):
        yield from with_a_step(source, statement)


@writes("TG905")
def factor_and_not_rate(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The rate itself is taken out of what the schedule's function returns."""
    if "the learning rate itself" not in finding.message:
        return
    rates = {
        source.segment(n.value)
        for n in ast.walk(source.tree)
        if isinstance(n, ast.keyword) and n.arg == "lr"
    }
    changes = [
        (node, source.segment(other))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        for rate, other in ((node.left, node.right), (node.right, node.left))
        if source.segment(rate) in rates
    ]
    if changes:
        yield source.replace(*changes)
    for node, other in changes:
        inner = source.segment(node)
        for part in ast.walk(node):  # rate * a / b is (rate * a) / b
            if isinstance(part, ast.BinOp) and source.segment(part.left) == inner:
                yield source.replace((part.left, other))


@writes("TG911")
def without_the_seed(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if isinstance(statement, ast.Expr):
        yield source.delete(statement)


@writes("TG910")
def one_order_for_both(source: Source, finding: Any, line: int) -> Iterator[str]:
    scope = source.function(line)
    first, last = getattr(scope, "lineno", 1), getattr(scope, "end_lineno", len(source.lines))
    inside = [s for s in source.statements if first <= s.lineno <= (last or first)]
    names = {
        n.id
        for s in inside
        if isinstance(s, ast.Assign) and s.lineno < line
        for target in s.targets
        for n in ast.walk(target)
        if isinstance(n, ast.Name)
    }
    for s in inside:
        if not isinstance(s, ast.Assign) or len(s.targets) != 1:
            continue
        given, target = s.value, source.segment(s.targets[0])
        if isinstance(given, ast.Subscript) and source.segment(given.value) == target:
            order = source.segment(given.slice)
            for other in sorted(names - {target, order}):
                yield source.replace(
                    (s, f"{target}, {other} = {target}[{order}], {other}[{order}]")
                )
        if isinstance(given, ast.Tuple) and "randperm" in source.segment(given.elts[-1]):
            firsts = s.targets[0].elts if isinstance(s.targets[0], ast.Tuple) else []
            if len(firsts) == 2:
                one, two = map(source.segment, firsts)
                yield source.replace((s, f"{one} = {two} = {source.segment(given.elts[0])}"))


@writes("TG305")
def put_back_what_was_kept(source: Source, finding: Any, line: int) -> Iterator[str]:
    if "not put back" not in finding.message:
        return
    kept = [
        s for s in source.statements
        if isinstance(s, ast.Assign) and s.lineno < line and isinstance(s.targets[0], ast.Name)
        and re.search(r"clone\(|deepcopy\(|state_dict\(", source.segment(s.value))
    ]  # fmt: skip
    for call in source.at(line):
        if isinstance(call, ast.Call) and source.segment(call.func).endswith("load_state_dict"):
            for s in sorted(kept, key=lambda s: line - s.lineno):
                yield source.replace((call.args[0], source.segment(s.targets[0])))
