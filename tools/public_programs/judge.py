"""Whether two texts are the same, the same up to rounding, or different.

Up to rounding means the same words, and numbers within `RELATIVE` of each other, or one unit of the
last printed place, or, if several stand in a row, within that fraction of the largest of the row.
"""

from __future__ import annotations

import math
import re

RELATIVE = 1e-3
_NUMBER = re.compile(
    r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)(?![\w])|\bnan\b|\binf\b"
)
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def verdict(expected: str, got: str) -> str:
    """'same', 'rounding' or 'differs'."""
    expected, got = plain(expected), plain(got)
    if expected == got:
        return "same"
    if words(expected) != words(got):
        return "differs"
    pairs = zip(numbers(expected), numbers(got), strict=True)
    return "rounding" if all(close(a, b) for a, b in pairs) else "differs"


def plain(text: str) -> str:
    """The text without memory addresses, which change from run to run, and the engine's own name."""
    text = _ADDRESS.sub("0x", text)
    return text.replace("tautograd.", "torch.").replace("+tautograd", "").replace("+cpu", "")


def words(text: str) -> str:
    """The text without its numbers and without spaces, which only align them."""
    return "".join(_NUMBER.sub("#", text).split())


def numbers(text: str) -> list[str]:
    """The numbers in a text, as written."""
    return _NUMBER.findall(text)


def close(a: str, b: str) -> bool:
    """Whether two printed numbers are the same up to rounding."""
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    if not (math.isfinite(x) and math.isfinite(y)):
        return str(x) == str(y)
    if "." not in a and "e" not in a.lower():
        return False
    digits = len(a.lower().partition("e")[0].partition(".")[2])
    exponent = int(a.lower().partition("e")[2] or 0)
    last_place = 10.0 ** (exponent - digits)
    return abs(x - y) <= max(RELATIVE * max(abs(x), abs(y)), 1.01 * last_place, 1e-6)


def first_difference(expected: str, got: str) -> str:
    """The first line that differs, from both."""
    ours, theirs = plain(got).splitlines(), plain(expected).splitlines()
    for a, b in zip(theirs, ours, strict=False):
        if a != b and verdict(a, b) == "differs":
            return f"{a[:100]!r} / {b[:100]!r}"
    return f"{len(theirs)} / {len(ours)} lines"
