"""`torch.distributed.tensor.experimental`: of it, what says that plain tensors count as replicated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["implicit_replication"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """A plain tensor that meets a `DTensor` is taken to be the same on every rank; so it is outside, too."""
    yield
