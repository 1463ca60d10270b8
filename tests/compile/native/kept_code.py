"""A small program whose object code is kept, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tautograd._compile.native.disk_cache import store
from tests.compile.native.programs import Builder


def program(function: str = "square") -> Builder:
    """One function of a hundred numbers."""
    build = Builder()
    x = build.view(np.arange(100, dtype="f4"))
    build.map(function, x, out=build.scratch((100,), np.dtype("f4")))
    return build


def entries(place: Path) -> list[Path]:
    """What is kept, apart from the key."""
    return sorted(path for path in place.iterdir() if path.name != store.KEY)
