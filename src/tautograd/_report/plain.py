"""Plain values for JSON: dictionaries, lists, strings, and finite numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .._user_code.sites import Site


class Plain:
    """A dataclass that can be written as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to dictionaries, lists, strings and finite numbers."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.repr}  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """A value for JSON; `nan`, `inf` and complex numbers, which JSON lacks, become strings."""
    if isinstance(value, (Plain, Site)):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, complex):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return plain(value.tolist())
    return str(value)
