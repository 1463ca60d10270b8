"""Object code on disk, so that what was compiled once is only loaded the next time.

An entry's name is a hash of all that it was made from: the text, the processor and the versions. The
folder and its files belong to the user alone; what anyone else owns or could have written is not
loaded, and what is damaged is made anew. Where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from ..._version import __version__
from .engine import assemble, compiler_version, host

MAGIC = b"tautograd object code 1\n"
MOST_BYTES = 256 << 20
_DIGEST = 32


def key_of(text: str) -> str:
    """The name of the entry for a module's text on this machine."""
    here = host()
    made_from = [text, here.triple, here.name, here.features, compiler_version(), __version__]
    return hashlib.sha256("\0".join(made_from).encode()).hexdigest()


def compiled(text: str) -> tuple[bytes, bool]:
    """A module's object code, kept or made now; and whether it was kept."""
    key = key_of(text)
    code = load(key)
    if code is not None:
        return code, True
    code = assemble(text)
    save(key, code)
    return code, False


def folder() -> Path | None:
    """The user's own folder for object code, made if need be; None if there can be none."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    place = Path(base) / "tautograd" / "native"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place if _is_ours(os.lstat(place), stat.S_ISDIR) else None
    except OSError:
        return None


def load(key: str) -> bytes | None:
    """The object code kept under a name; None if there is none that can be trusted."""
    place = folder()
    if place is None:
        return None
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(place / key, flags), "rb") as file:
            if not _is_ours(os.fstat(file.fileno()), stat.S_ISREG):
                return None
            content = file.read()
    except OSError:
        return None
    head = len(MAGIC) + _DIGEST
    code = content[head:]
    if (
        content[: len(MAGIC)] != MAGIC
        or hashlib.sha256(code).digest() != content[len(MAGIC) : head]
    ):
        return None
    return code


def save(key: str, code: bytes) -> None:
    """Keep object code; without a place to keep it, nothing happens."""
    place = folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=place)  # made for the user alone
        try:
            with open(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(name, place / key)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        _prune(place)


def _prune(place: Path) -> None:
    """Forget what was used longest ago when there is too much."""
    entries = []
    for entry in os.scandir(place):
        state = entry.stat(follow_symlinks=False)
        entries.append((state.st_mtime, state.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= MOST_BYTES:
            return
        os.unlink(path)
        total -= size


def _is_ours(state: os.stat_result, kind: object) -> bool:
    """Whether a file or folder is of the kind, the user's, and writable by nobody else."""
    if not kind(state.st_mode):  # type: ignore[operator]
        return False
    if not hasattr(os, "getuid"):
        return True
    return state.st_uid == os.getuid() and not state.st_mode & 0o077
