"""Schedules that climb, are undone, or rates that are written in vain, mended: TG912 to TG914, TG905, TG908."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .source import Source
from .writers import writes

_LOOPS = ast.For | ast.While


def _argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    """What a call gives for an argument, by name or by its place."""
    named = [k.value for k in call.keywords if k.arg == name]
    return named[0] if named else (call.args[position] if len(call.args) > position else None)


@writes("TG912")
def numbers_of_the_schedule(source: Source, finding: Any, line: int) -> Iterator[str]:
    """As many turns as it makes, a floor below the rate, or a factor below 1."""
    figures = finding.figures
    for node in source.at(line):
        if not isinstance(node, ast.Call):
            continue
        for key, name, position, new in (
            ("period", "T_max", 1, figures.get("turns")),
            ("eta_min", "eta_min", 2, "0.0"),
            ("gamma", "gamma", 2, f"{1 / figures['gamma']:g}" if "gamma" in figures else None),
        ):
            given = _argument(node, name, position) if key in figures else None
            if given is not None and new is not None:
                yield source.replace((given, str(new)))


@writes("TG913")
def made_once(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A scheduler is made before the loop in which it is made anew."""
    statement = source.statement(line)
    loops = [s for s in source.around(line) if isinstance(s, _LOOPS)]
    if isinstance(statement, ast.Assign):
        for loop in loops[::-1]:
            yield source.moved(statement, before=loop)


@writes("TG913")
def loaded_with_its_optimizer(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The scheduler's state is loaded where the optimizer's is, if it was saved beside it."""
    statement = source.statement(line)
    text = source.segment(statement) if statement is not None else ""
    names = re.findall(r"[\w.]*sched\w*", source.text)
    if statement is None or "load_state_dict" not in text:
        return
    given = text.partition("load_state_dict")[2]
    for name in dict.fromkeys(names):
        for key in ("scheduler", "lr_scheduler", "sched"):
            for own in ("optimizer", "optim", "opt"):
                if f'"{own}"' in given or f"'{own}'" in given:
                    new = given.replace(f'"{own}"', f'"{key}"').replace(f"'{own}'", f"'{key}'")
                    yield source.insert_after(statement, f"{name}.load_state_dict{new}")


@writes("TG913")
def only_the_whole_is_stepped(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The parts of a sequence are not stepped by the loop as well."""
    if "part of another" not in finding.message:
        return
    wholes = (
        call
        for kind in ("SequentialLR", "ChainedScheduler")
        for call in source.calls(source.tree, kind)
    )
    parts = {
        source.segment(part)
        for call in wholes
        for given in call.args
        if isinstance(given, ast.List | ast.Tuple)
        for part in given.elts
    }
    gone = [
        s for s in source.statements
        if isinstance(s, ast.Expr) and source.segment(s) in {f"{part}.step()" for part in parts}
    ]  # fmt: skip
    if gone:
        lines = {n for s in gone for n in range(s.lineno, (s.end_lineno or s.lineno) + 1)}
        yield "".join(text for n, text in enumerate(source.lines, 1) if n not in lines)


@writes("TG913")
def without_the_rate_by_hand(source: Source, finding: Any, line: int) -> Iterator[str]:
    """What sets the rate by hand, or calls what does, is taken out."""
    if "set by hand" not in finding.message:
        return
    setters = {
        node.name
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef)
        and _sets_a_rate(node)
        and not source.calls(node, "step")
    }
    for s in source.statements:
        called = s.value.func if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) else None
        calls_one = isinstance(called, ast.Name) and called.id in setters
        if calls_one or (isinstance(s, ast.For) and len(s.body) == 1 and _sets_a_rate(s)):
            yield source.delete(s)


def _sets_a_rate(node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Assign) and re.search(r"\[.lr.\]$", ast.unparse(n.targets[0]))
        for n in ast.walk(node)
    )


def _for_all_groups(optimizer: str, operator: str, value: str) -> tuple[str, str]:
    return f"for group in {optimizer}.param_groups:", f'    group["lr"] {operator} {value}'


@writes("TG914")
def where_steps_read_it(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The rate is written to every group."""
    statement = source.statement(line)
    if isinstance(statement, ast.AugAssign):
        target: ast.expr = statement.target
        operator = (
            source.segment(statement)[len(source.segment(target)) :].split("=")[0].strip() + "="
        )
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, operator = statement.targets[0], "="
    else:
        return
    value, place = source.segment(statement.value), source.segment(target)
    for pattern in (
        r"^(.*)\.lr$",
        r"^(.*)\.defaults\[.lr.\]$",
        r"^(.*)\.param_groups\[\d+\]\[.lr.\]$",
    ):
        found = re.match(pattern, place)
        if found:
            lines = _for_all_groups(found[1], operator, value)
            indent = source.indent(statement)
            yield source.replace((statement, f"{lines[0]}\n{indent}{lines[1]}"))
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        yield source.replace((target.slice, '"lr"'))
    if isinstance(target, ast.Name):
        made = source.calls(source.tree, "step")
        for name in dict.fromkeys(
            source.segment(call.func.value) for call in made if isinstance(call.func, ast.Attribute)
        ):
            yield source.insert_after(statement, *_for_all_groups(name, "=", target.id))


@writes("TG905", "TG908")
def after_the_loop_over_batches(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The scheduler is stepped when the loop around it is over: in its own function, or once per epoch."""
    statement = source.statement(line)
    loops = [s for s in source.around(line) if isinstance(s, _LOOPS)]
    if (
        isinstance(statement, ast.Expr)
        and loops
        and source.segment(statement.value).find(".step(") > 0
    ):
        yield source.moved(statement, after=loops[0])


@writes("TG802")
def without_the_hook(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The hook that gives zeros is not registered."""
    statement = source.statement(line)
    if isinstance(statement, ast.Expr) and "hook(" in source.segment(statement):
        yield source.delete(statement)
