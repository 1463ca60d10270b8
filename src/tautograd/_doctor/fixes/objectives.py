"""Losses and what goes into them, mended: TG5xx, TG701, TG804, TG906, TG904."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .axes import is_of_classes
from .source import Source
from .writers import writes

_SOFT = {"softmax", "log_softmax", "sigmoid", "Softmax", "LogSoftmax", "Sigmoid"}


def _function_name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    )


def _is_namespace(source: Source, func: ast.Attribute) -> bool:
    return source.segment(func.value) in ("torch", "F", "nn.functional", "torch.nn.functional")


def _input(source: Source, node: ast.Call) -> str:
    """What an activation is of: its argument, or what it is a method of."""
    if node.args and not _is_number(node.args[0]):
        return source.segment(node.args[0])
    return source.segment(node.func.value) if isinstance(node.func, ast.Attribute) else ""


@writes("TG501", "TG502")
def without_the_activation(source: Source, finding: Any, line: int) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or _function_name(node) not in _SOFT:
            continue
        name, inside = _function_name(node), _input(source, node)
        if name[0].isupper():  # a layer: the last of a Sequential, or one of the module
            own = source.segment(node)
            for pattern in (rf",\s*{re.escape(own)}", rf"{re.escape(own)}\s*,\s*"):
                found = re.search(pattern, source.text)
                if found is not None:
                    yield source.text[: found.start()] + source.text[found.end() :]
            yield source.replace(
                (
                    node,
                    re.sub(r"(\w+)\(.*", "Identity()", own.rpartition(".")[2])
                    if "." not in own
                    else f"{own.rpartition('.')[0]}.Identity()",
                )
            )
        elif inside and inside not in ("torch", "F", "nn", "functional"):
            yield source.replace((node, inside))


@writes("TG503")
def logarithm(source: Source, finding: Any, line: int) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and _function_name(node) in ("softmax", "Softmax"):
            wanted = "log_softmax" if _function_name(node) == "softmax" else "LogSoftmax"
            func = node.func
            start = f"{source.segment(func.value)}." if isinstance(func, ast.Attribute) else ""
            yield source.replace((func, f"{start}{wanted}"))
    for node in source.calls(source.tree, "kl_div"):
        if len(node.args) >= 2:
            a, b = node.args[:2]
            yield source.replace((a, source.segment(b)), (b, source.segment(a)))
            yield source.replace((a, f"{source.segment(a)}.log()"))
            yield source.replace(
                (a, f"{source.segment(b)}.log()"), (b, f"{source.segment(a)}.exp()")
            )


@writes("TG504")
def same_shape(source: Source, finding: Any, line: int) -> Iterator[str]:
    candidates = [n for n in source.at(line) if isinstance(n, ast.Call | ast.BinOp)]
    for node in candidates:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Call) and len(node.args) >= 2:
            pairs.append((node.args[0], node.args[1]))
        if isinstance(node, ast.BinOp):
            pairs.append((node.left, node.right))
        for a, b in pairs:
            for x in (a, b):
                if isinstance(x, ast.BinOp | ast.Constant):  # not where the two shapes meet
                    continue
                text = source.segment(x)
                yield source.replace((x, f"{text}.squeeze(-1)"))
                yield source.replace((x, f"{text}.unsqueeze(-1)"))
                yield source.replace((x, f"{text}.squeeze(1)"))
    scope = source.function(line)
    for call in ast.walk(scope):
        if isinstance(call, ast.Call) and _function_name(call) in ("squeeze", "unsqueeze"):
            is_method = isinstance(call.func, ast.Attribute) and not _is_namespace(
                source, call.func
            )
            inside = source.segment(call.func.value) if is_method else _input(source, call)  # type: ignore[attr-defined]
            yield source.replace((call, inside))
    for statement in source.statements:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        if getattr(scope, "lineno", 1) <= statement.lineno <= line:
            value = source.segment(statement.value)
            yield source.replace((statement.value, f"{value}.squeeze(-1)"))


@writes("TG505")
def ignore_the_padding(source: Source, finding: Any, line: int) -> Iterator[str]:
    found = re.search(r"ignore_index=(-?\d+)", finding.fix)
    pad = found[1] if found else "0"
    for name in ("cross_entropy", "nll_loss", "CrossEntropyLoss", "NLLLoss"):
        for node in source.calls(source.tree, name):
            given = [k for k in node.keywords if k.arg == "ignore_index"]
            if given:
                yield source.replace((given[0].value, pad))
            else:
                own = source.segment(node)
                comma = "" if own.rstrip(")").endswith("(") else ", "
                yield source.replace((node, f"{own[:-1]}{comma}ignore_index={pad})"))


@writes("TG701")
def away_from_the_edge(source: Source, finding: Any, line: int) -> Iterator[str]:
    lines = [line, *range(max(1, line - 8), line + 1)]
    for at in dict.fromkeys(lines):
        for node in source.at(at):
            if not isinstance(node, ast.Call):
                continue
            name, inside = _function_name(node), _input(source, node)
            if name in ("sqrt", "log", "rsqrt", "reciprocal") and inside:
                if node.args:
                    yield source.replace((node.args[0], f"({inside}).clamp(min=1e-8)"))
                elif isinstance(node.func, ast.Attribute):
                    value = node.func.value
                    yield source.replace((value, f"({source.segment(value)}).clamp(min=1e-8)"))
            if name == "pow" and isinstance(node.func, ast.Attribute):
                raised = [
                    c.func.value for c in source.at(at)
                    if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute)
                    and c.func.attr == "pow"
                ]  # fmt: skip
                yield source.replace(
                    *((v, f"({source.segment(v)}).clamp(min=1e-8)") for v in raised)
                )
        logs = [
            c for c in source.at(at) if isinstance(c, ast.Call) and _function_name(c) == "log" and c.args
        ]  # fmt: skip
        if len(logs) > 1:
            yield source.replace(
                *((c.args[0], f"({source.segment(c.args[0])}).clamp(min=1e-8)") for c in logs)
            )
        for node in source.at(at):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                yield source.replace(
                    (node.right, f"({source.segment(node.right)}).clamp(min=1e-8)")
                )
    for word in ast.walk(source.tree):
        if isinstance(word, ast.keyword) and word.arg == "eps":
            yield source.replace((word.value, "1e-4"))
    for call in [c for n in ("Adam", "AdamW") for c in source.calls(source.tree, n)]:
        if not any(k.arg == "eps" for k in call.keywords):
            yield source.replace((call, f"{source.segment(call)[:-1]}, eps=1e-4)"))


@writes("TG804")
def descend(source: Source, finding: Any, line: int) -> Iterator[str]:
    for node in ast.walk(source.function(line)):
        turned = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        if turned and isinstance(node.operand, ast.Call | ast.Name | ast.BinOp):  # type: ignore[attr-defined]
            yield source.replace((node, source.segment(node.operand)))  # type: ignore[attr-defined]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.keyword) and node.arg == "maximize":
            yield source.replace((node.value, "False"))


@writes("TG904", "TG906")
def heads_in_their_order(source: Source, finding: Any, line: int) -> Iterator[str]:
    """Heads are split off the last axis, and put together on it."""
    if is_of_classes(finding):
        return
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in ("view", "reshape") or len(node.args) < 3:
            continue
        inner = source.segment(node.func.value)
        args = [source.segment(a) for a in node.args]
        if len(args) == 4:
            args[1], args[2] = args[2], args[1]
            yield source.replace(
                (node, f"{inner}.{node.func.attr}({', '.join(args)}).transpose(1, 2)")
            )
        else:
            yield source.replace((node, f"{inner}.transpose(1, 2).reshape({', '.join(args)})"))


@writes("TG904")
def axes_in_their_order(source: Source, finding: Any, line: int) -> Iterator[str]:
    if is_of_classes(finding):
        return
    for at in dict.fromkeys([line, *range(max(1, line - 12), line + 12)]):
        for node in source.at(at) if at <= len(source.lines) else ():
            if isinstance(node, ast.Call) and _function_name(node) in ("view", "reshape"):
                inner = (
                    _input(source, node)
                    if not isinstance(node.func, ast.Attribute)
                    else (source.segment(node.func.value))
                )
                yield source.replace((node, f"{inner}.transpose(0, 1)"))
                yield source.replace((node, f"{inner}.flatten(2).transpose(1, 2)"))
    for name in ("LSTM", "GRU", "RNN", "MultiheadAttention", "TransformerEncoderLayer"):
        for node in source.calls(source.tree, name):
            given = [k for k in node.keywords if k.arg == "batch_first"]
            if given:
                yield source.replace((given[0].value, "True"))
            else:
                yield source.replace((node, f"{source.segment(node)[:-1]}, batch_first=True)"))
    for call in ast.walk(source.tree):
        if isinstance(call, ast.Call) and _function_name(call) in (
            "softmax",
            "log_softmax",
            "Softmax",
        ):
            for k in call.keywords:
                if k.arg == "dim":
                    yield source.replace((k.value, "-1"))
            for a in call.args:
                if isinstance(a, ast.Constant):
                    yield source.replace((a, "-1"))
        if isinstance(call, ast.Call) and _function_name(call) in (
            "norm",
            "normalize",
            "sum",
            "mean",
        ):
            for k in call.keywords:
                if k.arg == "dim":
                    yield source.replace((k.value, "1"))
            for a in call.args[-1:]:
                if isinstance(a, ast.Constant) and a.value == 0:
                    yield source.replace((a, "1"))


_MASK = '.masked_fill(torch.ones({0}.shape[-2:]).triu(1).bool(), float("-inf"))'


@writes("TG906")
def only_what_came_before(source: Source, finding: Any, line: int) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        name = _function_name(node)
        if name in ("tril", "triu"):
            other = "triu" if name == "tril" else "tril"
            func = node.func
            start = f"{source.segment(func.value)}." if isinstance(func, ast.Attribute) else ""
            diagonal = "1" if other == "triu" else "0"
            inside = source.segment(node.args[0]) + ", " if node.args and len(node.args) > 1 else ""
            yield source.replace((node, f"{start}{other}({inside}{diagonal})"))
        if name == "scaled_dot_product_attention":
            for k in node.keywords:
                if k.arg == "attn_mask":
                    yield source.replace((k.value, f"~{source.segment(k.value)}"))
            if not node.keywords:
                yield source.replace((node, f"{source.segment(node)[:-1]}, is_causal=True)"))
        if name in ("softmax", "Softmax"):
            for k in node.keywords:
                if k.arg == "dim":
                    yield source.replace((k.value, "-1"))
            scores = _input(source, node)
            if name == "softmax" and scores not in ("torch", "F", "nn.functional"):
                closed = scores if scores.isidentifier() else f"({scores})"
                masked = f"{closed}{_MASK.format(closed)}"
                if node.args and not _is_number(node.args[0]):
                    yield source.replace((node.args[0], masked))
                elif isinstance(node.func, ast.Attribute):
                    yield source.replace((node.func.value, masked))
    yield from _shifted(source, line)


def _flattened(node: ast.expr) -> ast.expr:
    """What is flattened, behind `reshape(-1, k)` and its kin."""
    names = ("reshape", "view", "flatten", "contiguous")
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
    ):
        node = node.func.value
    return node


def _shifted(source: Source, line: int) -> Iterator[str]:
    """Each position is asked for the token after it."""
    for node in source.at(line):
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            continue
        if _function_name(node) in ("cross_entropy", "nll_loss"):
            logits, target = (_flattened(a) for a in node.args[:2])
            yield source.replace(
                (logits, f"{source.segment(logits)}[:, :-1]"),
                (target, f"{source.segment(target)}[:, 1:]"),
            )
            yield source.replace(
                (logits, f"{source.segment(logits)}[..., :-1]"),
                (target, f"{source.segment(target)}[..., 1:]"),
            )
    for s in source.statements:
        if isinstance(s, ast.Assign) and s.lineno <= line and isinstance(s.value, ast.Name):
            yield source.replace((s.value, f"{source.segment(s.value)}.roll(-1, 1)"))
