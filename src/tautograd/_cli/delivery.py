"""Delivers the parts of a report to their destinations; what cannot be delivered goes elsewhere.

A run may have taken hours. So a failure in one part does not hold back the others, a file
that cannot be written goes to a temporary folder (failing that, the caller prints its contents), and
everything is reported.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import TypeVar

from tautograd._files import destinations
from tautograd._files.destinations import Kind
from tautograd._files.printable import utf8
from tautograd._files.terminal import line, warn

Made = TypeVar("Made")


class Delivery:
    """The outcome of delivering a report's parts."""

    def __init__(self, root: str) -> None:
        self.failed = False
        self.is_lost = False  # something requested could not be delivered anywhere
        self.written: list[str] = []
        self._root = root

    @contextlib.contextmanager
    def part(self, what: str) -> Iterator[None]:
        """One part; its failure is reported, and does not stop the others."""
        try:
            yield
        except BrokenPipeError:  # the reader of stdout has closed it
            deafen()
        except Exception as error:
            if _is_about_stdout(error):
                deafen()
            self.failed = self.is_lost = True
            say_on(f"taut: {what} failed: {_told(error)}")

    def made(self, what: str, make: Callable[[], Made]) -> Made | None:
        """The result of `make`; None if it fails."""
        found: list[Made] = []
        with self.part(f"making {what}"):
            found.append(make())
        return found[0] if found else None

    def file(self, path: str, make: Callable[[], str | bytes], kind: Kind, *, force: bool) -> None:
        """Make a text or a picture and write it to a file; fall back to a temporary one."""
        text = self.made(kind.name, make)
        if text is None:
            return
        try:
            destinations.write(path, text, kind, force=force)
            self.written.append(os.path.relpath(path, self._root))
        except Exception as error:
            self.failed = True
            said = f"cannot write '{path}'"
            why = _told(error)
            say_on(f"taut: {why if why.startswith(said) else f'{said}: {why}'}")
            self._elsewhere(text, kind)

    def _elsewhere(self, text: str | bytes, kind: Kind) -> None:
        name = None
        try:
            handle, name = tempfile.mkstemp(prefix="taut-", suffix=kind.suffixes[0])
            with open(handle, "wb") as file:
                file.write(utf8(text) if isinstance(text, str) else text)
        except OSError as error:
            self.is_lost = True
            if name is not None:
                with contextlib.suppress(OSError):
                    os.unlink(name)
            say_on(f"taut: nor can {kind.name} be kept as a temporary file: {_told(error)}")
        else:
            say_on(f"taut: {kind.name} is kept as {name}")


def say_on(text: str) -> None:
    """Print it on stderr, in one line (unless it is `Lines`), if stderr still works."""
    with contextlib.suppress(OSError, ValueError):
        warn(line(text))


def deafen() -> None:
    """From now on discard stdout: its reader has closed it, or the disk is full."""
    if sys.stdout is None:
        return
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _is_about_stdout(error: BaseException) -> bool:
    """Whether buffered stdout output caused the error: it would be tried again at exit."""
    return isinstance(error, OSError) and error.filename is None


def _told(error: BaseException) -> str:
    said = destinations.reason(error)
    return said if isinstance(error, OSError) else f"{type(error).__name__}: {said}"
