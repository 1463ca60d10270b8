"""Layers that are left out, hidden, made anew or not handed over, and schedules that nobody steps, mended:
TG301, TG312, TG401, TG402, TG505, TG602, TG702, TG903, TG906."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .graphs import closed
from .source import Source
from .writers import writes


@writes("TG312")
def layer_after_the_one_before(source: Source, finding: Any, line: int) -> Iterator[str]:
    """As the layer that is defined before it is used in forward(), so is this one, after it."""
    found = re.search(r"The layer (\w+) of", finding.message)
    text = source.text
    for s in source.statements:
        if found is None or not isinstance(s, ast.Assign) or len(s.targets) != 1:
            continue
        own, name = source.segment(s), found[1]
        other = re.search(r"self\.(\w+)\(", source.segment(s.value))
        if other is None or other[1] == name or f"self.{name}(" in text:
            continue
        yield source.insert_after(s, own.replace(f"self.{other[1]}(", f"self.{name}("))


@writes("TG301", "TG302")
def hidden_in_a_name(source: Source, finding: Any, line: int) -> Iterator[str]:
    """`self.parts = parts`, where parts is a plain dict or list of modules."""
    hidden = re.search(r"self\.(\w+) = torch\.nn\.ModuleList", finding.fix)
    for s in source.statements:
        if hidden is None or not isinstance(s, ast.Assign):
            continue
        if source.segment(s.targets[0]) == f"self.{hidden[1]}":
            given = source.segment(s.value)
            for kind in ("ModuleDict", "ModuleList"):
                yield source.replace((s.value, f"torch.nn.{kind}({given})"))
                yield source.replace((s.value, f"nn.{kind}({given})"))


@writes("TG301", "TG302")
def all_of_them(source: Source, finding: Any, line: int) -> Iterator[str]:
    """What requires a gradient now is not all that will."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            first = node.generators[0]
            asked = " ".join(source.segment(condition) for condition in first.ifs)
            if "requires_grad" in asked and isinstance(node.elt, ast.Name):
                yield source.replace((node, f"list({source.segment(first.iter)})"))
        is_filter = isinstance(node, ast.Call) and source.segment(node.func) == "filter"
        if is_filter and "requires_grad" in source.segment(node):
            yield source.replace((node, f"list({source.segment(node.args[-1])})"))  # type: ignore[attr-defined]


@writes("TG906", "TG904")
def heads_back_to_their_tokens(source: Source, finding: Any, line: int) -> Iterator[str]:
    """(samples, heads, tokens, features) is turned before it is merged."""
    for name in ("reshape", "view"):
        for call in source.calls(source.tree, name):
            if isinstance(call.func, ast.Attribute) and len(call.args) == 3:
                inner = closed(source, call.func.value)
                args = ", ".join(source.segment(a) for a in call.args)
                yield source.replace((call, f"{inner}.transpose(1, 2).reshape({args})"))


@writes("TG602")
def dropout_that_asks_for_the_mode(source: Source, finding: Any, line: int) -> Iterator[str]:
    """`nn.Dropout(p)(x)` in forward() is a new layer each time."""
    for call in ast.walk(source.tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Call) and call.args):
            continue
        if source.segment(call.func.func).endswith("Dropout"):
            made = call.func
            given = [*made.args, *(k.value for k in made.keywords if k.arg == "p")]
            p = source.segment(given[0]) if given else "0.5"
            x = source.segment(call.args[0])
            yield source.replace(
                (call, f"torch.nn.functional.dropout({x}, {p}, training=self.training)")
            )


@writes("TG903")
def step_at_the_end_of_an_epoch(source: Source, finding: Any, line: int) -> Iterator[str]:
    if "never stepped" not in finding.message:
        return
    made = source.statement(line)
    if not isinstance(made, ast.Assign):
        return
    name, scope = source.segment(made.targets[0]), source.function(line)
    loops = [
        n for n in ast.walk(scope)
        if isinstance(n, ast.For | ast.While) and n.lineno > line and ".step(" in source.segment(n)
    ]  # fmt: skip
    for loop in loops[:1]:  # the outermost
        yield source.insert_after(loop.body[-1], f"{name}.step()")


@writes("TG702", "TG103")
def clear_before_the_gradients_are_there(source: Source, finding: Any, line: int) -> Iterator[str]:
    scope = source.function(line)
    clears = [source.statement(c.lineno) for c in source.calls(scope, "zero_grad")]
    backwards = [source.statement(c.lineno) for c in source.calls(scope, "backward")]
    for clear in clears:
        for backward in backwards:
            if clear is not None and backward is not None and backward.lineno < clear.lineno:
                yield source.moved(clear, before=backward)


@writes("TG505")
def losses_one_by_one(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A mask wants a loss for each entry."""
    for name in ("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "CrossEntropyLoss", "NLLLoss"):
        for call in source.calls(source.function(line), name):
            if not any(k.arg == "reduction" for k in call.keywords):
                own = source.segment(call)
                start = own[:-1] + (", " if call.args or call.keywords else "")
                yield source.replace((call, f'{start}reduction="none")'))


@writes("TG401", "TG402")
def without_the_threshold(source: Source, finding: Any, line: int) -> Iterator[str]:
    """`p = (p > 0.5).float()`: the loss is of p itself."""
    for s in source.statements:
        if not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name):
            continue
        name = s.targets[0].id
        for node in ast.walk(s.value):
            if isinstance(node, ast.Compare) and source.segment(node.left) == name:
                yield source.delete(s)


@writes("TG401")
def what_they_make(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A loss that takes nothing of what its step moves, though it is there under a name."""
    if "depends on none of them" not in finding.message:
        return
    scope = source.function(line)
    loops = [s for s in source.around(line) if isinstance(s, ast.For | ast.While)]
    made = [
        s.targets[0].id
        for s in (loops[0].body if loops else ())
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
        and isinstance(s.value, ast.Call) and isinstance(s.value.func, ast.Name)
    ]  # fmt: skip
    statements = [
        s for s in source.statements
        if isinstance(s, ast.Assign) and getattr(scope, "lineno", 1) <= s.lineno <= line
    ]  # fmt: skip
    for s in statements[:-4:-1]:
        for call in ast.walk(s.value):
            for given in call.args if isinstance(call, ast.Call) else ():
                if isinstance(given, ast.Name):
                    for name in made:
                        if name != given.id:
                            yield source.replace((given, name))
