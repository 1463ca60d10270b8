"""cuSPARSELt, which there is none of."""

from __future__ import annotations

__all__ = ["get_max_alg_id", "is_available", "version"]


def version() -> int | None:
    """The version of cuSPARSELt: none."""
    return None


def is_available() -> bool:
    """Whether cuSPARSELt can be used: no."""
    return False


def get_max_alg_id() -> int | None:
    """The number of its last algorithm: none."""
    return None
