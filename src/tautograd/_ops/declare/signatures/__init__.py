"""What PyTorch's functions take: one line for each overload (`table.txt`), and calls held against it.

The table is written by `tools/make_signatures.py`. It is read when a call has failed for the first
time, and not before.
"""

from __future__ import annotations

import functools
from pathlib import Path

from .checking import complaint
from .parsing import Parameter, Signature, parse

__all__ = ["Parameter", "Signature", "complaint", "parse", "signatures_of"]

_TABLE = Path(__file__).with_name("table.txt")


@functools.cache
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            found.setdefault(line.partition("(")[0], []).append(line)
    return found


@functools.cache
def signatures_of(name: str) -> tuple[Signature, ...]:
    """The overloads of a function, by the name that PyTorch gives its operator; () if none is known."""
    return tuple(parse(line) for line in _lines().get(name, ()))
