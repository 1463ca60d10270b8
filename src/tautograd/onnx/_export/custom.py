"""A program's own translation rules for operations: `custom_translation_table`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..._ops.declare.record import REGISTRY


def checked_table(table: Any) -> dict[str, Callable[..., Any]]:
    """Rules keyed by record name: `{torch.erfinv: rule}`.

    A rule is called like those in `lowerings/`.
    """
    if table is None:
        return {}
    if not isinstance(table, Mapping):
        raise TypeError(f"custom_translation_table must be a dict, but got {type(table).__name__}")
    found: dict[str, Callable[..., Any]] = {}
    for target, rule in table.items():
        if not callable(rule):
            raise TypeError(
                "The value in custom_translation_table should be a single callable, not a sequence"
            )
        name: Any = getattr(target, "__name__", target if isinstance(target, str) else None)
        records = [op.name for op in REGISTRY.values() if op.public_name.rpartition(".")[2] == name]
        if name in REGISTRY:
            records.append(name)
        if not records:
            raise ValueError(
                f"custom_translation_table: {target!r} is no operation of this library (a function such as "
                "torch.erfinv, which the rule stands for)"
            )
        found.update((record, rule) for record in records)
    return found
