"""Cuts, leaves, stale graphs and targets, mended: TG401, TG402, TG404, TG407 to TG410, TG902."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .source import Source
from .writers import writes

_CUTS = ("detach", "item", "cpu", "numpy", "tolist", "clone")


def _is_no_grad(node: ast.stmt, source: Source) -> bool:
    return isinstance(node, ast.With) and any(
        "no_grad" in source.segment(i.context_expr) or "inference" in source.segment(i.context_expr)
        for i in node.items
    )


def _near(source: Source, line: int) -> list[int]:
    """The line, and the others of its function, the nearest first."""
    scope = source.function(line)
    first, last = getattr(scope, "lineno", 1), getattr(scope, "end_lineno", len(source.lines))
    return sorted(range(first, (last or first) + 1), key=lambda n: abs(n - line))


@writes("TG401", "TG402", "TG408", "TG407", "TG409", "TG410")
def without_the_cut(source: Source, finding: Any, line: int) -> Iterator[str]:
    if finding.code == "TG407":
        return
    lines = [line] if finding.code in ("TG401", "TG410") else []
    for at in [*lines, *_near(source, line)]:
        for node in source.at(at):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr in ("detach", "item", "requires_grad_") and not node.args:
                inner: ast.expr = node
                while (
                    isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
                    and inner.func.attr in (*_CUTS, "requires_grad_", "float") and not inner.args
                ):  # fmt: skip
                    inner = inner.func.value
                yield source.replace((node, source.segment(inner)))
                yield source.replace((node, source.segment(node.func.value)))
        for node in source.at(at):
            if isinstance(node, ast.Attribute) and node.attr == "data":
                yield source.replace((node, source.segment(node.value)))
            if isinstance(node, ast.Call) and source.segment(node.func) in (
                "float", "torch.tensor", "torch.as_tensor", "torch.from_numpy", "nn.Parameter",
                "torch.nn.Parameter",
            ):  # fmt: skip
                if node.args and isinstance(node.args[0], ast.Name):
                    yield source.replace((node, f"torch.stack({source.segment(node.args[0])})"))
                if node.args and not isinstance(node.args[0], ast.List):
                    yield source.replace((node, _behind(source, node.args[0])))
                elif node.args:
                    yield source.replace((node, f"torch.stack({source.segment(node.args[0])})"))
            if isinstance(node, ast.Call) and source.segment(node.func).endswith("autograd.grad"):
                own = source.segment(node)
                yield source.replace((node, f"{own[:-1]}, create_graph=True)"))
            if isinstance(node, ast.keyword) and node.arg == "use_reentrant":
                yield source.replace((node.value, "False"))
            if isinstance(node, ast.Attribute) and node.attr == "sample":
                yield source.replace((node, f"{source.segment(node.value)}.rsample"))
        for block in source.around(at):
            if isinstance(block, ast.With) and _is_no_grad(block, source):
                yield source.unwrapped(block)


def _behind(source: Source, node: ast.expr) -> str:
    """What is handed over, without the calls that cut it and without a factor that follows them."""
    if isinstance(node, ast.BinOp):
        left, right = _behind(source, node.left), _behind(source, node.right)
        return f"{left} {source.text[_end(source, node.left) : _start(source, node.right)].strip()} {right}"
    while (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        and node.func.attr in _CUTS and not node.args
    ):  # fmt: skip
        node = node.func.value
    return source.segment(node)


def _end(source: Source, node: ast.expr) -> int:
    return source._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)


def _start(source: Source, node: ast.expr) -> int:
    return source._offset(node.lineno, node.col_offset)


@writes("TG401")
def recorded(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A function that does not record, by its decorator."""
    scope = source.function(line)
    for decorator in getattr(scope, "decorator_list", []):
        if "no_grad" in source.segment(decorator) or "inference" in source.segment(decorator):
            first, last = decorator.lineno, decorator.end_lineno or decorator.lineno
            yield "".join(t for n, t in enumerate(source.lines, 1) if not first <= n <= last)


@writes("TG401")
def with_a_slope(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A soft choice for a hard one, and a step whose gradient passes straight through."""
    for node in source.at(line):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        text, name = source.segment(node), node.func.attr
        if name in ("round", "sign", "floor", "ceil", "trunc") and (node.args or not node.keywords):
            given = closed(source, node.args[0] if node.args else node.func.value)
            yield source.replace((node, f"({given} + ({text} - {given}).detach())"))
        if name != "float" or node.args:
            continue
        inner = node.func.value
        if isinstance(inner, ast.Call) and source.segment(inner.func).endswith("one_hot"):
            chosen = inner.args[0]
            is_choice = isinstance(chosen, ast.Call) and isinstance(chosen.func, ast.Attribute)
            if is_choice and chosen.func.attr == "argmax" and chosen.args:  # type: ignore[attr-defined]
                scores = source.segment(chosen.func.value)  # type: ignore[attr-defined]
                axis = source.segment(chosen.args[0])  # type: ignore[attr-defined]
                yield source.replace((node, f"{scores}.softmax({axis})"))
        if isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            left, right = closed(source, inner.left), closed(source, inner.comparators[0])
            if isinstance(inner.ops[0], ast.Lt | ast.LtE):
                left, right = right, left
            yield source.replace((node, f"({left} - {right}).sigmoid()"))


@writes("TG401")
def reentrant(source: Source, finding: Any, line: int) -> Iterator[str]:
    for node in ast.walk(source.function(line)):
        if isinstance(node, ast.keyword) and node.arg == "use_reentrant":
            yield source.replace((node.value, "False"))


@writes("TG404")
def without_the_kept_graph(source: Source, finding: Any, line: int) -> Iterator[str]:
    for at in _near(source, line):
        for node in source.at(at):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if is_call and node.func.attr == "backward":  # type: ignore[attr-defined]
                called = source.segment(node.func)  # type: ignore[attr-defined]
                yield source.replace((node, f"{called}()"))


@writes("TG407")
def detach_the_target(source: Source, finding: Any, line: int) -> Iterator[str]:
    scope = source.function(line)
    statements = [
        s for s in source.statements
        if isinstance(s, ast.Assign) and getattr(scope, "lineno", 1) <= s.lineno <= line
    ]  # fmt: skip
    here = source.statement(line)
    for statement in [*reversed(statements), *([here] if here is not None else [])]:
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.op, ast.Mult)
                and isinstance(statement, ast.Assign)
            ):
                yield source.replace((node.right, f"{closed(source, node.right)}.detach()"))
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                yield source.replace((node.right, f"{closed(source, node.right)}.detach()"))
    for call in ast.walk(scope):
        if isinstance(call, ast.BinOp) and isinstance(call.op, ast.Mult):
            for side in (call.right, call.left):
                yield source.replace((side, f"{closed(source, side)}.detach()"))


def closed(source: Source, node: ast.expr) -> str:
    """What is written there, in brackets if a method is to be called of it."""
    text = source.segment(node)
    return f"({text})" if isinstance(node, ast.BinOp | ast.UnaryOp | ast.IfExp) else text


@writes("TG902")
def keep_the_number(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if isinstance(statement, ast.AugAssign):
        value = statement.value
        if isinstance(value, ast.BinOp):
            yield source.replace((value.left, f"{closed(source, value.left)}.detach()"))
        yield source.replace((value, f"{closed(source, value)}.detach()"))
    for node in source.at(line):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in ("append", "add", "insert") and node.args:
            given = node.args[-1]
            yield source.replace((given, f"{closed(source, given)}.detach()"))
    if isinstance(statement, ast.Assign):
        yield source.replace((statement.value, f"({source.segment(statement.value)}).detach()"))
