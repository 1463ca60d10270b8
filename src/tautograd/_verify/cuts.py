"""Where the graph was cut although the value goes on."""

from __future__ import annotations

from typing import Any

from .findings import Cut


def find_cuts(*args: Any, **options: Any) -> list[Cut]:
    return []
