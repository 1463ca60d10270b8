"""Rows that are taken several times at once, added to, and written back: only one of them stays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._user_code.sites import Site
from ...._user_code.stack import user_stack
from .base import Lens, rows_taken

_ARITHMETIC = frozenset(
    ("add", "add_", "sub", "sub_", "__iadd__", "__isub__", "maximum", "minimum", "rsub", "__radd__")
)


class RepeatedRows(Lens):
    """`t[index] += values`, where `index` names a row more than once."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[list[Site], int, int]] = []  # the line, rows written, different ones

    def see(self, name: str, args: Any, kwargs: Any, given: list[Any], made: list[Any]) -> None:
        if name == "__getitem__" and len(made) == 1 and given:
            rows = rows_taken(args[-1])
            if rows is not None:
                self.known.put(made[0], (id(given[0]), rows.tobytes()))
        elif name in _ARITHMETIC and made:
            taken = next((known for t in given if (known := self.known.get(t)) is not None), None)
            if taken is not None:
                self.known.put(made[0], taken)
        elif name == "__setitem__" and len(args) == 3 and hasattr(args[2], "numel"):
            taken, rows = self.known.get(args[2]), rows_taken(args[1])
            if taken is None or rows is None or taken != (id(args[0]), rows.tobytes()):
                return
            different = len(np.unique(rows))
            if different < len(rows):
                self.found.append((user_stack(), len(rows), different))
