"""Tune the C library's allocator for arrays: freed memory stays with the process, for reuse.

glibc returns large blocks to the system as soon as they are freed, and the system hands out new ones page by page,
zeroed, on first touch. A training step frees and allocates the same sizes every time, and a fifth of its
time was spent on that. Peak memory is the same, but memory below the peak is not returned in between. If one of the
allocator's own variables is set, nothing is changed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # mallopt's parameter numbers, from malloc.h
_LARGEST_KEPT = 256 << 20  # bytes of a block; larger ones are returned to the system
_MOST_KEPT = 1 << 30
_THEIRS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")


def keep_freed_memory() -> None:
    """Set glibc's thresholds; a no-op with another C library, which has no such function."""
    if any(name in os.environ for name in _THEIRS):
        return
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 (others have a mallopt that means something else)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
        library.mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
