"""Distributions and their divergence, mended: TG501, TG807."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .source import Source
from .writers import writes


@writes("TG501")
def probabilities_of_a_distribution(source: Source, finding: Any, line: int) -> Iterator[str]:
    for call in source.at(line):
        for k in call.keywords if isinstance(call, ast.Call) else ():
            if k.arg == "logits":
                given = source.segment(k.value)
                text = source.segment(call)
                yield source.replace((call, text.replace(f"logits={given}", f"probs={given}")))


@writes("TG807")
def divergence_with_its_sign(source: Source, finding: Any, line: int) -> Iterator[str]:
    for node in source.at(line):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
            continue
        if isinstance(node.left, ast.Constant):
            yield source.replace((node.left, f"-{source.segment(node.left)}"))
