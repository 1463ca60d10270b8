"""The wording that reports share: places, lists of names, counts, figures, and untrusted texts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .._files.printable import printable

_LONGEST = 2000  # characters of one text


def place(site: Mapping[str, Any] | None, root: str | None = None) -> str:
    """`train.py:12`, relative to the user's folder."""
    return "(no line)" if site is None else f"{near(site['file'], root)}:{site['line']}"


def near(file: str, root: str | None = None) -> str:
    """A file's path relative to a folder, if it is inside; else unchanged."""
    root = os.getcwd() if root is None else root
    try:
        relative = os.path.relpath(file, root)
    except ValueError:  # another drive
        return file
    return file if file.startswith("<") or relative.startswith(os.pardir) else relative


def shared_place(file: str, root: str | None = None) -> str:
    """A file's name for shared pages: relative to a folder, or with its own folder, never in full."""
    found = near(file, root)
    if found.startswith("<") or not os.path.isabs(found):
        return found
    return os.path.join(os.path.basename(os.path.dirname(found)), os.path.basename(found))


def site_text(site: Mapping[str, Any] | None, *, shared: bool = False) -> str:
    """`train.py:12 in forward: y = f(x)`, from a line of code as `Site.to_dict()` returns it.

    `shared` is for what is passed on to others: it contains no full path.
    """
    if not site:
        return ""
    inside = site.get("function")
    where = f"{shared_place(site['file']) if shared else site['file']}:{site['line']}"
    if inside and inside != "<module>":
        where += f" in {inside}"
    return f"{where}: {site['text']}" if site.get("text") else where


def listed(names: Sequence[Any], most: int = 4) -> str:
    """Names in a row; of many, the first few and a count of the rest."""
    if len(names) <= most + 1:
        return ", ".join(map(str, names))
    return f"{', '.join(map(str, names[:most]))} and {len(names) - most} more"


def counted(number: int, noun: str, several: str = "") -> str:
    """'1 step', '3 steps'."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def tallied(words: Sequence[str], order: Sequence[str]) -> str:
    """The count of each word, in a given order: '3 fine, 1 zero'."""
    kinds = [word for word in order if word in words]
    kinds += sorted(set(words) - set(order))
    return ", ".join(f"{words.count(word)} {word}" for word in kinds)


def figure(value: Any, digits: int = 4) -> str:
    """A float in a few digits; anything else (a count, `nan` as text) unchanged."""
    if isinstance(value, float):
        return f"{value + 0.0:.{digits}g}"  # without the sign of a negative zero
    if isinstance(value, (list, tuple)):
        return ", ".join(figure(part, digits) for part in value)
    return str(value)


def shape_text(shape: Any) -> str:
    """A shape as Python writes a tuple."""
    return str(tuple(shape))


def for_terminal(value: Any) -> Any:
    """A plain value with every text in it printable and of bounded length."""
    if isinstance(value, str):
        text = printable(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {for_terminal(key): for_terminal(item) for key, item in value.items()}
    return [for_terminal(item) for item in value] if isinstance(value, (list, tuple)) else value
