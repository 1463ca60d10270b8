"""Exceptions that cannot be caught, which Python would only print: in destructors, callbacks and threads."""

from __future__ import annotations

import os
import re
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

PRINTED = re.compile(
    r"^(Exception ignored |Exception in thread |Traceback \(most recent|LLVM ERROR|Fatal )", re.M
)
"""How a line of a process's stderr begins that reports an error in it."""


@contextmanager
def listening() -> Iterator[list[str]]:
    """Collect them, each as a kind of failure and its traceback, except foreign code's own."""
    heard: list[str] = []

    def of_callback(said: Any) -> None:
        where = getattr(said.object, "__qualname__", type(said.object).__qualname__)
        _note(heard, said.exc_value, said.exc_traceback, said.err_msg or f"ignored in {where}")

    def of_thread(said: Any) -> None:
        if said.exc_type is not SystemExit:
            _note(heard, said.exc_value, said.exc_traceback, "in a thread")

    before = sys.unraisablehook, threading.excepthook
    sys.unraisablehook, threading.excepthook = of_callback, of_thread
    try:
        yield heard
    finally:
        sys.unraisablehook, threading.excepthook = before


def as_python() -> None:
    """Print them again, as in a process under attack: a fork of a worker."""
    sys.unraisablehook, threading.excepthook = sys.__unraisablehook__, threading.__excepthook__


def printed(text: str) -> str:
    """The line of a process's stderr that reports an error; "" if there is none."""
    found = PRINTED.search(text)
    return text[found.start() :].split("\n", 1)[0] if found else ""


def _note(
    heard: list[str], error: BaseException | None, trace: TracebackType | None, how: str
) -> None:
    frames = traceback.extract_tb(trace)
    if any(f"{os.sep}torch{os.sep}" in frame.filename for frame in frames) and not any(
        f"{os.sep}tautograd{os.sep}" in frame.filename for frame in frames
    ):
        return  # PyTorch's
    last = frames[-1] if frames else None
    where = f" at {os.path.basename(last.filename)}:{last.lineno}" if last else ""
    told = "".join(traceback.format_exception(type(error), error, trace))
    heard.append(f"{type(error).__name__} that nobody can catch{where}\n{how}\n{told}")
