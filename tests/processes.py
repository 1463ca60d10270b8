"""Processes for tests that run `taut` or a program as a user does.

`run` is `subprocess.run` of a Python, but forked from one that has NumPy, tautograd and PyTorch loaded
and forgotten (`tests/warm`), so that a command takes a tenth of a second and not one or two. The fork
has modules, streams, arguments, folder and environment as a new process has them; what it does not
have of its own is the time before its first line, and the seed of `hash`. Tests of importing itself,
of signals and of how Python is started use a process of their own: `subprocess`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

SERVER = Path(__file__).parent / "warm" / "server.py"
READ_AT_START = (
    "PYTHON", "LANG", "LC_", "LD_", "OMP_", "KMP_", "OPENBLAS_", "MKL_", "NPY_", "ATEN_", "ONEDNN_",
    "DNNL_", "CUDA_",
)  # fmt: skip
"""How variables begin that are read when Python starts or a library is loaded, once."""
READ_IN_THE_FORK = {"PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING"}
"""Those of them that a fork does its part about."""

LOADED = (
    "tautograd", "tautograd.nn", "tautograd.optim", "tautograd.autograd", "tautograd.func",
    "tautograd.utils.data", "tautograd.amp", "tautograd.evidence", "tautograd._cli.*",
    "tautograd._doctor.*", "tautograd._verify.*", "tautograd._evidence.*", "tautograd._view.*", "torch",
)  # fmt: skip
"""Modules and, with a star, everything in a package."""


class _Server:
    """A process that forks, started with the environment of the commands to come."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(SERVER), str(theirs.fileno()), *LOADED],
                env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self._answers: TextIO = self._line.makefile()

    def start(self, request: dict[str, Any], streams: Sequence[int]) -> int:
        """Start a command; the number of its process."""
        socket.send_fds(self._line, [json.dumps(request).encode()], list(streams))
        return int(self._answers.readline())

    def ended(self) -> int:
        """Wait for its end; the exit status."""
        return os.waitstatus_to_exitcode(int(self._answers.readline()))

    def close(self) -> None:
        self._line.close()
        self._answers.close()
        self._process.wait()


_servers: dict[frozenset[tuple[str, str]], _Server] = {}


@atexit.register
def _close() -> None:
    while _servers:
        _servers.popitem()[1].close()


def _server_for(environment: Mapping[str, str]) -> _Server:
    key = frozenset(
        (name, value)
        for name, value in environment.items()
        if name.startswith(READ_AT_START) and name not in READ_IN_THE_FORK
    )
    if key not in _servers:
        given = {k: v for k, v in environment.items() if k not in READ_IN_THE_FORK}
        _servers[key] = _Server(given)
    return _servers[key]


def run(
    arguments: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    input: str | bytes | None = None,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    text: bool = True,
    timeout: float = 120,
) -> subprocess.CompletedProcess[Any]:
    """Run Python with these arguments (`-c text …`, `-m module …`, `script …`); how it ended.

    `stdout` and `stderr` may be descriptors; stdin is empty without `input`.
    """
    server = _server_for(env)
    request = {"arguments": [*arguments], "cwd": os.fspath(cwd), "env": dict(env)}
    typing = _Writing(input.encode() if isinstance(input, str) else input or b"")
    out, err = _Reading(stdout), _Reading(stderr)
    pid = server.start(request, [typing.theirs, out.theirs, err.theirs])
    is_late = threading.Event()

    def kill() -> None:
        is_late.set()
        os.kill(pid, signal.SIGKILL)

    killing = threading.Timer(timeout, kill)
    killing.start()
    for pipe in (typing, out, err):
        pipe.go()
    status = server.ended()
    killing.cancel()
    said = [pipe.all() for pipe in (out, err)]
    if text:
        said = [_as_text(part) for part in said]
    if is_late.is_set():
        raise subprocess.TimeoutExpired([*arguments], timeout, *said)
    return subprocess.CompletedProcess([*arguments], status, *said)


def _as_text(said: bytes | None) -> str | None:
    return None if said is None else said.decode().replace("\r\n", "\n")


class _Writing:
    """The end of a pipe that what is typed goes into."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.theirs, self._ours = os.pipe()

    def go(self) -> None:
        os.close(self.theirs)
        threading.Thread(target=self._write, daemon=True).start()

    def _write(self) -> None:
        with contextlib.suppress(BrokenPipeError), open(self._ours, "wb") as pipe:
            pipe.write(self._data)


class _Reading:
    """The end of a pipe that what is printed comes out of; or a descriptor of the test's own."""

    def __init__(self, end: int) -> None:
        self._is_pipe = end == subprocess.PIPE
        self._ours, self.theirs = os.pipe() if self._is_pipe else (-1, end)
        self._data: bytes | None = None

    def go(self) -> None:
        if self._is_pipe:
            os.close(self.theirs)
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()

    def _read(self) -> None:
        with open(self._ours, "rb") as pipe:
            self._data = pipe.read()

    def all(self) -> bytes | None:
        if self._is_pipe:
            self._thread.join()
        return self._data
