"""Values as JSON has them: dictionaries, lists, strings, and numbers that are finite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .._user_code.sites import Site


class Plain:
    """A dataclass that can be written as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Itself as dictionaries, lists, strings and finite numbers."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.repr}  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """A value as JSON has it; `nan`, `inf` and complex numbers, which it has not, as strings."""
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
