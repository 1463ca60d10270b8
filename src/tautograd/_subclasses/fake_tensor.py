"""Whether a tensor is one of PyTorch's stand-ins without values: there are none here."""

from __future__ import annotations

__all__ = ["is_fake"]


def is_fake(x: object) -> bool:
    """Never: every tensor here has its values, or says that it is on the `meta` device."""
    return False
