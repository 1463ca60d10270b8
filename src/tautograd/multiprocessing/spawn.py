"""`spawn`: one function in several processes, and the error of the first that fails."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

from .._ops.declare.python_surface import speak

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
_PATIENCE = 30  # seconds that processes have to end after they were asked to
log = logging.getLogger(__name__)


class ProcessException(Exception):
    """A process failed: its place among those started, and its number."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception."""


class ProcessExitedException(ProcessException):
    """The process ended without one: by `sys.exit`, or by a signal."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)
        return type(self), given


def _run(fn: Callable[..., Any], number: int, args: tuple[Any, ...], error_file: str) -> None:
    """What each process does; an error is left in a file for the one that waits."""
    try:
        fn(number, *args)
    except KeyboardInterrupt:
        pass  # the one that waits was interrupted, too
    except Exception:
        import traceback

        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Their numbers."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for some to end: True once all have. The first that failed is an exception."""
        if not self.sentinels:
            return True
        for ended in multiprocessing.connection.wait(list(self.sentinels), timeout=timeout):
            index = self.sentinels.pop(ended)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._end_others(grace_period)
                self._raise(index)
        return not self.sentinels

    def _end_others(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait(grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        self._wait(_PATIENCE if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning(
                    "Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL",
                    process.pid,
                )
                process.kill()
            process.join()

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        if os.path.exists(self.error_files[index]):
            with open(self.error_files[index], "rb") as file:
                trace = pickle.load(file)
            os.unlink(self.error_files[index])
            said = f"\n\n-- Process {index} terminated with the following error:\n{trace}"
            raise ProcessRaisedException(said, index, process.pid)
        code = process.exitcode
        if code >= 0:
            said = f"process {index} terminated with exit code {code}"
            raise ProcessExitedException(said, index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        said = f"process {index} terminated with signal {name}"
        raise ProcessExitedException(said, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The older name of `ProcessContext`."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call `fn(i, *args)` in `nprocs` processes; wait for them, or return what to wait with."""
    context: Any = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    folder = tempfile.gettempdir()
    for number in range(nprocs):
        error_file = os.path.join(folder, f"tautograd-error-{os.getpid()}-{time.monotonic_ns()}")
        process = context.Process(target=_run, args=(fn, number, args, error_file), daemon=daemon)
        process.start()
        processes.append(process)
        error_files.append(error_file)
    found = ProcessContext(processes, error_files)
    if not join:
        return found
    while not found.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call `fn(i, *args)` in `nprocs` new interpreters."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a "
            "different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")


speak(globals(), __all__)
