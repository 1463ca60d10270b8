"""The error of a check of ours for which PyTorch's signature of the function may have better words."""

from __future__ import annotations

from typing import Any


class WrongArgument(TypeError):
    """An argument of the wrong kind, in words of ours: the function's signature has PyTorch's, if it is known.

    To whoever catches or prints it, it is a TypeError.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return TypeError, self.args


WrongArgument.__name__ = WrongArgument.__qualname__ = "TypeError"
WrongArgument.__module__ = "builtins"
