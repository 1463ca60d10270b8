"""Foreign JSON: UTF-8, as its standard requires.

`json.loads` guesses the encoding of bytes, and imports a codec for its guess; for text that is nested too deep it
raises an error of another class than for all others.
"""

from __future__ import annotations

import codecs
import json
from typing import Any


def parsed(data: bytes) -> Any:
    """The parsed text; a ValueError says why it cannot be parsed."""
    try:
        return json.loads(str(data.removeprefix(codecs.BOM_UTF8), "utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
