"""Atomic file writes: afterwards the new file exists as a whole, or still the old one.

Anything but a regular file (a device, a pipe, a descriptor of the process) is written to directly. A
regular file is replaced by a new one, which keeps its permissions, its owner if possible, and its
symbolic links; other hard links to the old file keep the old content. A file that may not be
written may not be replaced, either.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from . import temporaries
from .temporaries import Temporary

Path = str | os.PathLike[str]
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_ACCESS_RULES = "system.posix_acl_access"
_KEPT_ATTRIBUTES = ("user.", _ACCESS_RULES, "security.selinux")


@contextlib.contextmanager
def replacing(path: Path, *, new: bool = False, wait: bool = True) -> Iterator[IO[bytes]]:
    """A context with a file to write to, which replaces `path` once everything is written.

    `new`: a file that exists by then is left alone, with a FileExistsError. Without `wait`, a pipe
    that nobody reads is an error at once.
    """
    place = _look(path)
    if place.is_straight and not new:
        with _straight(place, wait) as file:
            yield file
        return
    with _beside(place, new) as temporary, open(temporary.handle, "wb", closefd=False) as file:
        yield file


def check(path: Path) -> None:
    """Raise what `replacing(path)` would raise, as far as that is known beforehand."""
    place = _look(path)
    if not place.is_straight:
        made = temporaries.make(place.target)
        made.remove()
        made.close()
    elif stat.S_ISSOCK(place.mode) and place.descriptor is None:
        raise OSError(errno.ENXIO, "is a socket, which cannot be opened", place.name)
    elif place.descriptor is None and not os.access(place.name, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place.name)


def is_plain_or_new(path: Path) -> bool:
    """Whether there is a regular file or nothing: whether writing would replace or create a file."""
    return not _look(path).is_straight


def is_path(f: Any) -> bool:
    """Whether an object is a path."""
    return isinstance(f, (str, os.PathLike))


# ---- what the path refers to -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    name: str
    """The path as given."""
    target: str = ""
    """The regular file that it resolves to, existing or not; empty if it is something else."""
    status: os.stat_result | None = None
    descriptor: int | None = None
    """The descriptor of this process that it names."""

    @property
    def is_straight(self) -> bool:
        return not self.target

    @property
    def mode(self) -> int:
        return 0 if self.status is None else self.status.st_mode


def _look(path: Path) -> _Place:
    """What a path refers to; raises the OSError that `open(path, "wb")` would raise."""
    name = os.fsdecode(path)
    if not name:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    try:
        status = os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        status = None
    if status is not None:
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        is_in_proc, descriptor = _descriptor(name)
        if is_in_proc or not stat.S_ISREG(status.st_mode):
            return _Place(name, "", status, descriptor)
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    if name.endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    _may_write(name)
    return _Place(name, target, status)


def _may_write(name: str) -> None:
    """Refuse to replace a file that may not be opened for writing.

    The system is asked under the name as given, so that it also applies its own rules to links on the
    way (in a folder like /tmp it does not follow those that another user has created).
    """
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.close(os.open(name, os.O_WRONLY | _FLAGS))


def _descriptor(name: str) -> tuple[bool, int | None]:
    """Whether a path ends in a kernel folder (as /dev/stdout does), and if it is among this process's
    descriptors, which one."""
    for _ in range(40):
        folder = os.path.realpath(os.path.dirname(os.path.abspath(name)))
        base = os.path.basename(os.path.abspath(name))
        if folder in ("/dev/fd", f"/proc/{os.getpid()}/fd"):
            return True, int(base) if base.isdecimal() else None
        if folder == "/proc" or folder.startswith("/proc/"):
            return True, None
        place = os.path.join(folder, base)
        if not os.path.islink(place):
            break
        name = os.path.join(folder, os.readlink(place))
    return False, None


# ---- writing ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def _straight(place: _Place, wait: bool) -> Iterator[IO[bytes]]:
    """Open anything but a regular file directly."""
    if place.descriptor is not None:
        for stream in (sys.stdout, sys.stderr):  # earlier prints come first
            if stream is not None:
                stream.flush()
        handle = os.dup(place.descriptor)  # keeps the file position, if it is a file
    else:
        without_waiting = 0 if wait else getattr(os, "O_NONBLOCK", 0)
        handle = os.open(place.name, os.O_WRONLY | _FLAGS | without_waiting)
        if without_waiting:
            os.set_blocking(handle, True)
    with io.BufferedWriter(_Onward(handle, "wb")) as file:
        yield file


class _Onward(io.FileIO):
    """A stream seen as a file of its own, wherever in something larger it begins."""

    def seekable(self) -> bool:
        return False

    def seek(self, *arguments: Any) -> int:
        raise io.UnsupportedOperation("seek")

    def tell(self) -> int:
        raise io.UnsupportedOperation("tell")


@contextlib.contextmanager
def _beside(place: _Place, new: bool) -> Iterator[Temporary]:
    # The system gives a new file the default permissions; one that replaces another is
    # unreadable to others until it has the old one's.
    made = temporaries.make(place.target, 0o666 if place.status is None or new else 0o600)
    try:
        yield made
        if place.status is not None and not new:
            _keep_attributes(made.handle, place.target, place.status)
        os.fsync(made.handle)
        if new:
            put_new(made.path, place.target)
        else:
            os.replace(made.path, place.target)
    except BaseException:
        made.remove()
        raise
    finally:
        made.close()
    _settle(os.path.dirname(place.target))


def put_new(path: str, target: str) -> None:
    """Give a file its name, unless the name is taken."""
    # Only an exclusive link cannot overwrite: a check beforehand would be a race.
    try:
        os.link(path, target)
    except FileExistsError:
        raise
    except OSError as error:  # no hard links on this file system
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error
        os.rename(path, target)
        return
    os.unlink(path)


def _settle(folder: str) -> None:
    """Flush the folder's directory entry to disk, where that is possible."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | _FLAGS)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _keep_attributes(handle: int, target: str, old: os.stat_result) -> None:
    """Copy owner, permissions and attributes of the replaced file; what a write clears (the
    setuid and setgid bits) is cleared here as well."""
    mode = stat.S_IMODE(old.st_mode) & 0o777
    attributes = _attributes(target)
    rules = attributes.pop(_ACCESS_RULES, None)
    if hasattr(os, "removexattr"):
        # The old file may lack what the new one inherits from the folder. The new file's mode masks that
        # so far; the old one's would not.
        with contextlib.suppress(OSError):
            os.removexattr(handle, _ACCESS_RULES)
    if hasattr(os, "fchown"):
        new = os.fstat(handle)
        if new.st_uid != old.st_uid:
            with contextlib.suppress(OSError):
                os.fchown(handle, old.st_uid, -1)
        is_of_its_group = new.st_gid == old.st_gid or _give_group(handle, old.st_gid)
        if rules is not None:
            # With an ACL the group bits are its mask, not the group's rights:
            # without the ACL, or for another group, they would give access to others than before.
            if not (is_of_its_group and _set_attribute(handle, _ACCESS_RULES, rules)):
                os.fchmod(handle, mode & 0o700)
        elif is_of_its_group:
            os.fchmod(handle, mode)
        else:
            # A group other than the intended one gets no more than everybody; and everybody, who
            # now includes the old group, gets no more than that group.
            both = mode & 0o007 & mode >> 3
            os.fchmod(handle, mode & 0o700 | both << 3 | both)
    for name, value in attributes.items():
        _set_attribute(handle, name, value)


def _give_group(handle: int, group: int) -> bool:
    try:
        os.fchown(handle, -1, group)
    except OSError:
        return False
    return True


def _attributes(path: str) -> dict[str, bytes]:
    """The extended attributes that a new file keeps, as far as they are readable."""
    found: dict[str, bytes] = {}
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(path):
                if name.startswith(_KEPT_ATTRIBUTES):
                    with contextlib.suppress(OSError):
                        found[name] = os.getxattr(path, name)
    return found


def _set_attribute(handle: int, name: str, value: bytes) -> bool:
    try:
        os.setxattr(handle, name, value)
    except OSError:
        return False
    return True
