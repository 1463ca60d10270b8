"""Clearing, stepping, clipping and scaling, mended: TG1xx, TG2xx, TG403, TG405."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .source import Source
from .writers import writes

_SCHEDULES = re.compile(r"sched|plateau|scaler|warm", re.I)


def optimizers(source: Source, line: int) -> list[str]:
    """What is stepped near a line, as it is written: `optimizer`, `self.opt`."""
    found: list[str] = []
    for scope in (source.function(line), source.tree):
        for call in source.calls(scope, "step"):
            name = source.segment(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            given = [source.segment(a) for a in call.args]
            for one in (name, *given):
                plain = one.replace(".", "").replace("_", "").isalnum()
                if plain and one not in found and not _SCHEDULES.search(one):
                    found.append(one)
    return found


def backwards(source: Source, line: int) -> list[ast.stmt]:
    """Statements of the function around a line that go backward, those of the line first."""
    calls = source.calls(source.function(line), "backward")
    found = [s for c in calls if (s := source.statement(c.lineno)) is not None]
    return sorted(found, key=lambda s: not s.lineno <= line <= (s.end_lineno or s.lineno))


def steps(source: Source, line: int) -> list[ast.stmt]:
    """Statements near a line that step an optimizer."""
    names = optimizers(source, line)
    calls = [
        c for c in source.calls(source.function(line), "step")
        if isinstance(c.func, ast.Attribute)
        and (source.segment(c.func.value) in names or any(source.segment(a) in names for a in c.args))
    ]  # fmt: skip
    return [s for c in calls if (s := source.statement(c.lineno)) is not None]


def _first_of_window(source: Source, backward: ast.stmt) -> ast.stmt:
    """The first backward of those that follow each other in the same block."""
    for owner in (*source.around(backward.lineno), source.tree):
        body = getattr(owner, "body", [])
        mine = [s for s in backwards(source, backward.lineno) if s in body]
        if backward in mine:
            return min(mine, key=lambda s: s.lineno)
    return backward


@writes("TG101", "TG105", "TG106", "TG102")
def clear_before_the_backward(source: Source, finding: Any, line: int) -> Iterator[str]:
    for name in optimizers(source, line):
        for backward in backwards(source, line):
            yield source.insert_before(_first_of_window(source, backward), f"{name}.zero_grad()")
            yield source.insert_before(backward, f"{name}.zero_grad()")
        for step in steps(source, line):
            yield source.insert_after(step, f"{name}.zero_grad()")


@writes("TG101", "TG106")
def clear_by_hand(source: Source, finding: Any, line: int) -> Iterator[str]:
    scope = source.function(line)
    held = {
        source.segment(n.value) for n in ast.walk(scope)
        if isinstance(n, ast.Attribute) and n.attr == "grad" and isinstance(n.ctx, ast.Load)
    }  # fmt: skip
    for backward in backwards(source, line):
        plain = sorted(name for name in held if name.isidentifier())
        yield source.insert_before(backward, *(f"{name}.grad = None" for name in plain))
    for node in ast.walk(scope):
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Name)
            and node.target.id in held
        ):
            yield source.insert_after(node.body[-1], f"{node.target.id}.grad = None")


@writes("TG106")
def update_in_place(source: Source, finding: Any, line: int) -> Iterator[str]:
    """`w = w - lr * w.grad` as `w -= lr * w.grad`; a sum that climbs as a difference."""
    for statement in (source.statement(line), *source.statements):
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign) and isinstance(value, ast.BinOp):
            name = source.segment(statement.targets[0])
            if isinstance(value.op, ast.Sub) and source.segment(value.left) == name:
                yield source.replace((statement, f"{name} -= {source.segment(value.right)}"))
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
            given = source.segment(statement.value)
            if ".grad" in given:
                yield source.replace((statement, f"{source.segment(statement.target)} -= {given}"))


@writes("TG103", "TG702")
def clear_elsewhere(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if statement is None:
        return
    for step in steps(source, line):
        yield source.moved(statement, after=step)
    for backward in backwards(source, line):
        yield source.moved(statement, before=backward)
    for step in steps(source, line):  # the rest of an epoch is stepped before it is cleared
        own = source.segment(step)
        loops = [s for s in source.around(step.lineno) if isinstance(s, ast.For)]
        if loops:
            yield source.insert_after(loops[0], own)


@writes("TG104")
def divide_the_loss(source: Source, finding: Any, line: int) -> Iterator[str]:
    numbers = [v for v in finding.figures.values() if isinstance(v, int) and v > 1]
    numbers += [int(n) for n in re.findall(r"\b(\d+)\b", finding.fix) if 1 < int(n) < 1000]
    names = [
        source.segment(n.right) for n in ast.walk(source.function(line))
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) and isinstance(n.right, ast.Name)
    ]  # fmt: skip
    for call in source.calls(source.function(line), "backward"):
        if isinstance(call.func, ast.Attribute):
            for k in [*names, *dict.fromkeys(numbers)]:
                value = call.func.value
                yield source.replace((value, f"({source.segment(value)} / {k})"))


@writes("TG201")
def unscale_first(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    scalers = {
        source.segment(c.func.value) for c in source.calls(source.tree, "scale")
        if isinstance(c.func, ast.Attribute)
    }  # fmt: skip
    for scaler in scalers:
        for name in optimizers(source, line):
            if statement is not None:
                yield source.insert_before(statement, f"{scaler}.unscale_({name})")


@writes("TG203", "TG204", "TG205")
def clip_before_the_step(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if statement is None:
        return
    for node in source.at(line):
        if isinstance(node, ast.Attribute) and node.attr in ("clamp", "clip", "mul", "div"):
            end = node.end_col_offset or 0
            del end
            yield source.replace((node, f"{source.segment(node.value)}.{node.attr}_"))
    for step in steps(source, line):
        if step is not statement:
            yield source.moved(statement, before=step)
    for backward in backwards(source, line):
        yield source.moved(statement, after=backward)
    for call in source.calls(source.function(line), "parameters"):
        if not isinstance(source.statement(call.lineno), ast.For):
            yield source.replace((call, f"list({source.segment(call)})"))


@writes("TG202")
def scale_as_a_pair(source: Source, finding: Any, line: int) -> Iterator[str]:
    for call in source.calls(source.tree, "scale"):
        if isinstance(call.func, ast.Attribute):
            scaler = source.segment(call.func.value)
            for step in source.calls(source.tree, "step"):
                if isinstance(step.func, ast.Attribute) and not step.args:
                    name = source.segment(step.func.value)
                    yield source.replace((step, f"{scaler}.step({name})"))
    for statement in source.statements:  # a division of gradients by a scale they never had
        if isinstance(statement, ast.For) and ".grad" in source.segment(statement):
            yield source.delete(statement)
        elif isinstance(statement, ast.Expr | ast.AugAssign | ast.Assign):
            own = source.segment(statement)
            if ".grad" in own and ("div" in own or "/" in own):
                yield source.delete(statement)


@writes("TG403")
def step_once(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if statement is not None and ".step" in source.segment(statement):
        yield source.delete(statement)
    for step in steps(source, line):
        if not isinstance(step, ast.For | ast.While | ast.If | ast.With):
            yield source.delete(step)


@writes("TG405")
def step_after_the_backward(source: Source, finding: Any, line: int) -> Iterator[str]:
    made = [
        source.segment(s.targets[0]) for s in source.statements
        if isinstance(s, ast.Assign) and re.search(r"optim\.|\b(Adam|SGD|RMSprop)", source.segment(s.value))
        and "lr_scheduler" not in source.segment(s.value)
    ]  # fmt: skip
    for name in made:
        for backward in backwards(source, line):
            yield source.insert_after(backward, f"{name}.step()")
    for call in source.calls(source.tree, "step"):
        statement = source.statement(call.lineno)
        for name in made:
            if statement is not None:
                yield source.insert_before(statement, f"{name}.step()")


@writes("TG703")
def change_after_the_backward(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    around = [] if statement is None else [statement, *source.around(line)]
    scope = source.function(line)
    around += [
        s for s in source.statements
        if ".data" in source.segment(s) and isinstance(s, ast.Expr | ast.For) and s in ast.walk(scope)
    ]  # fmt: skip
    for owner in around:
        for step in steps(source, line):
            if not owner.lineno <= step.lineno <= (owner.end_lineno or 0):
                yield source.moved(owner, after=step)
