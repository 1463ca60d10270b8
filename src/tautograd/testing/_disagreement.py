"""A disagreement between two results: where, why, and as which exception."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Disagreement(Exception):
    """Carries a message and the path to the leaf it is about, until the error is raised."""

    def __init__(self, kind: type[Exception], message: str, path: tuple[Any, ...]) -> None:
        super().__init__(message)
        self.kind, self.message, self.path = kind, message, path

    def error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The exception to raise: with this message, or transformed by `msg`."""
        if isinstance(msg, str):
            return self.kind(msg)
        said = self.message
        if self.path:
            where = "".join(f"[{step!r}]" for step in self.path)
            said += f"\n\nThe failure occurred for item {where}"
        return self.kind(msg(said) if msg is not None else said)
