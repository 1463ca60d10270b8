"""A page."""

from __future__ import annotations

from .report import Plain


def as_page(report: Plain, root: str | None = None) -> str:
    return ""
