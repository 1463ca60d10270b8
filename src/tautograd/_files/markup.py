"""Text from elsewhere in a page: no markup, and nothing that cannot be seen or turns text around."""

from __future__ import annotations

from html import escape as _escape

from .printable import printable


def escape(text: str) -> str:
    """`text` as it may stand in a page, between tags or in the value of an attribute."""
    return _escape(printable(text, lines=True))
