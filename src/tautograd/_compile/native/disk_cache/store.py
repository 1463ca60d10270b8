"""Object code on disk, so that what was compiled once is only loaded the next time.

An entry's name is a hash of all that it was made from: the text, the processor and the versions. It is signed
with a key of the user's own, name and content together: what was exchanged with another entry, cut off, changed,
or made with another key is never loaded, but made anew. Where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import re
import secrets
import sys
from contextlib import AbstractContextManager

from ...._files.folders import user_folder
from ...._version import __version__
from ..llvm.jit import assemble, compiler_version, host
from .private_folder import Closed, closed

MAGIC = b"tautograd object code 2\n"
KEY = "key"
MOST_BYTES = 256 << 20
MOST_ENTRIES = 4096
LARGEST = 64 << 20  # bytes of one entry
# To look for what is too much is to look at every file: done when so much of what may be kept was added, and at first.
_PART = 64
_added: list[int] | None = None  # entries and bytes that this process has added since it looked
_KEY_BYTES = 32
_HEAD = len(MAGIC) + 32  # bytes before the code
_NAME = re.compile(r"[0-9a-f]{64}")


def key_of(text: str, thorough: bool = False) -> str:
    """The name of the entry for a module's text on this machine, made in one of the two ways of `assemble`."""
    here = host()
    python = [sys.implementation.cache_tag, sys.version, sys.platform, sys.maxsize]
    made_from = [
        text,
        thorough,
        here.triple,
        here.name,
        here.features,
        compiler_version(),
        __version__,
        *python,
    ]
    return hashlib.sha256(json.dumps(made_from).encode()).hexdigest()


def compiled(text: str, thorough: bool = False) -> tuple[bytes, bool]:
    """A module's object code, kept or made now (`thorough`: see `assemble`); and whether it was kept."""
    key = key_of(text, thorough)
    code = load(key)
    if code is not None:
        return code, True
    code = assemble(text, thorough)
    save(key, code)
    return code, False


def folder() -> AbstractContextManager[Closed | None]:
    """The user's own folder for object code; None if there can be none."""
    base = user_folder("XDG_CACHE_HOME", ".cache")
    return contextlib.nullcontext() if base is None else closed(base / "tautograd" / "native")


def load(name: str) -> bytes | None:
    """The object code kept under a name; None if there is none that can be trusted."""
    with folder() as place:
        if place is None:
            return None
        key = place.read(KEY, _KEY_BYTES)
        content = None if key is None or len(key) != _KEY_BYTES else place.read(name, LARGEST)
        if key is None or content is None:
            return None
        head, code = content[:_HEAD], content[_HEAD:]
        if not hmac.compare_digest(head, MAGIC + _signature(key, name, code)):
            return None
        place.use(name)
        return code


def save(name: str, code: bytes) -> None:
    """Keep object code; without a place to keep it, nothing happens."""
    with folder() as place:
        if place is None:
            return
        with contextlib.suppress(OSError):
            key = _key(place)
            content = MAGIC + _signature(key, name, code) + code
            if len(content) <= LARGEST:
                place.write(name, content)
            if _is_time_to_prune(len(content)):
                _prune(place)


def _signature(key: bytes, name: str, code: bytes) -> bytes:
    return hmac.digest(key, MAGIC + name.encode() + b"\0" + code, "sha256")


def _key(place: Closed) -> bytes:
    """The user's key, made if there is none; one that is damaged, or not the user's alone, is replaced."""
    for over in (False, True):
        key = place.read(KEY, _KEY_BYTES)
        if key is not None and len(key) == _KEY_BYTES:
            return key
        with contextlib.suppress(OSError):  # another process was first, or there are no links
            place.write(KEY, secrets.token_bytes(_KEY_BYTES), over)
    key = place.read(KEY, _KEY_BYTES)
    if key is None or len(key) != _KEY_BYTES:
        raise OSError("there is no key")
    return key


def _is_time_to_prune(nbytes: int) -> bool:
    global _added
    if _added is not None:
        entries, total = _added[0] + 1, _added[1] + nbytes
        if entries * _PART <= MOST_ENTRIES and total * _PART <= MOST_BYTES:
            _added = [entries, total]
            return False
    _added = [0, 0]
    return True


def _prune(place: Closed) -> None:
    """Forget what was used longest ago when there is too much, and what was never finished."""
    place.clear()
    entries = [
        (state.st_mtime_ns, state.st_size, name)
        for name, state in place.files()
        if _NAME.fullmatch(name)
    ]
    total, count = sum(size for _, size, _ in entries), len(entries)
    for _, size, name in sorted(entries):
        if total <= MOST_BYTES and count <= MOST_ENTRIES:
            return
        with contextlib.suppress(FileNotFoundError):
            place.remove(name)
        total, count = total - size, count - 1
