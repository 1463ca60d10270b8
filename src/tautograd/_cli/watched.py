"""Runs a script with somebody watching, and remembers how it ended, to end the same way.

An exception of the script is shown as the interpreter would show it, before the report; afterwards it
goes on its way, so that the exit status (Ctrl-C's included) is the script's own.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from tautograd._cli import runner

if TYPE_CHECKING:
    from tautograd._doctor.doctor import Doctor


@dataclass
class Ending:
    """How a script ended: by itself, because it was stopped, or by an exception."""

    error: BaseException | None = None
    was_stopped: bool = False

    def show(self) -> None:
        """The traceback of an exception, as the interpreter would print it."""
        if self.error is not None and not isinstance(self.error, SystemExit):
            _show(self.error)

    def pass_on(self) -> None:
        """End as the script did, if that was no good end."""
        if self.error is not None:
            sys.excepthook = _say_nothing
            raise self.error


def run_watched(doctor: Doctor, target: list[str], *, is_module: bool) -> Ending:
    """Run what `target` names; the doctor has stopped when this returns."""
    from tautograd._doctor.doctor import StopTraining

    doctor.script = target[0]
    doctor.start()
    try:
        ending = run_target(target, is_module=is_module, watch=doctor.see, stops=StopTraining)
    except runner.NothingToRun:
        doctor.stop()
        raise
    if ending.was_stopped:
        doctor.ending = f"stopped after {doctor.limit} steps, as asked"
    elif ending.error is not None and not isinstance(ending.error, SystemExit):
        doctor.ending = (
            "interrupted"
            if isinstance(ending.error, KeyboardInterrupt)
            else f"ended by {type(ending.error).__name__}"
        )
    doctor.stop()
    ending.show()
    return ending


def run_target(
    target: list[str],
    *,
    is_module: bool,
    watch: Callable[[ModuleType], None],
    stops: type[BaseException],
) -> Ending:
    """Run a script or module; `watch` is called with each engine, `stops` ends it without an error."""
    from tautograd._doctor.imports import telling

    def carefully(engine: ModuleType) -> None:
        try:
            watch(engine)
        except Exception as reason:  # an engine of another make: the script must run all the same
            print(f"taut: {engine.__name__} cannot be watched: {reason!r}", file=sys.stderr)

    name, *arguments = target
    try:
        with telling(carefully):
            if is_module:
                runner.run_module(name, arguments)
            else:
                runner.run_script(name, arguments)
            _wait_for_threads()
    except runner.NothingToRun:
        raise
    except stops:
        return Ending(was_stopped=True)
    except SystemExit as exit:
        return Ending(_exit(exit))
    except BaseException as reason:
        return Ending(reason)
    return Ending()


@contextlib.contextmanager
def stdout_kept_for(wanted: bool) -> Iterator[None]:
    """Where stdout is to be JSON alone, what the script and its children print goes to stderr."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def check_path(path: str) -> None:
    """Before a long run: an OSError for a file that could not be written after it."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise OSError(f"cannot write '{path}': there is no folder '{folder}'")
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise OSError(f"cannot write '{path}'")


def _wait_for_threads() -> None:
    """The interpreter waits for a script's threads; the report should know what they did.

    It first tells pools (`concurrent.futures`) that nothing more will come. Their threads do what they were
    given and end then, and never before: a script need not shut its pools down.
    """
    for tell in reversed(getattr(threading, "_threading_atexits", ())):
        tell()
    while others := [
        t for t in threading.enumerate() if t is not threading.current_thread() and not t.daemon
    ]:
        for thread in others:
            thread.join()


def _exit(exit: SystemExit) -> SystemExit | None:
    """An exit that is none is forgotten; one with a message says it now, before the report."""
    code = exit.code
    if code is None or code == 0:
        return None
    if isinstance(code, int):
        return exit
    with_message = SystemExit(1)
    sys.stdout.flush()
    print(code, file=sys.stderr, flush=True)
    return with_message


def _show(error: BaseException) -> None:
    """The script's traceback, without the frames of what watches it."""
    sys.stdout.flush()
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        part = waiting.pop()
        if part is not None and id(part) not in seen:
            seen.add(id(part))
            part.__traceback__ = _without_watchers(part.__traceback__)
            waiting += [part.__cause__, part.__context__]
    sys.excepthook(type(error), error, error.__traceback__)
    sys.stderr.flush()


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WATCHERS = tuple(os.path.join(_PACKAGE, name, "") for name in ("_doctor", "_view"))


def _without_watchers(traceback: TracebackType | None) -> TracebackType | None:
    """Without who watches, and without how the engine came to refuse: the last line is the user's."""
    frames = []
    while traceback is not None:
        if not _is_within(traceback, _WATCHERS):
            frames.append(traceback)
        traceback = traceback.tb_next
    stop = len(frames)
    while stop and _is_within(frames[stop - 1], _PACKAGE + os.sep):
        stop -= 1
    kept: TracebackType | None = None
    for frame in reversed(frames[:stop] or frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _is_within(traceback: TracebackType, folders: str | tuple[str, ...]) -> bool:
    return traceback.tb_frame.f_code.co_filename.startswith(folders)


def _say_nothing(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """The traceback has been shown."""
