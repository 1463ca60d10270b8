"""Sends the parts of a report where they were asked to go; what cannot go there goes elsewhere.

A run may have taken hours. So nothing that goes wrong with one part keeps the others back, a file
that cannot be written is put where files can be (or else the caller prints what it holds), and all of
it is said.
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
    """What became of the parts of a report."""

    def __init__(self, root: str) -> None:
        self.failed = False
        self.is_lost = False  # something that was asked for is nowhere
        self.written: list[str] = []
        self._root = root

    @contextlib.contextmanager
    def part(self, what: str) -> Iterator[None]:
        """One part; that it failed is said, and no reason to stop."""
        try:
            yield
        except BrokenPipeError:  # whoever read stdout has seen enough
            deafen()
        except Exception as error:
            if _is_about_stdout(error):
                deafen()
            self.failed = self.is_lost = True
            say_on(f"taut: {what} failed: {_told(error)}")

    def made(self, what: str, make: Callable[[], Made]) -> Made | None:
        """What `make` gives; None if it fails."""
        found: list[Made] = []
        with self.part(f"making {what}"):
            found.append(make())
        return found[0] if found else None

    def file(self, path: str, make: Callable[[], str | bytes], kind: Kind, *, force: bool) -> None:
        """Make a text, or a picture, and write it to a file; if that cannot be, to a temporary one."""
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
    """Say it on stderr, in one line (unless it is `Lines`), if anybody can hear it."""
    with contextlib.suppress(OSError, ValueError):
        warn(line(text))


def deafen() -> None:
    """From now on stdout goes nowhere: who read it has left, or the disk is full."""
    if sys.stdout is None:
        return
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _is_about_stdout(error: BaseException) -> bool:
    """Whether what was printed is what could not be written: it would be tried again at the end."""
    return isinstance(error, OSError) and error.filename is None


def _told(error: BaseException) -> str:
    said = destinations.reason(error)
    return said if isinstance(error, OSError) else f"{type(error).__name__}: {said}"
