"""What goes wrong between processes: PyTorch's classes."""

from __future__ import annotations

__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "QueueEmptyError",
]


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """A collective could not be completed."""


class DistNetworkError(DistError):
    """Another process could not be reached."""


class DistStoreError(DistError):
    """A store did not answer, or a key did not appear in time."""


class QueueEmptyError(DistStoreError):
    """Nothing is in the queue of a store."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = "torch.distributed"
