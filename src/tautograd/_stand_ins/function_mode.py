"""A `TorchFunctionMode` that sees every call on tensors, and can be exited at any time.

Exiting PyTorch's mode stack pops whichever is on top. A mode entered before a user's and exited
before it would remove the user's and stay itself: so this one is removed from its own position.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

See = Callable[[Any, Any, Any], Any]


def is_any_in_force(engine: Any) -> bool:
    """Whether this thread has entered a mode, other than one that only sets a device."""
    overrides = importlib.import_module(f"{engine.__name__}.overrides")
    stack = overrides._get_current_function_mode_stack()
    return any(type(mode).__name__ != "DeviceContext" for mode in stack)


class FunctionMode:
    """Passes every call of this thread to `see(function, args, kwargs)`, from `start` to `stop`.

    Without `writes`, tautograd shows the operations that an in-place write consists of, which is faster
    to start.
    """

    def __init__(self, engine: Any, see: See, *, writes: bool = True) -> None:
        overrides = importlib.import_module(f"{engine.__name__}.overrides")
        # An engine may have modes that see operations, and cost nothing where there are none.
        self._overrides: Any = getattr(overrides, "_OfOperations", overrides)
        self._see: See | None = see
        self._thread = 0

        def torch_function(
            mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            see = self._see
            return func(*args, **kwargs or {}) if see is None else see(func, args, kwargs or {})

        members = {"__torch_function__": torch_function, "sees_writes": writes}
        self._mode = type("Watching", (self._overrides.TorchFunctionMode,), members)()

    def start(self) -> None:
        self._thread = threading.get_ident()
        self._mode.__enter__()

    def stop(self) -> None:
        """Exit it; on another thread's stack, which cannot be reached, it becomes a no-op."""
        self._see = None
        if threading.get_ident() == self._thread:
            self._leave()
        elif release := getattr(self._overrides, "_release_mode", None):
            release(self._mode)

    def _leave(self) -> None:
        pop, push = self._overrides._pop_mode, self._overrides._push_mode
        stack = self._overrides._get_current_function_mode_stack()
        place = next((i for i, mode in enumerate(stack) if mode is self._mode), len(stack) - 1)
        # If it is missing, somebody exited it in place of their own, and left theirs.
        above = [pop() for _ in stack[place:]]
        for mode in reversed(above[:-1]):
            push(mode)

    def __enter__(self) -> FunctionMode:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
