"""Runs a script under observation, and remembers how it ended, to end the same way.

An exception of the script is shown as the interpreter would show it, before the report. The exit
status is then the one the script chose, but never that of findings; Ctrl-C ends it as it ends Python.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from tautograd._cli import runner
from tautograd._cli.delivery import say_on

if TYPE_CHECKING:
    from tautograd._doctor.doctor import Doctor

SCRIPT_FAILED = 3
"""The exit status if a script failed with Python's own, which is reserved for findings."""


@dataclass
class Ending:
    """How a script ended: normally, because it was stopped, or by an exception."""

    error: BaseException | None = None
    was_stopped: bool = False

    def show(self) -> None:
        """The traceback of an exception, as the interpreter would print it."""
        if self.error is not None and not isinstance(self.error, SystemExit):
            _show(self.error)

    def pass_on(self) -> None:
        """End as the script did, unless it ended normally."""
        if isinstance(self.error, KeyboardInterrupt):
            sys.excepthook = _say_nothing
            raise self.error
        if self.error is not None:
            raise SystemExit(status_of(self.error))


def status_of(error: BaseException) -> int:
    """The exit status for a script that ended this way: its own, unless that would mean findings.

    The system keeps eight bits of a status, so 256 would be success.
    """
    code = error.code if isinstance(error, SystemExit) else None
    if not isinstance(code, int):
        return SCRIPT_FAILED
    return code & 0xFF if code & 0xFF > 1 else SCRIPT_FAILED


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


@contextlib.contextmanager
def process_kept() -> Iterator[None]:
    """Restore what the report needs of the process after the script: streams that it has
    closed or replaced, and the recursion limit."""
    kept = {name: _kept_stream(getattr(sys, name)) for name in ("stdout", "stderr")}
    depth = sys.getrecursionlimit()
    try:
        yield
    finally:
        for name, (stream, place) in kept.items():
            setattr(sys, name, _reopened(stream, place))
        with contextlib.suppress(RecursionError):
            sys.setrecursionlimit(max(depth, sys.getrecursionlimit()))


@dataclass(frozen=True)
class _Kept:
    """A duplicate of a descriptor, kept while a script runs.

    The script may close all descriptors that it did not open, as daemons do, and open its own files
    under their numbers: nothing of ours must ever be written to those.
    """

    number: int
    handle: int
    place: tuple[int, int, int]

    @classmethod
    def of(cls, number: int) -> _Kept:
        return cls(number, os.dup(number), _place(number))

    def put_back(self) -> bool:
        """Restore the first descriptor; False if no duplicate is left."""
        if self._leads_there(self.handle):
            os.dup2(self.handle, self.number)
            os.close(self.handle)
            return True
        return self._leads_there(self.number)

    def _leads_there(self, number: int) -> bool:
        try:
            return _place(number) == self.place
        except OSError:
            return False


class _Unreachable(io.TextIOBase):
    """A stream without a destination: any write to it raises immediately."""

    def write(self, text: str, /) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def _place(number: int) -> tuple[int, int, int]:
    """What a descriptor refers to."""
    status = os.fstat(number)
    return status.st_dev, status.st_ino, status.st_rdev


def _kept_stream(stream: Any) -> tuple[Any, _Kept | None]:
    """A stream, and the duplicate of its descriptor, if it has one."""
    try:
        return stream, _Kept.of(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return stream, None


def _reopened(stream: Any, kept: _Kept | None) -> Any:
    """The stream in its previous state: open, with the same destination, or else one that fails."""
    if kept is None:
        return stream
    with contextlib.suppress(OSError, ValueError):
        stream.flush()
    if not kept.put_back():
        return _Unreachable()
    if not stream.closed:
        return stream
    return open(kept.number, "w", encoding=stream.encoding, errors=stream.errors, closefd=False)


def run_target(
    target: list[str],
    *,
    is_module: bool,
    watch: Callable[[ModuleType], None],
    stops: type[BaseException],
) -> Ending:
    """Run a script or module; `watch` is called with each engine, `stops` ends it without an error."""
    from tautograd._doctor.watch.imports import telling

    def carefully(engine: ModuleType) -> None:
        try:
            watch(engine)
        except Exception as reason:  # an unexpected kind of engine: the script must still run
            say_on(f"taut: {engine.__name__} cannot be watched: {reason!r}")

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
    """If stdout is to be pure JSON, redirect the script's and its children's output to stderr."""
    if not wanted or sys.stdout is None:
        yield
        return
    sys.stdout.flush()
    kept = _Kept.of(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        if not kept.put_back():
            sys.stdout = _Unreachable()


def _wait_for_threads() -> None:
    """Wait for the script's threads, as the interpreter would; the report should cover what they did.

    Pools (`concurrent.futures`) are first told that nothing more will come. Their threads then finish
    their work and end, but not before that: a script need not shut its pools down.
    """
    for tell in reversed(getattr(threading, "_threading_atexits", ())):
        tell()
    while others := [
        t for t in threading.enumerate() if t is not threading.current_thread() and not t.daemon
    ]:
        for thread in others:
            thread.join()


def _exit(exit: SystemExit) -> SystemExit | None:
    """Drop a successful exit; print the message of one that has it now, before the report."""
    try:
        code = exit.code
    except Exception:  # the script's own class
        return SystemExit(SCRIPT_FAILED)
    if code is None or code == 0:
        return None
    if isinstance(code, int):
        return exit
    _flush()
    with contextlib.suppress(Exception):  # an error of the message's own
        print(code, file=sys.stderr, flush=True)  # like the interpreter
    return SystemExit(1)


def _flush() -> None:
    """Flush the script's output before the report, if it can be written at all."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()


def _show(error: BaseException) -> None:
    """The script's traceback, without the watchers' frames."""
    _flush()
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        part = waiting.pop()
        if part is not None and id(part) not in seen:
            seen.add(id(part))
            part.__traceback__ = _without_watchers(part.__traceback__)
            waiting += [part.__cause__, part.__context__]
    try:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.stderr.flush()
    except Exception as reason:  # the script's own hook, which may fail; the report continues
        say_on(f"taut: the error of the script cannot be shown: {reason!r}")


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WATCHERS = tuple(os.path.join(_PACKAGE, name, "") for name in ("_doctor", "_view"))


def _without_watchers(traceback: TracebackType | None) -> TracebackType | None:
    """Remove the watchers' frames and those of the engine that raised: the last line is the user's."""
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
        kept = runner.linked(kept, frame)
    return kept


def _is_within(traceback: TracebackType, folders: str | tuple[str, ...]) -> bool:
    return traceback.tb_frame.f_code.co_filename.startswith(folders)


def _say_nothing(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """The traceback has been shown."""
