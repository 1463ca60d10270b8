"""Functions composed of several operations, such as `cross_entropy`: which operations belong to one call."""

from __future__ import annotations

from types import FrameType
from typing import Any

_BETWEEN = "handle_torch_function"  # PyTorch's function between a function and its observer


class Composed:
    """Numbers the calls of an engine's own functions, by the frames above an operation."""

    def __init__(self, engine: Any) -> None:
        self._functions = engine.nn.functional
        self._known: dict[str, bool] = {}  # a failed lookup is expensive: done once
        self._last: FrameType | None = None
        self._count = 0

    def of(self, name: str, frame: FrameType | None, user: FrameType | None) -> tuple[int, str]:
        """The number and the name of the function that the program called, if different from `name`."""
        outer = None
        while user is not None and frame is not None and frame is not user:
            called = frame.f_code.co_name
            if called not in (name, _BETWEEN) and self._is_function(called):
                outer = frame
            frame = frame.f_back
        if outer is not self._last:
            self._last = outer  # kept alive, so that no other frame gets its address
            self._count += 1
        return (self._count, outer.f_code.co_name) if outer is not None else (0, "")

    def _is_function(self, called: str) -> bool:
        if called not in self._known:
            self._known[called] = hasattr(self._functions, called)
        return self._known[called]

    def forget(self) -> None:
        """Release the frame and everything in it."""
        self._last = None
