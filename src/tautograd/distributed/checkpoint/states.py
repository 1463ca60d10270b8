"""A state, which is nested dictionaries, as one dictionary whose keys are paths."""

from __future__ import annotations

from typing import Any

from .folder import CheckpointException


def flattened(state: Any, prefix: tuple[str, ...] = ()) -> dict[str, Any]:
    """Flatten nested dicts to one whose keys are paths; `/` in a name is written as `//`."""
    if not isinstance(state, dict):
        if hasattr(state, "state_dict") and not hasattr(state, "_data"):
            return flattened(state.state_dict(), prefix)
        return {"/".join(prefix): state}
    found: dict[str, Any] = {}
    for key, value in state.items():
        found.update(flattened(value, (*prefix, name_of(key))))
    return found


def name_of(key: Any) -> str:
    if isinstance(key, int) and not isinstance(key, bool):
        return f"#{key}"
    if not isinstance(key, str):
        raise CheckpointException(f"keys of a state are text or whole numbers, not {key!r}")
    return key.replace("/", "//")


def keys_of(path: str) -> list[Any]:
    """The keys that a path consists of."""
    marked = path.replace("//", "\0")
    parts = [part.replace("\0", "/") for part in marked.split("/")]
    return [int(part[1:]) if part[:1] == "#" and part[1:].isdecimal() else part for part in parts]
