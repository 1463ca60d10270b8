"""What is overwritten, left switched, hidden in a list or under a decorator, mended where it is written:
TG301, TG313, TG314, TG402, TG405, TG601, TG608."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .gradients import backwards
from .source import Source
from .writers import writes

_WITHOUT = re.compile(r"(no_grad|inference_mode)\b")


@writes("TG313")
def each_layer_after_the_last(source: Source, finding: Any, line: int) -> Iterator[str]:
    """`out = layer(x)` in a loop: each turn gets what the last one made; or all of them are added."""
    statement = source.statement(line)
    loops = [s for s in source.around(line) if isinstance(s, ast.For)]
    if not isinstance(statement, ast.Assign) or not loops:
        return
    name = source.segment(statement.targets[0])
    turned = {n.id for n in ast.walk(loops[0].target) if isinstance(n, ast.Name)}
    for call in [n for n in ast.walk(statement.value) if isinstance(n, ast.Call)]:
        if isinstance(call.func, ast.Name) and call.func.id in turned and call.args:
            given = source.segment(call.args[0])
            chained = source.replace((call.args[0], name))
            yield chained
            changed = Source(chained)
            loop = changed.statement(loops[0].lineno)
            if loop is not None:
                yield changed.insert_before(loop, f"{name} = {given}")
    yield source.replace((statement.value, f"{name} + {source.segment(statement.value)}"))


@writes("TG314")
def keep_what_was_there(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The input of the block is kept under a name of its own, and added in the place of the second."""
    statement, function = source.statement(line), source.function(line)
    if statement is None or not isinstance(function, ast.FunctionDef):
        return
    blocks = [s.body for s in source.around(line) if isinstance(s, ast.For)]
    for node in ast.walk(statement):
        second: ast.expr | None = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            second = node.right
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            second = node.value
        if second is None:
            continue
        name = source.segment(second)
        changed = Source(source.replace((second, "skip")))
        for block in (*blocks, function.body):
            first = changed.statement(block[0].lineno)
            if first is not None:
                yield changed.insert_before(first, f"skip = {name}")


@writes("TG601", "TG608")
def mode_of_the_function_that_measures(source: Source, finding: Any, line: int) -> Iterator[str]:
    """eval() at the head of the function that measures, and train() before it returns."""
    scopes = [(source.function(line), "")]
    if finding.code == "TG601":
        scopes = [
            (source.function(call.lineno), source.segment(call.func.value))
            for call in source.calls(source.tree, "eval")
            if isinstance(call.func, ast.Attribute)
        ]
    for function, owner in scopes:
        if not isinstance(function, ast.FunctionDef):
            continue
        inside = source.segment(function)
        called = dict.fromkeys(re.findall(r"((?:self\.)?\w+)\(", inside))
        names = (
            [owner] if owner else [n for n in called if re.search(r"model|net|policy|encoder", n)]
        )
        for name in names:
            returns = [s for s in ast.walk(function) if isinstance(s, ast.Return)]
            last = function.body[-1]
            text = source.text
            for s in sorted(returns, key=lambda r: -r.lineno):
                text = Source(text).insert_before(s, f"{name}.train()")
            if not isinstance(last, ast.Return):
                text = Source(text).insert_after(last, f"{name}.train()")
            if owner:
                yield text
                continue
            changed = Source(text)
            first = changed.statement(function.body[0].lineno)
            if first is not None:
                yield changed.insert_before(first, f"{name}.eval()")


@writes("TG301", "TG302")
def lists_of_parameters(source: Source, finding: Any, line: int) -> Iterator[str]:
    """`[nn.Parameter(...) for ...]` as a ParameterList."""
    for s in source.statements:
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Attribute):
            text = source.segment(s.value)
            found = re.search(r"((?:torch\.)?nn)\.Parameter\(", text)
            if found is not None and isinstance(s.value, ast.List | ast.ListComp):
                yield source.replace((s.value, f"{found[1]}.ParameterList({text})"))


@writes("TG401", "TG402")
def without_the_decorator(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A function that runs without gradients, and a loss that is told to require one."""
    for function in ast.walk(source.tree):
        for decorator in function.decorator_list if isinstance(function, ast.FunctionDef) else ():
            if not _WITHOUT.search(source.segment(decorator)):
                continue
            lines = list(source.lines)
            del lines[decorator.lineno - 1 : decorator.end_lineno]
            bare = Source("".join(lines))
            yield bare.text
            for call in bare.calls(bare.tree, "requires_grad_"):
                statement = bare.statement(call.lineno)
                if isinstance(statement, ast.Expr):
                    yield bare.delete(statement)


@writes("TG405")
def step_of_one_in_a_dictionary(source: Source, finding: Any, line: int) -> Iterator[str]:
    """The optimizer under a key that nobody steps, after the backward that fills its gradients."""
    for s in source.statements:
        if not isinstance(s, ast.Assign) or not isinstance(s.value, ast.Dict):
            continue
        name = source.segment(s.targets[0])
        for key, value in zip(s.value.keys, s.value.values, strict=True):
            place = f"{name}[{source.segment(key)}]" if key is not None else ""
            if place and "optim" in source.segment(value) and f"{place}.step(" not in source.text:
                for backward in backwards(source, line):
                    yield source.insert_after(backward, f"{place}.step()")
