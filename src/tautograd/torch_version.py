"""Versions as text that can be compared: with other text, and with tuples of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]

_FORM = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>a|b|rc|alpha|beta|c)[-_.]?(?P<pre_number>\d*))?"
    r"(?:[-_.]?(?:post|r)[-_.]?(?P<post>\d*)|-(?P<bare_post>\d+))?"
    r"(?:[-_.]?dev[-_.]?(?P<dev>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "rc": 2, "c": 2}
_FINAL, _DEV_ONLY = 3, -1


def _key(text: str) -> tuple[Any, ...]:
    """What orders versions: release, then pre-release, post-release, development, local part."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"Invalid version: '{text}'")
    release = [int(part) for part in found["release"].split(".")]
    while len(release) > 1 and not release[-1]:
        release.pop()  # 2.0 is 2.0.0
    post = found["post"] if found["post"] is not None else found["bare_post"]
    after = -1 if post is None else int(post or 0)
    dev = float("inf") if found["dev"] is None else int(found["dev"] or 0)
    if found["pre"] is not None:
        before = (_STAGES[found["pre"].lower()], int(found["pre_number"] or 0))
    else:
        # A development version of a release comes before its pre-releases.
        before = (_DEV_ONLY if found["dev"] is not None and after < 0 else _FINAL, 0)
    local = re.split(r"[-_.]", found["local"].lower()) if found["local"] else []
    parts = [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in local]
    return (*(tuple(release),), before, after, dev, parts)


def _text(other: Any) -> str:
    if isinstance(other, str):
        return other
    if isinstance(other, Iterable):
        return ".".join(map(str, other))
    if hasattr(other, "release"):  # a parsed version of the package `packaging`
        return str(other)
    raise TypeError(f"a version cannot be compared with {type(other).__name__!r}")


class TorchVersion(str):
    """A version: a string that is ordered as versions are.

    >>> TorchVersion("2.13.0+local") >= (2, 9)
    True
    """

    __slots__ = ()

    def _compared(self, other: Any, decide: Any, as_text: Any) -> bool:
        text = _text(other)
        try:
            return bool(decide(_key(str(self)), _key(text)))
        except ValueError:  # one of them is no version ("parrot"): as strings are compared
            return bool(as_text(str(self), text))

    def __lt__(self, other: Any) -> bool:
        return self._compared(other, tuple.__lt__, str.__lt__)

    def __le__(self, other: Any) -> bool:
        return self._compared(other, tuple.__le__, str.__le__)

    def __gt__(self, other: Any) -> bool:
        return self._compared(other, tuple.__gt__, str.__gt__)

    def __ge__(self, other: Any) -> bool:
        return self._compared(other, tuple.__ge__, str.__ge__)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Iterable) and not hasattr(other, "release"):
            return NotImplemented
        return self._compared(other, tuple.__eq__, str.__eq__)

    def __ne__(self, other: object) -> bool:
        return str(self) != other  # as PyTorch's: text by text

    def __hash__(self) -> int:
        return str.__hash__(self)
