"""How a finding is mended in source: for each code, what may be written, the likeliest first.

A writer gives whole texts. None of them is told before it was tried: a writer may guess, as long as what it
writes would be right if the finding is gone with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .source import Source

Writer = Callable[[Source, Any, int], Iterator[str]]
_WRITERS: dict[str, list[Writer]] = {}


def writes(*codes: str) -> Callable[[Writer], Writer]:
    """Register a writer for codes."""

    def add(writer: Writer) -> Writer:
        for code in codes:
            _WRITERS.setdefault(code, []).append(writer)
        return writer

    return add


def written(source: Source, finding: Any, line: int) -> Iterator[str]:
    """What might mend a finding, for a line of this file; each text once."""
    seen = {source.text}
    for writer in _WRITERS.get(finding.code, ()):
        texts = [t for t in writer(source, finding, line) if t not in seen]
        for text in sorted(dict.fromkeys(texts), key=lambda t: _distance(source, t, line)):
            seen.add(text)
            yield text


def _distance(source: Source, text: str, line: int) -> int:
    """How far from a line a text begins to be another: what is near is likelier."""
    pairs = zip(source.lines, text.splitlines(keepends=True), strict=False)
    first = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), len(source.lines))
    return abs(first - line)


def mendable() -> frozenset[str]:
    """Codes that somebody writes for."""
    return frozenset(_WRITERS)
