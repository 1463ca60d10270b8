"""Who answers: a person at a terminal, the lines of a file, or nobody (then the model answers are used)."""

from __future__ import annotations

import contextlib
import sys
from typing import IO, Protocol

from tautograd._files.terminal import say


class Left(Exception):
    """The learner wants to stop here."""


class Learner(Protocol):
    """The interface for answering prompts."""

    def answer(self, prompt: str) -> str | None:
        """The typed line; None if nobody is there to type."""
        ...


class Nobody:
    """Skips every prompt."""

    def answer(self, prompt: str) -> str | None:
        return None


class Person:
    """Someone at a terminal."""

    def __init__(self) -> None:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  (input() then has editing and a history)

    def answer(self, prompt: str) -> str | None:
        try:
            return input(prompt)
        except UnicodeDecodeError:
            return ""  # not an answer: the accepted ones are repeated
        except EOFError:  # Ctrl-D
            say()
            raise Left from None


class Lines:
    """Answers from a file, one per line; once they are used up, nobody is there."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = sys.stdin if stream is None else stream
        self.is_empty = False

    def answer(self, prompt: str) -> str | None:
        try:
            line = "" if self.is_empty else self._stream.readline()
        except UnicodeDecodeError:
            raise Left("what is typed is not text") from None
        if not line:
            self.is_empty = True
            return None
        typed = line.rstrip("\r\n")
        say(f"{prompt}{typed}")
        return typed
