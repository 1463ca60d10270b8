"""How the C library's allocator treats arrays: freed memory stays with the process, to be used again.

glibc gives large blocks back to the system as soon as they are freed, and the system hands out new ones page by page,
zeroed, at the first touch of each. A training step frees and takes the same sizes every time, so a fifth of the
time of a step went into that. The peak is the same; what is held below it is not given back in between. Whoever has
set one of the allocator's own variables has decided otherwise.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of mallopt's, from malloc.h
_LARGEST_KEPT = 256 << 20  # bytes of a block; larger ones come and go with the system
_MOST_KEPT = 1 << 30
_THEIRS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")


def keep_freed_memory() -> None:
    """Tell glibc; another C library has no such function, and does not hear of it."""
    if any(name in os.environ for name in _THEIRS):
        return
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 (others have a mallopt that means something else)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
        library.mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
