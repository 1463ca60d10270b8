"""`Stateful`: an object with its own state, as `save` and `load` accept it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """Something that has a state and can restore it."""

    def state_dict(self) -> dict[str, Any]:
        """What to write; when loading, what the checkpoint is read into."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what was read."""
        ...
