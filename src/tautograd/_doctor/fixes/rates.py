"""Learning rates, schedules, initial weights and the order of data, mended: TG8xx, TG9xx, TG702."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .source import Source
from .writers import writes


def _keywords(source: Source, name: str) -> list[ast.keyword]:
    return [n for n in ast.walk(source.tree) if isinstance(n, ast.keyword) and n.arg == name]


@writes("TG803", "TG702", "TG801")
def usual_rate(source: Source, finding: Any, line: int) -> Iterator[str]:
    wanted = re.search(r"lr=([\d.e+-]+)", finding.fix)
    decay = re.search(r"weight_decay=([\d.e+-]+)", finding.fix)
    if decay:
        for k in _keywords(source, "weight_decay"):
            yield source.replace((k.value, decay[1]))
    for k in _keywords(source, "lr"):
        for rate in dict.fromkeys((wanted[1] if wanted else "1e-3", "1e-3", "1e-2")):
            if source.segment(k.value) != rate:
                yield source.replace((k.value, rate))
    for s in source.statements:
        if isinstance(s, ast.Assign) and re.match(
            r"(lr|learning_rate|rate)$", source.segment(s.targets[0])
        ):
            yield source.replace((s.value, "0.01"))


@writes("TG905", "TG903")
def step_per_epoch(source: Source, finding: Any, line: int) -> Iterator[str]:
    for call in source.calls(source.tree, "step"):
        statement = source.statement(call.lineno)
        name = source.segment(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if statement is None or not re.search("sched|plateau", name, re.I):
            continue
        loops = [s for s in source.around(statement.lineno) if isinstance(s, ast.For | ast.While)]
        if len(loops) > 1:
            yield source.moved(statement, after=loops[0])
    for k in _keywords(source, "gamma"):
        yield source.replace((k.value, "1.0"))
    for s in source.statements:
        if isinstance(s, ast.Assign) and source.segment(s.targets[0]) == "gamma":
            for n in ast.walk(s.value):
                if isinstance(n, ast.Constant) and n.value == 0:
                    yield source.replace((n, "1.0"))


@writes("TG903")
def schedule_its_own(source: Source, finding: Any, line: int) -> Iterator[str]:
    made = [
        s for s in source.statements
        if isinstance(s, ast.Assign) and re.search(r"lr_scheduler|LR\(", source.segment(s.value))
    ]  # fmt: skip
    optimizers = [
        s for s in source.statements
        if isinstance(s, ast.Assign) and re.search(r"optim\.\w+\(", source.segment(s.value))
        and s not in made
    ]  # fmt: skip
    for s in made:
        scope = source.function(s.lineno)
        mine = [o for o in optimizers if source.function(o.lineno) is scope]
        if mine and mine[-1].lineno > s.lineno:
            yield source.moved(s, after=mine[-1])
        for call in ast.walk(s.value):
            if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name):
                for o in optimizers:
                    name = source.segment(o.targets[0])
                    if name.isidentifier() and name != source.segment(call.args[0]):
                        yield source.replace((call.args[0], name))


@writes("TG908")
def other_mode(source: Source, finding: Any, line: int) -> Iterator[str]:
    wanted = "max" if "'max'" in finding.fix else "min"
    for k in _keywords(source, "mode"):
        yield source.replace((k.value, f'"{wanted}"'))
    for call in ast.walk(source.tree):
        if isinstance(call, ast.Call) and "lateau" in source.segment(call.func):
            yield source.replace((call, f'{source.segment(call)[:-1]}, mode="{wanted}")'))


@writes("TG806")
def break_the_symmetry(source: Source, finding: Any, line: int) -> Iterator[str]:
    for name in ("constant_", "zeros_", "ones_", "fill_"):
        for call in source.calls(source.tree, name):
            if call.args and isinstance(call.func, ast.Attribute):
                init, given = source.segment(call.func.value), source.segment(call.args[0])
                if init.endswith("init"):
                    yield source.replace((call, f"{init}.normal_({given}, std=0.1)"))


@writes("TG802")
def let_it_through(source: Source, finding: Any, line: int) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        name = source.segment(node.func)
        last = name.rpartition(".")[2]
        if last in ("softmax", "Softmax"):
            axes = [k.value for k in node.keywords if k.arg == "dim"]
            axes += [a for a in node.args if isinstance(a, ast.Constant | ast.UnaryOp)]
            for given in axes:
                for axis in ("1", "-1", "0", "2"):
                    yield source.replace((given, axis))
        if last == "ReLU":
            own = re.escape(source.segment(node))
            found = [*re.finditer(rf",\s*{own}(?=\s*\))", source.text)]
            for m in found:
                yield source.text[: m.start()] + source.text[m.end() :]
            yield source.replace((node.func, f"{name[: -len(last)]}LeakyReLU"))
        if last == "relu" and node.args:
            prefix = "torch.nn.functional" if name.startswith("torch.") else name.rpartition(".")[0]
            yield source.replace((node.func, f"{prefix}.leaky_relu"))
        if last == "zeros" and node.args and "Parameter" in source.text:
            shape = ", ".join(source.segment(a) for a in node.args)
            yield source.replace((node, f"0.1 * torch.randn({shape})"))
        if last == "zeros_" and node.args:
            yield source.replace(
                (node, f"{name[: -len(last)]}normal_({source.segment(node.args[0])}, std=0.1)")
            )
        if last == "constant_" and node.args:
            yield source.replace(
                (node, f"{name[: -len(last)]}zeros_({source.segment(node.args[0])})")
            )


@writes("TG907")
def shuffled(source: Source, finding: Any, line: int) -> Iterator[str]:
    for call in source.calls(source.tree, "DataLoader"):
        given = [k for k in call.keywords if k.arg == "shuffle"]
        if given:
            yield source.replace((given[0].value, "True"))
        else:
            yield source.replace((call, f"{source.segment(call)[:-1]}, shuffle=True)"))
    for node in source.at(line):
        if isinstance(node, ast.Call) and source.segment(node).startswith("next(iter("):
            loader = source.segment(node)[len("next(iter(") : -2]
            loops = [s for s in source.around(line) if isinstance(s, ast.For)]
            if loops:
                changed = source.replace((node, "next(batches)"))
                again = Source(changed)
                there = [
                    s
                    for s in again.statements
                    if isinstance(s, ast.For) and s.lineno == loops[0].lineno
                ]
                if there:
                    yield again.insert_before(there[0], f"batches = iter({loader})")
    for s in source.statements:
        if (
            isinstance(s, ast.Expr)
            and "shuffle" in source.segment(s)
            and isinstance(s.value, ast.Call)
        ):
            given_names = ", ".join(source.segment(a) for a in s.value.args)
            yield source.replace((s, f"{given_names} = {source.segment(s)}"))


@writes("TG907")
def in_any_order(source: Source, finding: Any, line: int) -> Iterator[str]:
    """Data that are cut into batches by hand: shuffled before the first loop over them."""
    loops = [s for s in source.around(line) if isinstance(s, ast.For)]
    if not loops:
        return
    inner = loops[0]
    names = [
        source.segment(n.value) for n in ast.walk(inner)
        if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice) and isinstance(n.value, ast.Name)
    ]  # fmt: skip
    if isinstance(inner.iter, ast.Call):
        names += [source.segment(a) for a in inner.iter.args if isinstance(a, ast.Name)]
    names = list(dict.fromkeys(names))
    if names:
        both, taken = ", ".join(names), ", ".join(f"{n}[order]" for n in names)
        lines = f"order = torch.randperm(len({names[0]}))", f"{both} = {taken}"
        yield source.insert_before(inner, *lines)
        yield source.insert_before(loops[-1], *lines)


@writes("TG805")
def not_all_zero(source: Source, finding: Any, line: int) -> Iterator[str]:
    for name in ("zeros_like", "zeros"):
        for call in source.calls(source.function(line), name):
            func = source.segment(call.func)
            yield source.replace((call.func, func.replace("zeros", "ones")))


@writes("TG905")
def fractions_of_the_warmup(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A whole-number quotient is 0 until the end."""
    if "exactly 0 for the first" not in finding.message:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            above, below = source.segment(node.left), source.segment(node.right)
            if isinstance(node.left, ast.BinOp) and not above.startswith("("):
                above = f"({above})"
            yield source.replace((node, f"{above} / {below}"))
