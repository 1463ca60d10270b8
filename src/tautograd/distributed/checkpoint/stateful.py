"""`Stateful`: what `save` and `load` take for a state of its own."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """Something that gives a state, and takes one back."""

    def state_dict(self) -> dict[str, Any]:
        """What is to be written; when loading, what the checkpoint is read into."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what was read."""
        ...
