"""Who holds what, modes, copies and freezing, mended: TG3xx, TG6xx, TG312."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .gradients import backwards, optimizers
from .source import Source
from .writers import writes

_LAYERS = re.compile(r"\b(nn|torch\.nn)\.|perceptron|\b[A-Z]\w*\(")


def _modules(source: Source, line: int) -> list[str]:
    """Names that are given something like a module, before a line."""
    scope, found = source.function(line), []
    for s in source.statements:
        if isinstance(s, ast.Assign) and s in ast.walk(scope):
            target, value = s.targets[0], s.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for t, v in pairs:
                name, made = source.segment(t), source.segment(v)
                is_module = _LAYERS.search(made) and "optim" not in made
                if isinstance(t, ast.Name | ast.Attribute) and is_module and name not in found:
                    found.append(name)
    return found


@writes("TG301", "TG302")
def hold_them_too(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if statement is None:
        return
    for call in [n for n in source.at(line) if isinstance(n, ast.Call) and n.args]:
        held = call.args[0]
        text = source.segment(held)
        if "parameters()" not in text and not isinstance(held, ast.Name | ast.List):
            continue
        missing = [m for m in _modules(source, line) if f"{m}.parameters()" not in text]
        for many in (missing, *([m] for m in missing)):
            more = ", ".join(f"*{m}.parameters()" for m in many)
            if more and isinstance(held, ast.List):
                yield source.replace((held, f"{text[:-1]}, {more}]"))
            elif more:
                yield source.replace((held, f"[*{text}, {more}]"))
    for name in optimizers(source, line):  # made too early: after what it should hold
        for s in source.statements:
            if (
                isinstance(s, ast.Assign)
                and source.segment(s.targets[0]) == name
                and s is statement
            ):
                for loop in source.statements:
                    if isinstance(loop, ast.For | ast.While) and loop.lineno > s.lineno:
                        yield source.moved(s, before=loop)
                        break


@writes("TG301", "TG302")
def lists_of_modules(source: Source, finding: Any, line: int) -> Iterator[str]:
    nn = "torch.nn" if "torch.nn" in source.text or "import torch" in source.text else "nn"
    nn = "nn" if re.search(r"\bnn\.", source.text) else nn
    for s in source.statements:
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Attribute):
            value, text = s.value, source.segment(s.value)
            if isinstance(value, ast.List | ast.ListComp):
                yield source.replace((value, f"{nn}.ModuleList({text if text != '[]' else ''})"))
            elif isinstance(value, ast.Dict | ast.DictComp):
                yield source.replace((value, f"{nn}.ModuleDict({text})"))
            elif isinstance(value, ast.Call) and "requires_grad" in text:
                bare = re.sub(r",?\s*requires_grad\s*=\s*True|\.requires_grad_\(\)", "", text)
                yield source.replace((value, f"{nn}.Parameter({bare})"))


@writes("TG301")
def add_what_was_thawed(source: Source, finding: Any, line: int) -> Iterator[str]:
    for call in source.calls(source.tree, "requires_grad_"):
        thaws = not call.args or source.segment(call.args[0]) == "True"
        if thaws and isinstance(call.func, ast.Attribute):
            module, statement = source.segment(call.func.value), source.statement(call.lineno)
            for name in optimizers(source, line):
                if statement is not None:
                    yield source.insert_after(
                        statement,
                        f'{name}.add_param_group({{"params": list({module}.parameters())}})',
                    )
    for s in source.statements:  # a group that is made and not appended
        if isinstance(s, ast.Assign) and "params" in source.segment(s.value):
            group = source.segment(s.targets[0])
            for call in source.calls(source.tree, "append"):
                if call.args and source.segment(call.args[0]) == group:
                    last = [
                        x for x in source.statements if source.segment(x).startswith(f"{group}[")
                    ]
                    if last and isinstance(call.func, ast.Attribute):
                        where = source.segment(call.func.value)
                        yield source.insert_after(last[-1], f"{where}.append({group})")


@writes("TG305")
def copy_it(source: Source, finding: Any, line: int) -> Iterator[str]:
    for call in source.calls(source.tree, "state_dict"):
        text = source.segment(call)
        statement = source.statement(call.lineno)
        if statement is not None and isinstance(statement, ast.Assign):
            node: ast.expr = call
            for n in ast.walk(statement):
                is_call = isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
                if is_call and n.func.attr == "copy" and n.func.value is call:  # type: ignore[attr-defined]
                    node = n  # type: ignore[assignment]
            yield source.importing(source.replace((node, f"copy.deepcopy({text})")), "copy")
    for s in source.statements:
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name | ast.Attribute):
            name = source.segment(s.value)
            if isinstance(s.targets[0], ast.Name) and name in _modules(source, s.lineno):
                yield source.importing(source.replace((s.value, f"copy.deepcopy({name})")), "copy")
                yield source.delete(s)
    for call in source.calls(source.tree, "load_state_dict"):
        if call.args and isinstance(call.func, ast.Attribute):
            target = source.segment(call.func.value)
            for name in _modules(source, call.lineno):
                if name != target:
                    yield source.replace((call.args[0], f"{name}.state_dict()"))
    for loop in source.statements:  # slow = ... in a loop over pairs of parameters
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Tuple):
            names = [source.segment(e) for e in loop.target.elts]
            for s in loop.body:
                if isinstance(s, ast.Assign) and source.segment(s.targets[0]) in names:
                    name = source.segment(s.targets[0])
                    yield source.replace((s, f"{name}.data.copy_({source.segment(s.value)})"))
                text = source.segment(s)
                if len(names) == 2 and text.count(names[0]) > 1 and names[1] not in text:
                    head, _, tail = text.rpartition(names[0])
                    yield source.replace((s, f"{head}{names[1]}{tail}"))


@writes("TG307")
def freeze_the_parameters(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
        return
    target = statement.targets[0]
    owner, value = source.segment(target.value), source.segment(statement.value)
    if target.attr == "requires_grad":
        yield source.replace((statement, f"{owner}.requires_grad_({value})"))
    else:
        yield source.replace((statement, f"{owner}.requires_grad = {value}"))


@writes("TG306", "TG308", "TG316")
def make_it_once(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    candidates = [statement] if statement is not None else []
    candidates += [
        s for s in source.statements
        if isinstance(s, ast.Assign) and re.search(r"optim\.\w+\(|\bnn\.[A-Z]\w+\(", source.segment(s.value))
    ]  # fmt: skip
    for s in candidates:
        loops = [x for x in source.around(s.lineno) if isinstance(x, ast.For | ast.While)]
        for loop in loops[::-1]:
            yield source.moved(s, before=loop)
        if loops:
            yield source.delete(s)
    for node in source.at(line):
        if (
            isinstance(node, ast.Call)
            and source.segment(node.func).endswith("Parameter")
            and node.args
        ):
            yield source.replace((node, source.segment(node.args[0])))


@writes("TG309")
def load_last(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if statement is None:
        return
    for call in [n for n in source.at(line) if isinstance(n, ast.Call) and n.args]:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict":
            given = source.segment(call.args[0])
            for prefix in ("module.", "model.", "_orig_mod."):
                renamed = f'{{k.removeprefix("{prefix}"): v for k, v in {given}.items()}}'
                yield source.replace((call.args[0], renamed))
    following = [
        s for s in source.statements
        if isinstance(s, ast.Expr) and s.lineno > statement.lineno and isinstance(s.value, ast.Call)
    ]  # fmt: skip
    for s in following[:6]:
        yield source.moved(statement, after=s)


@writes("TG310")
def one_for_each(source: Source, finding: Any, line: int) -> Iterator[str]:
    for node in source.at(line):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            many, listed = (node.right, node.left) if isinstance(node.left, ast.List) else (
                node.left, node.right,
            )  # fmt: skip
            if isinstance(listed, ast.List) and listed.elts:
                one = source.segment(listed.elts[0])
                yield source.replace((node, f"[{one} for _ in range({source.segment(many)})]"))


@writes("TG601", "TG602", "TG604", "TG605", "TG608")
def switch_modes(source: Source, finding: Any, line: int) -> Iterator[str]:
    names = list(dict.fromkeys(
        source.segment(c.func.value) for m in ("eval", "train")
        for c in source.calls(source.tree, m) if isinstance(c.func, ast.Attribute)
    ))  # fmt: skip
    modules = [*names, *(m for m in _modules(source, line) if m not in names)]
    if finding.code == "TG601":
        for s in source.statements:
            if isinstance(s, ast.Assign) and source.segment(s.targets[0]).endswith(".training"):
                owner = source.segment(s.targets[0]).rpartition(".")[0]
                yield source.replace((s, f"{owner}.train()"))
        for name in names:
            for backward in backwards(source, line):
                for loop in source.around(backward.lineno):
                    if isinstance(loop, ast.For | ast.While):
                        yield source.insert_before(loop, f"{name}.train()")
                        yield source.insert_first(loop.body, f"{name}.train()")
            for call in source.calls(source.tree, "eval"):
                statement = source.statement(call.lineno)
                if statement is not None:
                    outer = source.around(call.lineno)[:1]
                    body: list[ast.stmt] = getattr(outer[0], "body", []) if outer else []
                    if body:
                        yield source.insert_after(body[-1], f"{name}.train()")
    if finding.code in ("TG602", "TG608"):
        for name in ("dropout", "dropout1d", "dropout2d", "alpha_dropout"):
            for call in source.calls(source.tree, name):
                if not any(k.arg == "training" for k in call.keywords):
                    yield source.replace(
                        (call, f"{source.segment(call)[:-1]}, training=self.training)")
                    )
        for call in source.calls(source.tree, "scaled_dot_product_attention"):
            for k in call.keywords:
                if k.arg == "dropout_p":
                    rate = source.segment(k.value)
                    yield source.replace((k.value, f"{rate} if self.training else 0.0"))
        for block in source.around(line):
            if isinstance(block, ast.With):
                for name in modules:
                    changed = Source(source.insert_before(block, f"{name}.eval()"))
                    moved = next(
                        s for s in changed.statements
                        if isinstance(s, ast.With) and s.lineno == block.lineno + 1
                    )  # fmt: skip
                    yield changed.insert_after(moved, f"{name}.train()")
    if finding.code == "TG604":
        for call in source.calls(source.tree, "train"):
            statement = source.statement(call.lineno)
            for name in modules:
                if statement is not None:
                    yield source.insert_after(statement, f"{name}.eval()")
        for s in source.statements:
            if isinstance(s, ast.For | ast.While) and s.lineno <= line:
                for name in modules:
                    yield source.insert_before(s, f"{name}.eval()")
    if finding.code == "TG605":
        for s in source.statements:
            if isinstance(s, ast.For) and re.search(r"\.p\s*=\s*0", source.segment(s)):
                yield source.delete(s)
            if isinstance(s, ast.Assign) and re.search(r"\.p\s*=\s*0", source.segment(s)):
                yield source.delete(s)


@writes("TG606")
def register_once(source: Source, finding: Any, line: int) -> Iterator[str]:
    statement = source.statement(line)
    if statement is None:
        return
    for loop in source.around(line):
        if isinstance(loop, ast.For | ast.While):
            yield source.moved(statement, before=loop)


@writes("TG607")
def only_in_training(source: Source, finding: Any, line: int) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            for s in node.body:
                if isinstance(s, ast.Expr | ast.With):
                    text = source.segment(s).split("\n")
                    shift = ["    " + t if i else t for i, t in enumerate(text)]
                    body = "\n".join(
                        ["if self.training:", source.indent(s) + "    " + shift[0], *shift[1:]]
                    )
                    yield source.replace((s, body))


@writes("TG306", "TG316")
def made_in_init(source: Source, finding: Any, line: int) -> Iterator[str]:
    """A layer that forward makes, made once in `__init__`."""
    kinds = [n for n in ast.walk(source.tree) if isinstance(n, ast.ClassDef)]
    owner = next((k for k in kinds if k.lineno <= line <= (k.end_lineno or k.lineno)), None)
    if owner is None:
        return
    start = next(
        (f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None
    )
    for node in source.at(line):
        if start is None or not isinstance(node, ast.Call):
            continue
        made = source.segment(node)
        if re.match(r"(torch\.)?nn\.[A-Z]\w*\(", made):
            text = Source(source.replace((node, "self.made")))
            begin = text.statement(start.body[-1].lineno)
            if begin is not None:
                yield text.insert_after(start.body[-1], f"self.made = {made}")
