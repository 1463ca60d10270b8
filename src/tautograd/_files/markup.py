"""Escaping foreign text for a page: no markup, no invisible characters, none that change text direction."""

from __future__ import annotations

from html import escape as _escape

from .printable import printable


def escape(text: str) -> str:
    """`text` escaped for a page, between tags or in an attribute value."""
    return _escape(printable(text, lines=True))
