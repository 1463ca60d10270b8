"""A folder that is the user's alone: whose it is and who may write there is looked at before anything is used.

Everything goes through the folder once it was opened and looked at, so nobody can put another in its place
meanwhile. Files are opened without waiting (a pipe would) and without following a link; one that is not the
user's, or that others may write or read, is as if it were not there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PART = ".part"  # how the name of a file ends that is being written
_MOST_LINKS = 40  # on the way to a folder; the system follows no more either
_BY_FOLDER = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd
_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
_CAREFUL = sum(getattr(os, name, 0) for name in _FLAGS)


class Closed:
    """A folder for the user alone that is open; names are those of files in it."""

    def __init__(self, place: Path, handle: int | None) -> None:
        self._place = place
        self._handle = handle

    def read(self, name: str, most: int) -> bytes | None:
        """A file's content; None if there is none that is the user's own, or it is longer than `most`."""
        try:
            with open(self._open(name, os.O_RDONLY), "rb") as file:
                state = os.fstat(file.fileno())
                if not is_ours(state, stat.S_ISREG) or state.st_size > most:
                    return None
                content = file.read(state.st_size + 1)
                return content if len(content) == state.st_size else None
        except OSError:
            return None

    def write(self, name: str, content: bytes, over: bool = True) -> None:
        """Put a file there, whole or not at all; with `over=False` only if there is none of its name."""
        part = f"{secrets.token_hex(8)}{PART}"
        handle = self._open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with open(handle, "wb") as file:
                _hold(file.fileno())
                file.write(content)
                file.flush()
                if over:
                    os.replace(*self._both(part, name), **self._ends)
                else:
                    os.link(*self._both(part, name), **self._ends)
        finally:
            with contextlib.suppress(OSError):
                self.remove(part)

    def remove(self, name: str) -> None:
        os.unlink(*self._one(name), **self._here)

    def use(self, name: str) -> None:
        """Note that a file was of use just now."""
        with contextlib.suppress(OSError, NotImplementedError):
            os.utime(*self._one(name), **self._here, follow_symlinks=False)

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Plain files in it, with their states."""
        for name in os.listdir(self._place if self._handle is None else self._handle):
            with contextlib.suppress(OSError):
                state = os.stat(*self._one(name), **self._here, follow_symlinks=False)
                if stat.S_ISREG(state.st_mode):
                    yield name, state

    def clear(self) -> None:
        """Remove what those left who were killed while they wrote: nobody holds it any more."""
        for name, _ in list(self.files()):
            if name.endswith(PART):
                with contextlib.suppress(OSError):
                    handle = self._open(name, os.O_RDWR)
                    try:
                        if _hold(handle):
                            self.remove(name)
                    finally:
                        os.close(handle)

    def _open(self, name: str, flags: int) -> int:
        return os.open(*self._one(name), flags | _CAREFUL, 0o600, **self._here)

    def _one(self, name: str) -> tuple[str]:
        return (name if self._handle is not None else str(self._place / name),)

    def _both(self, one: str, other: str) -> tuple[str, str]:
        return *self._one(one), *self._one(other)

    @property
    def _here(self) -> dict[str, Any]:
        return {} if self._handle is None else {"dir_fd": self._handle}

    @property
    def _ends(self) -> dict[str, Any]:
        if self._handle is None:
            return {}
        return {"src_dir_fd": self._handle, "dst_dir_fd": self._handle}


@contextlib.contextmanager
def closed(place: Path) -> Iterator[Closed | None]:
    """A folder for the user alone, made if need be; None if there can be none."""
    handle = None
    try:
        made = _made(place)
        if made and _BY_FOLDER:
            handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | _CAREFUL)
        state = os.fstat(handle) if handle is not None else os.lstat(place)
        fine = made and is_ours(state, stat.S_ISDIR)
    except OSError:
        fine = False
    try:
        yield Closed(place, handle) if fine else None
    finally:
        if handle is not None:
            os.close(handle)


def _made(place: Path) -> bool:
    """Whether a folder is there; it is made only below what is the user's or the system's own.

    A user's home is not root's (`sudo` may leave HOME as it was): a folder of root's in there would be in the
    user's way, and what the user put there must not be run by root.
    """
    if not hasattr(os, "geteuid"):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return True
    if os.geteuid() != os.getuid():
        return False  # somebody else's environment
    if os.geteuid() == 0 and not _is_roots(place):
        return False
    above, missing = place, []
    while not os.path.lexists(above) and above != above.parent:
        missing.append(above)
        above = above.parent
    if missing and os.stat(above).st_uid not in (os.geteuid(), 0):
        return False
    for folder in reversed(missing):  # each closed to others, whatever the umask
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
    return True


def _is_roots(place: Path) -> bool:
    """Whether all that is there on the way to a folder is root's: the link of a user would lead root anywhere."""
    at, rest, links = Path(place.anchor), [*place.parts[:0:-1]], 0
    while rest:
        part = rest.pop()
        if part == "..":
            at = at.parent
            continue
        try:
            state = os.lstat(at / part)
        except FileNotFoundError:
            return True
        if state.st_uid != 0:
            return False
        if not stat.S_ISLNK(state.st_mode):
            at /= part
            continue
        links += 1
        if links > _MOST_LINKS:
            return False
        target = Path(os.readlink(at / part))
        at = Path(target.anchor) if target.is_absolute() else at
        rest += [name for name in reversed(target.parts) if name != target.anchor]
    return True


def is_ours(state: os.stat_result, kind: Any) -> bool:
    """Whether a file or folder is of the kind, the user's, and open to nobody else."""
    if not kind(state.st_mode):
        return False
    if not hasattr(os, "geteuid"):
        return True
    return state.st_uid == os.geteuid() and not state.st_mode & 0o077


def _hold(handle: int) -> bool:
    """Hold an open file until it is closed or this process ends; False if another one does, or nobody can say."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
