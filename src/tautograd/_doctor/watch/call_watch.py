"""What watches every call of this thread on tensors, from `start()` to `stop()`."""

from __future__ import annotations

from typing import Any

from ..._stand_ins.function_mode import FunctionMode, is_any_in_force


class CallWatch:
    """A watch whose `_see` is shown each call; it makes the call itself and returns what that gave."""

    def __init__(self, engine: Any, doctor: Any) -> None:
        self.engine, self.doctor = engine, doctor
        self._mode: FunctionMode | None = None

    def start(self) -> bool:
        """Begin, unless another mode is in force."""
        if is_any_in_force(self.engine):
            return False
        self._mode = FunctionMode(self.engine, self._see)
        self._mode.start()
        self._began()
        return True

    def stop(self) -> None:
        if self._mode is not None:
            self._mode.stop()
            self._mode = None
            self._ended()

    def _see(self, function: Any, args: Any, kwargs: Any) -> Any:
        raise NotImplementedError

    def _began(self) -> None:
        """What else begins with the watch."""

    def _ended(self) -> None:
        """What is not needed any more."""
