"""Ranks as processes of this machine: started with torchrun's environment, watched, stopped together, restarted.

A rank that fails ends the job. The others notice on their own (a collective that cannot be completed is an
error) and get a moment to report it; then they are stopped.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # as in torchrun
MOMENT = 5.0  # seconds for the other ranks to report their error, and again to exit when asked to


@dataclass
class Options:
    """How a job is started."""

    command: Sequence[str]
    ranks: int
    max_restarts: int = 0
    min_ranks: int | None = None
    log_dir: str | None = None
    tee: bool = False
    master_addr: str = "127.0.0.1"
    master_port: int = 0
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: T201


@dataclass
class Failure:
    """The rank that failed first."""

    rank: int
    process: int
    status: int

    @property
    def text(self) -> str:
        """What happened, as the end of a sentence."""
        if self.status < 0:
            number = -self.status
            known = number in set(signal.Signals)
            name = signal.Signals(number).name if known else f"signal {number}"
            return f"rank {self.rank} (process {self.process}) was killed by {name}"
        return f"rank {self.rank} (process {self.process}) ended with status {self.status}"

    @property
    def exit_status(self) -> int:
        """As a shell reports it."""
        return 128 - self.status if self.status < 0 else self.status


def free_port() -> int:
    """An unused port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(options: Options, rank: int, size: int, port: int, attempt: int) -> dict[str, str]:
    """The environment in which torchrun passes a rank its place."""
    told = {
        "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size,
        "GROUP_RANK": 0, "GROUP_WORLD_SIZE": 1, "ROLE_NAME": "default", "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": size, "MASTER_ADDR": options.master_addr, "MASTER_PORT": port,
        "TORCHELASTIC_RESTART_COUNT": attempt, "TORCHELASTIC_MAX_RESTARTS": options.max_restarts,
        "TORCHELASTIC_RUN_ID": options.run_id, "PYTHONUNBUFFERED": 1,
    }  # fmt: skip
    found = {**os.environ, **{name: str(value) for name, value in told.items()}}
    if size > 1:
        found.setdefault("OMP_NUM_THREADS", "1")  # the ranks share the machine
    if rank:
        found.setdefault("TQDM_DISABLE", "1")  # one progress bar, rank 0's
    return found


class _Attempt:
    """One start of all ranks."""

    def __init__(self, options: Options, size: int, attempt: int) -> None:
        self.options, self.size, self.attempt = options, size, attempt
        self._pumps: list[threading.Thread] = []
        port = options.master_port or free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(size):
                self.processes.append(self._start(rank, port))
        except BaseException:
            self.end()
            raise

    def _start(self, rank: int, port: int) -> subprocess.Popen[bytes]:
        env = environment(self.options, rank, self.size, port, self.attempt)
        if self.options.log_dir is None and not self.options.tee:
            return subprocess.Popen(self.options.command, env=env)
        process = subprocess.Popen(
            self.options.command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for name, console in (("stdout", sys.stdout), ("stderr", sys.stderr)):
            self._follow(rank, name, getattr(process, name), console)
        return process

    def _follow(self, rank: int, name: str, stream: IO[bytes], console: Any) -> None:
        file: IO[bytes] | None = None
        if self.options.log_dir is not None:
            folder = Path(self.options.log_dir) / f"attempt_{self.attempt}" / str(rank)
            folder.mkdir(parents=True, exist_ok=True)
            file = open(folder / f"{name}.log", "wb")  # noqa: SIM115

        def pump() -> None:
            with contextlib.ExitStack() as opened:
                opened.enter_context(stream)
                if file is not None:
                    opened.enter_context(file)
                for line in stream:
                    if file is not None:
                        file.write(line)
                        file.flush()
                    if self.options.tee:
                        console.write(f"[rank{rank}]: {line.decode(errors='replace')}")
                        console.flush()

        thread = threading.Thread(target=pump, daemon=True)
        thread.start()
        self._pumps.append(thread)

    def wait(self) -> Failure | None:
        """Wait until all ranks have ended well, or one has not."""
        while True:
            states = [process.poll() for process in self.processes]
            failed = [(rank, status) for rank, status in enumerate(states) if status]
            if failed:
                # A rank that was killed is the cause; the ranks that report it do so a moment later.
                rank, status = min(failed, key=lambda one: (one[1] >= 0, one[0]))
                return Failure(rank, self.processes[rank].pid, status)
            if all(status == 0 for status in states):
                return None
            time.sleep(0.02)

    def end(self) -> None:
        """Give the remaining ranks a moment, then stop them."""
        self._wait_for_all(MOMENT)
        for end in (subprocess.Popen.terminate, subprocess.Popen.kill):
            left = [process for process in self.processes if process.poll() is None]
            for process in left:
                end(process)
            if left:
                self._wait_for_all(MOMENT)
        self.close()

    def _wait_for_all(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(p.poll() is None for p in self.processes):
            time.sleep(0.02)

    def pass_on(self, number: int) -> None:
        """Forward a signal to every rank."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(number)

    def close(self) -> None:
        """Flush what the ranks have printed."""
        for thread in self._pumps:
            thread.join(MOMENT)


def launch(options: Options) -> int:
    """Run a job to its end, restarts included; return the exit status."""
    size, failures_of = options.ranks, dict[int, int]()
    with _Signals() as signals:
        for attempt in range(options.max_restarts + 1):
            with signals.noted():
                running = _Attempt(options, size, attempt)
            signals.reach(running)
            failure = running.wait()
            if failure is None:
                running.close()
                return 0
            running.end()
            left = options.max_restarts - attempt
            options.say(f"taut launch: {failure.text}; the job of {size} ranks has been ended")
            if not left:
                return failure.exit_status
            failures_of[failure.rank] = failures_of.get(failure.rank, 0) + 1
            # Once is bad luck. A place that fails again is dropped, if fewer ranks are allowed.
            if failures_of[failure.rank] > 1 and options.min_ranks and size > options.min_ranks:
                size -= 1
            options.say(
                f"taut launch: restart {attempt + 1} of {options.max_restarts} with {size} ranks"
            )
    raise AssertionError("every attempt returns or goes on to the next")


class _Signals:
    """Forwards Ctrl-C and requests to terminate to the ranks, also to those of a restart that has just begun; the
    launcher then exits as they do."""

    def __init__(self) -> None:
        self._running: _Attempt | None = None
        self._asked: int | None = None
        self._starting = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                if signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, old in self._before.items():
            signal.signal(number, old)

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Hold signals back while ranks are started: one that is not yet registered would be left behind."""
        self._starting = True
        try:
            yield
        finally:
            self._starting = False

    def reach(self, running: _Attempt) -> None:
        """Forward signals to these ranks from now on, including one that came while they were started."""
        self._running = running
        if self._asked is not None:
            self._end(self._asked)

    def _handle(self, number: int, frame: Any) -> None:
        self._asked = number
        if not self._starting:
            self._end(number)

    def _end(self, number: int) -> None:
        if self._running is not None:
            self._running.pass_on(number)
            self._running.end()
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
