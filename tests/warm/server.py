"""Forks a Python for each command it is sent, with what is slow to import loaded already.

Its first argument is the number of a socket, the others are what to load. A request is a line of
JSON and the three standard streams; the answer is the new process's number, then how it ended. In the
fork the loop ends, and the command is run where a program's own text would be: at the top, so that
Python's own way out follows.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import random
import runpy
import signal
import socket
import sys
import weakref
from types import ModuleType
from typing import Any

from imports import Giving, Loaded  # beside this file

del sys.modules["imports"]


def serve(line: socket.socket) -> dict[str, Any]:
    """Fork for each request; returns in the fork, with the request."""
    while True:
        data, streams, _, _ = socket.recv_fds(line, 1 << 20, 3)
        if not data:
            os._exit(0)
        request = json.loads(data)
        pid = os.fork()
        if pid == 0:
            line.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            os.closerange(3, max(streams) + 1)
            return request
        for stream in streams:
            os.close(stream)
        line.sendall(b"%d\n" % pid)
        line.sendall(b"%d\n" % os.waitpid(pid, 0)[1])


def become(request: dict[str, Any], loaded: Loaded) -> list[str]:
    """Make this process what a new one would be; the arguments that Python would have."""
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        _open(number, name)
    _skip_destructors()
    random.seed()
    if "numpy.random" in loaded.modules:
        loaded.modules["numpy.random"].seed()  # type: ignore[attr-defined]
    path_finder = next(i for i, f in enumerate(sys.meta_path) if "PathFinder" in repr(f))
    sys.meta_path.insert(path_finder, Giving(loaded))
    importlib.invalidate_caches()
    return list(request["arguments"])


def _skip_destructors() -> None:
    """Once Python has ended in its own way, destroy no C++ object of a library that has been loaded."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # glibc's: it is handed the exit status
        libc.on_exit(ctypes.cast(libc._exit, ctypes.c_void_p), None)


def _open(number: int, name: str) -> None:
    """One of the streams in `sys`, as Python makes it."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    before = getattr(sys, name)
    binary = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
    binary.raw.name = f"<{name}>"  # type: ignore[misc]
    stream = io.TextIOWrapper(
        binary,
        encoding=encoding or before.encoding,
        errors=before.errors if number == 2 or not encoding else errors or "strict",
        line_buffering=number == 2 or os.isatty(number),
    )
    stream.mode = "w" if number else "r"  # type: ignore[misc]
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    given = Loaded()

    @atexit.register  # before any other, so that it comes last
    def keep() -> None:
        """Take no time to destroy what was loaded: it goes with the process."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(given))
        gc.freeze()

    given.load(sys.argv[2:])
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False
    command = become(serve(socket.socket(fileno=int(sys.argv[1]))), given)
    if command[0] == "-c":
        sys.argv = ["-c", *command[2:]]
        sys.path[0] = ""
        sys.modules["__main__"] = ModuleType("__main__")
        exec(command[1], vars(sys.modules["__main__"]))
    elif command[0] == "-m":
        sys.argv = command[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = command
        sys.path[0] = os.path.dirname(os.path.abspath(command[0]))
        runpy.run_path(command[0], run_name="__main__")
