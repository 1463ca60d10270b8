"""Shows a page: opened in the browser from a file of its own, or framed in a notebook."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path

from .._files.markup import escape
from .._files.printable import utf8


def open_page(page: str, kind: str) -> Path:
    """Write a page to a persistent file and open it; without a browser, the path is enough."""
    handle, path = tempfile.mkstemp(prefix=f"tautograd-{kind}-", suffix=".html")
    with os.fdopen(handle, "wb") as file:
        file.write(utf8(page))
    found = Path(path)
    webbrowser.open(found.as_uri())
    return found


def as_frame(page: str, title: str) -> str:
    """A page inside another one: it can run scripts, but reach nothing around it."""
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts" srcdoc="{escape(page)}" '
        'style="width:100%;height:640px;border:1px solid #8884;border-radius:6px"></iframe>'
    )
