"""Runs a script with the doctor watching, and remembers how it ended, to end the same way.

An exception of the script is shown as the interpreter would show it, before the report; afterwards it
goes on its way, so that the exit status (Ctrl-C's included) is the script's own.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from tautograd._cli import runner

if TYPE_CHECKING:
    from tautograd._doctor.doctor import Doctor


@dataclass
class Ending:
    """How a script ended: by itself, or by an exception that has been shown already."""

    error: BaseException | None = None

    def pass_on(self) -> None:
        """End as the script did, if that was no good end."""
        if self.error is not None:
            sys.excepthook = _say_nothing
            raise self.error


def run_watched(doctor: Doctor, target: list[str], *, is_module: bool) -> Ending:
    """Run what `target` names; the doctor has stopped when this returns."""
    from tautograd._doctor.doctor import StopTraining
    from tautograd._doctor.imports import telling

    def watch(engine: ModuleType) -> None:
        try:
            doctor.see(engine)
        except Exception as reason:  # an engine of another make: the script must run all the same
            print(f"taut doctor: {engine.__name__} cannot be watched: {reason!r}", file=sys.stderr)

    name, *arguments = target
    doctor.script = name
    doctor.start()
    error: BaseException | None = None
    try:
        with telling(watch):
            if is_module:
                runner.run_module(name, arguments)
            else:
                runner.run_script(name, arguments)
            _wait_for_threads()
    except runner.NothingToRun:
        doctor.stop()
        raise
    except StopTraining:
        doctor.ending = f"stopped after {doctor.limit} steps, as asked"
    except SystemExit as exit:
        error = _exit(exit)
    except BaseException as reason:
        error = reason
        doctor.ending = (
            "interrupted"
            if isinstance(reason, KeyboardInterrupt)
            else f"ended by {type(reason).__name__}"
        )
    doctor.stop()
    if error is not None and not isinstance(error, SystemExit):
        _show(error)
    return Ending(error)


def _wait_for_threads() -> None:
    """The interpreter waits for a script's threads; the report should know what they did."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
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


_WATCHERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_doctor", "")


def _without_watchers(traceback: TracebackType | None) -> TracebackType | None:
    frames = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_WATCHERS):
            frames.append(traceback)
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _say_nothing(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """The traceback has been shown."""
