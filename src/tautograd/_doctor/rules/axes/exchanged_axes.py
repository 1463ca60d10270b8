"""Views that give two axes each other's length and move no number."""

from __future__ import annotations

import math
from typing import Any


def exchanged(before: Any, after: Any) -> str:
    """What to say of a view that has two neighbouring lengths in the other order, and all else as it was;
    a length may be that of several axes together, as that of rows and columns is of pixels."""
    a, b = tuple(map(int, before)), tuple(map(int, after))
    for i in range(len(a) - 1) if len(a) == len(b) >= 3 else ():
        if a[:i] == b[:i] and a[i + 2 :] == b[i + 2 :] and _swapped(a[i : i + 2], b[i : i + 2]):
            which = "the first two" if i == 0 else "two neighbouring"
            return (
                f"A view makes {b} of {a}: it exchanges {which} lengths and moves no number, so each row "
                "holds parts of several others."
            )
    for whole, split in ((a, b), (b, a)):
        if len(whole) == 3 and len(split) == 4 and whole[0] == split[0]:
            # (samples, tokens, features) beside (samples, heads, tokens, features of a head)
            heads, tokens, part = split[1:]
            if whole[1:] == (tokens, heads * part) and _swapped((heads, tokens), (tokens, heads)):
                return (
                    f"A view makes {b} of {a}: heads and tokens change places and no number moves, so each "
                    "head holds all features of some tokens, not some features of all of them."
                )
    for many, few in ((a, b), (b, a)):
        if len(few) == 3 and len(many) >= 3 and many[0] == few[0]:
            # (samples, channels, rows, columns) beside (samples, pixels, channels)
            pixels = math.prod(many[2:])
            if (many[1], pixels) == (few[2], few[1]) and _swapped((many[1], pixels), few[1:]):
                return (
                    f"A view makes {b} of {a}: it exchanges channels and places and moves no number, so "
                    "the channels of a place are values of one channel at several places."
                )
    return ""


def scattered_classes(before: Any, after: Any) -> str:
    """What to say of (samples, classes, places...) viewed as (all, classes), whose rows a loss reads."""
    a, b = tuple(map(int, before)), tuple(map(int, after))
    if len(b) != 2 or len(a) < 3 or a[1] != b[1] or b[1] < 2 or math.prod(a[2:]) < 2:
        return ""
    if a[-1] == b[1]:
        return ""  # the classes may well be the last axis
    return (
        f"A view makes {b} of {a}: each row is taken for the {b[1]} classes of one place, and holds the "
        f"scores of one class at {b[1]} places."
    )


def _swapped(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one[0] != one[1] and one == (other[1], other[0]) and min(one) > 1
