"""Temporary files whose leftovers can be told from files still being written.

The writer holds a lock on such a file while it writes, and the system releases the lock
when the writer exits, however that happens. So a file that can be locked was left by a
writer that was killed. Locks of a network file system may not reach other computers: a name says on
which one, and since which boot, the file was created, and one from elsewhere must also be untouched
for a day.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import secrets
import stat
from dataclasses import dataclass
from typing import Any

_fcntl: Any = None
with contextlib.suppress(ImportError):  # no locks on this system: then nothing counts as dead
    import fcntl

    _fcntl = fcntl

_DAY = 24 * 60 * 60.0
_TRIES = 100
_NO_FOLLOWING = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class Temporary:
    """A file beside its target; its lock is released when `handle` is closed."""

    path: str
    handle: int

    def remove(self) -> None:
        """Remove it, if it still exists."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)

    def close(self) -> None:
        """Close it, which releases the lock."""
        with contextlib.suppress(OSError):
            os.close(self.handle)


def make(target: str, mode: int = 0o600) -> Temporary:
    """Create a new file in the folder of `target`, locked; dead ones for the same target are removed."""
    start, machine = _start_of(target), _this_machine() or "elsewhere"
    for _ in range(_TRIES):
        path = os.path.join(
            os.path.dirname(target), f"{start}{machine}.{secrets.token_hex(6)}.part"
        )
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, mode)
        except FileExistsError:
            continue
        made = Temporary(path, handle)
        try:
            if not _lock(handle) or os.fstat(handle).st_nlink == 0:
                # Between creation and locking, somebody took it for dead.
                made.remove()
                made.close()
                continue
            clear_dead(target, os.fstat(handle).st_mtime)
        except BaseException:
            made.remove()
            made.close()
            raise
        return made
    raise FileExistsError(f"no name is free for a temporary file beside '{target}'")


def clear_dead(target: str, now: float) -> None:
    """Remove what killed writers of `target` have left; `now` is by the folder's clock."""
    start = _start_of(target)
    names = re.compile(re.escape(start) + r"(elsewhere|[0-9a-f]{8})\.[0-9a-f]{12}\.part")
    folder = os.path.dirname(target)
    try:
        with os.scandir(folder) as entries:
            found = [(m[0], m[1]) for entry in entries if (m := names.fullmatch(entry.name))]
    except OSError:  # a folder that is writable but not readable
        return
    for name, machine in found:
        with contextlib.suppress(OSError):
            _clear_if_dead(os.path.join(folder, name), machine == _this_machine(), now)


def _clear_if_dead(path: str, is_made_here: bool, now: float) -> None:
    handle = os.open(path, os.O_RDWR | _NO_FOLLOWING | _FLAGS)
    try:
        status = os.fstat(handle)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not is_ours or not (is_made_here or now - status.st_mtime > _DAY):
            return
        if _fcntl is None:
            return
        _fcntl.flock(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)  # an OSError: being written
        current = os.stat(path, follow_symlinks=False)
        if (current.st_dev, current.st_ino) == (status.st_dev, status.st_ino):
            os.unlink(path)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Lock a file; False if it is already locked. Without locks, no file counts as dead."""
    if _fcntl is None:
        return True
    try:
        _fcntl.flock(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _start_of(target: str) -> str:
    """The prefix of all temporaries of one file: readable, and within the limit for names."""
    name = os.path.basename(target)
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return f".{re.sub(r'[^A-Za-z0-9._-]', '_', name)[:60]}.{digest}."


@functools.cache
def _this_machine() -> str:
    """An id for this computer since its last boot; empty if it has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return hashlib.sha256(file.read() + os.uname().nodename.encode()).hexdigest()[:8]
    except (OSError, ValueError):
        return ""
