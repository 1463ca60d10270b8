"""JSON that came from elsewhere: UTF-8, as its standard has it.

`json.loads` guesses how bytes are encoded, and imports a codec for what it guesses; a nest that is too deep is
an error of another class than all others.
"""

from __future__ import annotations

import codecs
import json
from typing import Any


def parsed(data: bytes) -> Any:
    """What the text holds; a ValueError says why there is nothing."""
    try:
        return json.loads(str(data.removeprefix(codecs.BOM_UTF8), "utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
