"""Paths named by an evidence file: accepted only in the form in which evidence records them.

That is relative to the current folder's project, with slashes, no `..`, no symbolic link on the way,
spelt as the folders spell it, and leading to a regular file of the user's own.
"""

from __future__ import annotations

import os
import stat

from tautograd._evidence.refusals import CannotRun
from tautograd._evidence.sources import is_installed, project_root
from tautograd._files.regular import NotRegular, TooLarge, read_regular

LARGEST_SOURCE = 2 * 2**20
"""Maximum bytes of a source file."""
_ENVIRONMENTS = (("pyvenv.cfg",), ("conda-meta",), ("os.py", "site.py"))
"""What a virtual environment, a conda environment or Python's own library contains."""
_PACKAGES = ("site-packages", "dist-packages", "__pycache__", "node_modules")


def own_path(relative: str) -> str | None:
    """The file that a recorded path leads to, if it belongs to the user and lies in their project."""
    parts = relative.split("/")
    if not all(map(_is_plain, parts)):
        return None
    try:
        path = project_root(os.getcwd())
    except OSError:  # the current folder no longer exists
        return None
    if os.path.dirname(path) == path:  # the file system's root is not a project
        return None
    for number, part in enumerate(parts, 1):
        try:
            if part not in os.listdir(path):  # a file system may accept several spellings
                return None
            path = os.path.join(path, part)
            status = os.lstat(path)
        except (OSError, ValueError):
            return None
        wanted = stat.S_ISREG if number == len(parts) else stat.S_ISDIR
        if not wanted(status.st_mode) or not _is_ours(status):  # a link is not, either
            return None
    return path


def own_source(relative: str) -> str | None:
    """The same for a source file: in the project, and not in an environment inside it."""
    path = own_path(relative)
    if path is None or not path.endswith(".py") or is_installed(path):
        return None
    folder, root = os.path.dirname(path), project_root(os.getcwd())
    parts = relative.split("/")
    if any(part in _PACKAGES or part.startswith(".") for part in parts):
        return None
    while folder != root:
        if any(
            all(os.path.exists(os.path.join(folder, m)) for m in marks) for marks in _ENVIRONMENTS
        ):
            return None
        folder = os.path.dirname(folder)
    return path


def source_of(path: str) -> bytes:
    """The bytes of a source file."""
    try:
        return read_regular(path, LARGEST_SOURCE)
    except (NotRegular, TooLarge) as error:
        raise CannotRun(f"'{path}' is not to be imported: {error.strerror}") from None
    except OSError as error:
        raise CannotRun(f"cannot read '{path}': {error.strerror}") from None


def _is_plain(part: str) -> bool:
    """Whether a path component is a plain name on every system."""
    return (
        part not in ("", ".", "..")
        and part.isprintable()
        and not any(mark in part for mark in '\\:*?"<>|')
        and len(part) < 256
    )


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file belongs to the user, or to root, who may do anything anyway."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid in (os.geteuid(), 0)
