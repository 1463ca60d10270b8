"""Numbers that depend on sizes as text, so that they can be kept on disk; and many of them computed at once.

A lowered program for any size is data: calls of kernels, with a few hundred different expressions in place of
numbers. They are written down once, and evaluated for a size by one function that is compiled of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from .size import Size, Ways

# Each relation that a number decided, as it must be decided again: text, relation, outcome.
Decisions = list[tuple[str, str, bool]]


def in_words(built: Any) -> Any:
    """A lowered program (`Module`) with texts in place of sizes."""
    ways: Ways = built.ways
    calls = [_worded(call) for call in built.calls]
    kernels = [
        replace(kernel, **{f.name: _worded(getattr(kernel, f.name)) for f in fields(kernel)})
        for kernel in built.kernels
    ]
    decisions = decisions_of(ways)
    return replace(
        built, calls=calls, kernels=kernels, scratch=_worded(built.scratch), ways=decisions
    )


def decisions_of(ways: Ways) -> Decisions:
    """What sizes have decided."""
    from .size import text_of

    return [(text_of(terms), relation, found) for (relation, terms), found in ways.noted.items()]


def _worded(value: Any) -> Any:
    kind = type(value)
    if kind is Size:
        return value.text()
    if kind in (tuple, list):
        return kind([_worded(part) for part in value])
    return value


_NUMBERS = ("shape", "bytes_read", "bytes_written", "operations", "in_place")


def kernels_at(kernels: list[Any], symbols: tuple[str, ...], values: tuple[int, ...]) -> list[Any]:
    """What each kernel does (`Fused`) at a size."""
    named = dict(zip(symbols, values, strict=True))

    def number(value: Any) -> Any:
        if isinstance(value, str):
            return eval(value, {"__builtins__": {}}, named)
        return type(value)(map(number, value)) if isinstance(value, (tuple, list)) else value

    return [
        replace(kernel, **{name: number(getattr(kernel, name)) for name in _NUMBERS})
        for kernel in kernels
    ]


class Words:
    """A list of numbers of which some are texts: all of them as an array, for the values of the symbols."""

    def __init__(self, numbers: Iterable[Any], symbols: tuple[str, ...]) -> None:
        numbers = list(numbers)
        self.places: list[int] = []
        which: list[int] = []
        texts: dict[str, int] = {}
        for i, number in enumerate(numbers):
            if isinstance(number, str):
                self.places.append(i)
                which.append(texts.setdefault(number, len(texts)))
        self.which = np.array(which, np.int64)
        self.known = np.array([0 if isinstance(x, str) else x for x in numbers], np.int64)
        self.evaluate = evaluating(texts, symbols)

    def at(self, values: tuple[int, ...]) -> Any:
        found = self.known.copy()
        if self.places:
            found[self.places] = np.array(self.evaluate(*values), np.int64)[self.which]
        return found


def evaluating(texts: Iterable[str], symbols: tuple[str, ...]) -> Callable[..., tuple[int, ...]]:
    """A function of the symbols that gives the values of expressions, which `Size.text` has written."""
    body = "".join(f"{text}, " for text in texts)
    code = compile(f"lambda {', '.join(symbols)}: ({body})", "<sizes>", "eval")
    return eval(code, {"__builtins__": {}})  # type: ignore[no-any-return]


def holding(decisions: Decisions, symbols: tuple[str, ...]) -> Callable[..., bool]:
    """A function of the symbols that says whether all is decided alike."""
    parts = [
        f"(({text}) {'==' if relation == '==' else '<'} 0) is {found}"
        for text, relation, found in decisions
    ]
    body = " and ".join(parts) or "True"
    code = compile(f"lambda {', '.join(symbols)}: {body}", "<sizes>", "eval")
    return eval(code, {"__builtins__": {}})  # type: ignore[no-any-return]
