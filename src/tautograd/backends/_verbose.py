"""The `with` block in which a library that this engine does not use would print what it runs."""

from __future__ import annotations

from typing import Any, Self


class Verbose:
    """Prints nothing: nothing is run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return None
