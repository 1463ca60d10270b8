"""Axes that a view has exchanged, a norm was taken over or an index chose from, mended: TG904, TG312."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .source import Source
from .writers import writes


def is_of_classes(finding: Any) -> bool:
    """Whether channels or classes were exchanged with places: only one change puts those right."""
    return "channels and places" in finding.message or "classes of one place" in finding.message


@writes("TG904")
def channels_to_their_axis(source: Source, finding: Any, line: int) -> Iterator[str]:
    if not is_of_classes(finding):
        return
    views = [
        node
        for node in source.at(line)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("view", "reshape")
    ]
    for node in views:
        assert isinstance(node.func, ast.Attribute)
        inner = source.segment(node.func.value).removesuffix(".contiguous()")
        args = ", ".join(source.segment(a) for a in node.args)
        order = "movedim(1, -1)" if len(node.args) < 4 else "transpose(1, 2)"
        yield source.replace((node, f"{inner}.{order}.reshape({args})"))


@writes("TG904")
def norm_of_each(source: Source, finding: Any, line: int) -> Iterator[str]:
    if "norm" not in finding.message:
        return
    changes = []
    for node in source.at(line):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr == "norm" and not any(k.arg == "keepdim" for k in node.keywords):
            inner = source.segment(node.func.value)
            changes.append((node, f"{inner}.norm(dim=-1, keepdim=True)"))
    if changes:
        yield source.replace(*changes)


@writes("TG312")
def state_of_the_last_layer(source: Source, finding: Any, line: int) -> Iterator[str]:
    if "upper layer" not in finding.message:
        return
    for node in ast.walk(source.function(line)):
        if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
            continue
        if node.slice.value == 0:
            yield source.replace((node.slice, "-1"))
