"""Decorators that add a program as a row of the catalogue."""

from __future__ import annotations

from typing import Any

from .table import right, wrong


def wrong_program(
    kind: str,
    name: str,
    operations: str,
    cut: bool = False,
    options: Any = lambda torch: {},
    batch: str = "third",
) -> Any:
    def add(build: Any) -> Any:
        wrong(kind, name, operations, build, cut=cut, options=options, batch=batch)
        return build

    return add


def right_program(
    kind: str, name: str, options: Any = lambda torch: {}, batch: str = "third"
) -> Any:
    def add(build: Any) -> Any:
        right(kind, name, build, options, batch)
        return build

    return add
