"""The order in which `einsum` multiplies more than two operands: from left to right, always."""

from __future__ import annotations

from typing import Any

from ._switches import switches

__all__ = ["enabled", "flags", "get_opt_einsum", "is_available", "set_flags", "strategy"]

enabled = False
strategy: str | None = None

set_flags, flags = switches(__name__, enabled=None, strategy=None)


def is_available() -> bool:
    """Whether the package that looks for a better order is used: no."""
    return False


def get_opt_einsum() -> Any:
    """That package: none."""
    return None
