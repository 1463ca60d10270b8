"""What every page of the kit has in common: one file, no network, one look, light and dark."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._files.destinations import GENERATOR
from .._files.markup import escape
from .._files.printable import is_harmless

_FOLDER = Path(__file__).parent
PACKED = 1_000_000  # characters of data above which it is compressed
_TO_LOOK_AT = re.compile("<|[^ -~]")
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
TOGGLE = (
    '<button type="button" id="theme" class="quiet" hidden aria-label="Switch between light and dark">'
    "◐</button>"
)


def head(title: str, styles: Iterable[Path], about: str = "") -> str:
    """The beginning of a page, up to and with `<body>`; title and `about` are what a link to it shows."""
    card = f'<meta property="og:title" content="{escape(title)}">'
    if about:
        card += (
            f'<meta name="description" content="{escape(about)}">'
            f'<meta property="og:description" content="{escape(about)}">'
        )
    css = "".join(text_of(path) for path in (_FOLDER / "base.css", *styles))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">{GENERATOR}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>{card}<style>{css}</style></head>\n<body>"
    )


def data(value: Any, name: str = "data") -> str:
    """Data for a page's scripts, which read it as text: nothing in it can be mistaken for markup.

    Large data is compressed; the page then decompresses it before its scripts run.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    if len(text) > PACKED:
        packed = base64.b64encode(zlib.compress(text.encode("utf-8", "backslashreplace"), 6))
        return f'<script type="text/plain" id="packed-{name}">{packed.decode()}</script>'
    text = _TO_LOOK_AT.sub(_as_it_may_stand, text)
    return f'<script type="application/json" id="{name}">{text}</script>'


def _as_it_may_stand(found: re.Match[str]) -> str:
    """A character of JSON, escaped if it could end a script or would be invisible."""
    character = found[0]
    if character != "<" and is_harmless(character):
        return character
    return json.dumps(character)[1:-1] if character != "<" else "\\u003c"


def scripts(paths: Iterable[Path], *, packed: bool = False) -> str:
    """Scripts, and the switch between light and dark; with compressed data they wait for it."""
    found = [_unindented(text_of(path)) for path in (*paths, _FOLDER / "theme.js")]
    if not packed:
        return "".join(f"<script>{text}</script>" for text in found)
    waiting = "".join(f'<script type="text/plain" class="waits">{text}</script>' for text in found)
    return f"{waiting}<script>{_unindented(text_of(_FOLDER / 'unpack.js'))}</script>"


def _unindented(script: str) -> str:
    """A script without indentation and comment lines, which only its readers need."""
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")
