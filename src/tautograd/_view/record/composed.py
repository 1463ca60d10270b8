"""Functions that are made of several operations, as `cross_entropy` is: which operations are of one call."""

from __future__ import annotations

from types import FrameType
from typing import Any

_BETWEEN = "handle_torch_function"  # PyTorch's way from a function to whoever watches it


class Composed:
    """Numbers the calls of an engine's own functions, by the frames that stand above an operation."""

    def __init__(self, engine: Any) -> None:
        self._functions = engine.nn.functional
        self._known: dict[str, bool] = {}  # a name that is missing is looked for with care: once
        self._last: FrameType | None = None
        self._count = 0

    def of(self, name: str, frame: FrameType | None, user: FrameType | None) -> tuple[int, str]:
        """The number and the name of the function that the program called, if it is another than `name`."""
        outer = None
        while user is not None and frame is not None and frame is not user:
            called = frame.f_code.co_name
            if called not in (name, _BETWEEN) and self._is_function(called):
                outer = frame
            frame = frame.f_back
        if outer is not self._last:
            self._last = outer  # held, lest another frame come to stand in its place in memory
            self._count += 1
        return (self._count, outer.f_code.co_name) if outer is not None else (0, "")

    def _is_function(self, called: str) -> bool:
        if called not in self._known:
            self._known[called] = hasattr(self._functions, called)
        return self._known[called]

    def forget(self) -> None:
        """Let go of the frame, and of all that is in it."""
        self._last = None
