"""Questions with answers that can be checked, and replies that say what was off."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

_NUMBER = re.compile(r"[-+]?(?:inf\b|nan\b|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)", re.IGNORECASE)
_FRACTION = re.compile(rf"({_NUMBER.pattern})\s*/\s*({_NUMBER.pattern})", re.IGNORECASE)
_DRESS = re.compile(
    r"tensor|torch\.\w+|dtype\s*=\s*[\w.]+|[A-Za-z]\w*(?:\.\w+)*\s*=|[()\[\],;=]|and"
)


@dataclass(frozen=True)
class Reply:
    """The reply to an answer."""

    kind: Literal["right", "wrong", "unread"]
    say: str


@dataclass(frozen=True)
class Number:
    """A question whose answer is a number, or several in a row."""

    ask: str
    answer: float | tuple[float, ...]
    why: str
    hint: str = ""
    within: float = 0.005
    """The accepted deviation."""
    slips: Mapping[float | tuple[float, ...], str] = field(default_factory=dict)
    """Replies to likely wrong answers."""

    @property
    def expects(self) -> str:
        """The kind of answer expected."""
        count = len(_row(self.answer))
        return "a number" if count == 1 else f"{count} numbers"

    @property
    def model(self) -> str:
        """The answer as one would type it."""
        return " ".join(f"{value:g}" for value in _row(self.answer))

    def check(self, typed: str) -> Reply:
        """The reply to this answer."""
        given = numbers_in(typed)
        if given is None:
            return Reply(
                "unread",
                f"I cannot read '{typed.strip()}' as {self.expects}. "
                "Write numbers like 4, -0.5, 1/3 or 1e-3.",
            )
        awaited = _row(self.answer)
        if len(given) != len(awaited):
            read = ", ".join(f"{value:g}" for value in given) or "none"
            wanted = f"{self.expects} {'is' if len(awaited) == 1 else 'are'} wanted here"
            return Reply("unread", f"{wanted[0].upper()}{wanted[1:]}; I read {read}.")
        if self._close(given, awaited):
            return Reply("right", "")
        for slip, reply in self.slips.items():
            if self._close(given, _row(slip)):
                return Reply("wrong", reply)
        return Reply("wrong", "")

    def _close(self, given: tuple[float, ...], other: tuple[float, ...]) -> bool:
        return len(given) == len(other) and all(
            one == two or abs(one - two) <= self.within or (math.isnan(one) and math.isnan(two))
            for one, two in zip(given, other, strict=True)
        )


@dataclass(frozen=True)
class Choice:
    """A multiple-choice question with options a, b, c …"""

    ask: str
    options: tuple[str, ...]
    answer: str
    why: str
    hint: str = ""
    slips: Mapping[str, str] = field(default_factory=dict)

    @property
    def letters(self) -> str:
        """The letters of the options."""
        return "abcdefgh"[: len(self.options)]

    @property
    def expects(self) -> str:
        """The kind of answer expected."""
        return f"{', '.join(self.letters[:-1])} or {self.letters[-1]}"

    @property
    def model(self) -> str:
        """The answer as one would type it."""
        return self.answer

    def check(self, typed: str) -> Reply:
        """The reply to this answer."""
        given = typed.strip().strip("().").lower()
        for letter, option in zip(self.letters, self.options, strict=True):
            if given == option.strip().strip(".").lower():
                given = letter
        if len(given) != 1 or given not in self.letters:
            return Reply("unread", f"'{typed.strip()}' is none of them. Type {self.expects}.")
        if given == self.answer:
            return Reply("right", "")
        return Reply("wrong", self.slips.get(given, ""))


Question = Number | Choice


def numbers_in(typed: str) -> tuple[float, ...] | None:
    """The numbers in an answer, however formatted; None if there is anything else."""
    found: list[tuple[int, float]] = []

    def take(match: re.Match[str]) -> str:
        if match.re is _FRACTION:
            if not float(match[2]):
                return match[0]  # division by zero: not a number
            value = float(match[1]) / float(match[2])
        else:
            value = float(match[0])
        found.append((match.start(), value))
        return " " * len(match[0])

    rest = _NUMBER.sub(take, _FRACTION.sub(take, _DRESS.sub(" ", typed)))
    if rest.strip() or not found:
        return None
    return tuple(value for _, value in sorted(found, key=lambda pair: pair[0]))


def _row(value: float | tuple[float, ...]) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)
