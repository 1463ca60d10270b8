"""The mode in which PyTorch reads `x[i]` with a tensor `i` as an index and not as a number.

`vmap` follows such an index here by itself, so inside the mode nothing is different.
"""

from __future__ import annotations

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """Inside, `x[i]` inside of `vmap` gathers; it always does."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
