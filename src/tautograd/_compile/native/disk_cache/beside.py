"""Planning and compiling in a process beside, while calls go on as they are written.

Lowering is Python for the most part, so a thread would take the caller's time. The process is given what is to be
lowered, as data; what it makes comes back through the cache on disk alone, under its name and with its signature, like
what any earlier run has left. So nothing is trusted that is not trusted anyway, and if the process fails, is killed or
is never started, the cache has no such entry, and that is all.

Where there is one processor only, a process beside would take the caller's time, too, and nobody would count it: then
there is none (`may_help`).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from ...program.ir import Buffer, Check
from ..llvm.thread_pool import processors
from . import store

LEAST_QUOTA = 1.5  # processors that a group of processes may use, below which there is but one
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_NICE = 5  # the caller's own threads come first
_START = (
    "import sys, pickle; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from tautograd._compile.native.disk_cache.beside import work; work()"
)

_running: set[Helper] = set()


def may_help() -> bool:
    """Whether a process beside can be had and takes nobody's time."""
    if os.environ.get("TAUT_BESIDE") == "0" or processors() < 2 or _quota() < LEAST_QUOTA:
        return False
    return _is_python() and _is_kept()


def _is_python() -> bool:
    """Whether what would be started is Python: a program that holds it inside is something else."""
    frozen = getattr(sys, "frozen", False)
    return not frozen and Path(sys.executable or "").name.startswith("python")


@functools.cache
def _is_kept() -> bool:
    """Whether there is a cache for what is made."""
    with store.folder() as place:
        return place is not None


@functools.cache
def _quota() -> float:
    """How many processors the control group of this process may use."""
    try:
        most, period = _QUOTA.read_text().split()
        return float("inf") if most == "max" else int(most) / int(period)
    except (OSError, ValueError):
        return float("inf")


class Helper:
    """The process, from when it starts until it has done its work."""

    def __init__(self, requests: list[Any]) -> None:
        """`requests`: the arguments of `lowered`, each."""
        content = pickle.dumps(sys.path) + pickle.dumps([_plain(request) for request in requests])
        self._pid = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        _running.add(self)
        # A pipe holds less than this, and it reads once it has started.
        writer = threading.Thread(target=self._write, args=(content,), daemon=True)
        writer.name = "tautograd-beside"
        writer.start()

    def _write(self, content: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(OSError, ValueError):
            pipe.write(content)
            pipe.close()

    @property
    def is_done(self) -> bool:
        """Whether it has ended, with what it was asked for or without."""
        if self._pid != os.getpid():
            return True
        if self._process.poll() is None:
            return False
        self._forget()
        return True

    def stop(self) -> None:
        """It is not needed any more."""
        if self in _running and self._pid == os.getpid():
            self._process.kill()
            self._process.wait()
            self._forget()

    def _forget(self) -> None:
        _running.discard(self)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.close()


def helper(requests: list[Any]) -> Helper | None:
    """A process beside that lowers these, if there may be one."""
    try:
        return Helper(requests) if may_help() else None
    except (OSError, RuntimeError):  # no process, or no thread, can be had
        return None


def _plain(request: tuple[Any, ...]) -> tuple[Any, ...]:
    """What lowering looks at, without what only a replay needs: memory, and errors to be made."""
    instructions, buffers, *rest = request
    bare = {n: Buffer(b.number, b.nbytes, b.kind) for n, b in buffers.items()}
    plain = []
    for instruction in instructions:
        if isinstance(instruction, Check):
            instruction = Check(
                instruction.function, instruction.inputs, instruction.output, instruction.loop
            )
        plain.append(instruction)
    return plain, bare, *rest


def work() -> None:
    """In the process beside: lower what comes in, so that the cache has it."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICE)
    from .lowered import lowered

    for request in pickle.load(sys.stdin.buffer):
        lowered(*request)


def _stop_all() -> None:
    for helper in list(_running):
        helper.stop()


def _after_fork() -> None:
    """A child has no part in its parent's processes: it neither waits for them nor ends them."""
    for helper in _running:
        helper._process.returncode = 0
    _running.clear()


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
