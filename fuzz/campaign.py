"""Divides the time among targets, monitors the workers, and collects what they find.

A worker that dies, or exceeds its target's limit on one case, is a failure of that case; the
next worker continues after it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fuzz import at_work, unheard
from fuzz.patience import STARVED, Patience
from fuzz.target import Case, Target
from fuzz.worker import NOTE, case_of, kind_of

# Seconds per turn of a target: a worker takes a few to start, more on a busy machine.
SHORTEST, LONGEST = 10.0, 300.0
AGAIN = 120.0  # seconds for running the cases before a death again
RANGE = 1 << 20  # seeds that one turn of a target may use
CHUNK = 2000  # cases per turn, if they are counted and not timed
REPEATED = 5000  # cases that are run again, to find out what caused a death
PROJECT = Path(__file__).resolve().parent.parent


@dataclass
class Failure:
    """One kind of failure, with the simplest case found."""

    target: str
    seed: int
    message: str
    case: Case
    times: int = 1

    @property
    def digest(self) -> str:
        """The name of its file."""
        text = json.dumps(self.case, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:10]


class Campaign:
    """A run of the fuzzer over some targets."""

    def __init__(
        self,
        targets: list[Target],
        seed: int,
        jobs: int,
        cases: int = 0,
        log: IO[str] | None = None,
    ) -> None:
        """`cases`: so many per target, however long they take. `log`: gets one line per remark."""
        self.targets = targets
        self.jobs = jobs
        self.counts: Counter[str] = Counter()
        self._found: dict[tuple[str, str], Failure] = {}
        self._next = {target.name: seed << 32 for target in targets}
        self._spent = {target.name: 0.0 for target in targets}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._log = log
        self._turns = [
            (target, (seed << 32) + at, (seed << 32) + min(at + CHUNK, cases))
            for target in targets
            for at in range(0, cases, CHUNK)
        ]

    @property
    def failures(self) -> list[Failure]:
        """One failure of each kind."""
        return list(self._found.values())

    def run(self, seconds: float) -> None:
        """Attack for so long, or until all cases are done."""
        until = time.time() + seconds
        job = self._counted_job if self._turns else self._job
        turns = 4 * len(self.targets) / self.jobs  # so that each target gets a few
        span = min(max(seconds / turns, SHORTEST), LONGEST)
        threads = [threading.Thread(target=job, args=(until, span)) for _ in range(self.jobs)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                time.sleep(0.2)
                self._progress(until)
        except BaseException:
            self._stopping.set()
            raise
        finally:
            for thread in threads:
                thread.join()

    # ---- one job ---------------------------------------------------------------------------------

    def _job(self, until: float, longest: float) -> None:
        while time.time() < until and not self._stopping.is_set():
            with self._lock:
                target = min(self.targets, key=lambda t: self._spent[t.name] / t.share)
                span = min(longest, max(until - time.time(), 0.1))
                self._spent[target.name] += span
                first = self._next[target.name]
                self._next[target.name] = first + RANGE
            self._slice(target, first, first + RANGE, time.time() + span)

    def _counted_job(self, until: float, _: float) -> None:
        while time.time() < until and not self._stopping.is_set():
            with self._lock:
                if not self._turns:
                    return
                target, first, end = self._turns.pop(0)
            self._slice(target, first, end, until)

    def _slice(self, target: Target, seed: int, end: int, until: float) -> None:
        while seed < end and time.time() < until and not self._stopping.is_set():
            seed = self._one_worker(target, seed, end, until) + 1

    def _one_worker(self, target: Target, first: int, end: int, until: float) -> int:
        """Run a worker until its time is up or it must be stopped; returns its last seed."""
        with (
            tempfile.TemporaryFile() as note,
            tempfile.TemporaryFile() as errors,
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        ):  # a hostile call may write to any file
            command = [sys.executable, "-m", "fuzz.worker", target.name, str(first)]
            process = subprocess.Popen(
                [*command, str(end), str(until), str(note.fileno())],
                stdout=subprocess.PIPE, stderr=errors, pass_fds=[note.fileno()], cwd=folder,
                env=_environment(), start_new_session=True, text=True,
            )  # fmt: skip
            lines: queue.Queue[str] = queue.Queue()
            assert process.stdout is not None
            reader = threading.Thread(target=_lines, args=(process.stdout, lines), daemon=True)
            reader.start()
            stuck, done = self._watch(target, process, note.fileno(), lines)
            reader.join(5)
            done |= self._drain(target, lines)
            begun, seed = _note(note.fileno())
            errors.seek(0)
            said = errors.read().decode(errors="replace")
            if process.returncode == 0 and not stuck and not self._stopping.is_set():
                # A worker that was ended by the code it ran may also exit with status 0.
                printed = unheard.printed(said) if done else "the worker ended before its time"
                if printed:
                    self._note_failure(target, seed, f"{printed}\n{said[-4000:]}", None)
            if stuck or (process.returncode != 0 and not self._stopping.is_set()):
                what = f"did not end in {target.limit:g} s" if stuck else _death(process.returncode)
                tail = said[-4000:]
                if at_work.is_others(note.fileno()) or (
                    begun and target.beside_others and not self._dies_alone(target, first, seed)
                ):
                    with self._lock:
                        self.counts["workers lost to others"] += 1
                    return max(seed, first)
                if not begun:  # it failed before the first case, or while shrinking one
                    what = f"the worker {what}"
                self._note_failure(target, seed, f"{what}{_where(tail)}\n{tail}", None)
            return max(seed, first)

    def _dies_alone(self, target: Target, first: int, seed: int) -> bool:
        """Whether a worker dies again on the cases up to this one, with no foreign code beside ours."""
        with tempfile.TemporaryFile() as note, tempfile.TemporaryDirectory() as folder:
            cases = [str(max(first, seed - REPEATED)), str(seed + 1)]
            command = [sys.executable, "-m", "fuzz.worker", target.name, *cases]
            try:
                again = subprocess.run(
                    [*command, str(time.time() + AGAIN), str(note.fileno())],
                    capture_output=True, pass_fds=[note.fileno()], cwd=folder, check=False,
                    env={**_environment(), at_work.ALONE: "1"}, start_new_session=True,
                    timeout=STARVED * AGAIN,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return True  # it hangs on its own, where PyTorch may have hung as well
        return again.returncode != 0

    def _watch(self, target: Target, process: Any, note: int, lines: Any) -> tuple[bool, bool]:
        """Wait until it ends or must be stopped; whether it hung, and whether it reported completion."""
        done = False
        last, patience = (0, 0), Patience(process.pid, target.limit)
        while process.poll() is None:
            done |= self._drain(target, lines)
            now = _note(note)
            if now != last or now[0] == 0:
                last, patience = now, Patience(process.pid, target.limit)
            stuck = patience.is_over()
            if stuck or self._stopping.is_set():
                if stuck:
                    process.send_signal(signal.SIGUSR1)  # prints its traceback to the errors
                    time.sleep(0.5)
                _end(process)
                return stuck, done
            time.sleep(0.1)
        _end(process)
        return False, done

    def _drain(self, target: Target, lines: Any) -> bool:
        """Process its output so far; whether it has reported completion."""
        done = False
        with contextlib.suppress(queue.Empty):
            while True:
                record = json.loads(lines.get_nowait())
                done |= "done" in record
                with self._lock:
                    self.counts.update(record.get("counts", {}))
                    if "remark" in record and self._log is not None:
                        self._log.write(json.dumps(record["remark"]) + "\n")
                if "failure" in record:
                    self._note_failure(target, record["seed"], record["failure"], record["case"])
        return done

    def _note_failure(self, target: Target, seed: int, message: str, case: Case) -> None:
        if case is None:
            with contextlib.suppress(Exception):  # creating it may be what failed
                case = case_of(target, seed)
        with self._lock:
            failure = self._found.get((target.name, kind_of(message)))
            if failure is not None:
                failure.times += 1
                return
            self._found[target.name, kind_of(message)] = Failure(target.name, seed, message, case)
        print(f"\n{target.name}: {kind_of(message)}  (seed {seed})", flush=True)

    def _progress(self, until: float) -> None:
        if sys.stderr.isatty():
            said = ", ".join(f"{count:,} {name}" for name, count in sorted(self.counts.items()))
            left = max(until - time.time(), 0)
            sys.stderr.write(f"\r{left:5.0f} s left; {len(self._found)} failures; {said}\x1b[K")
            sys.stderr.flush()


def _lines(stream: IO[str], lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)


def _note(handle: int) -> tuple[int, int]:
    data = os.pread(handle, NOTE.size, 0)
    return NOTE.unpack(data) if len(data) == NOTE.size else (0, 0)  # type: ignore[return-value]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{PROJECT / 'src'}{os.pathsep}{PROJECT}"}


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _death(status: int) -> str:
    if status < 0:
        return f"died of {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _where(errors: str) -> str:
    """The project's innermost line in a worker's traceback."""
    for line in errors.splitlines():
        if "/tautograd/" in line and "File" in line:
            return ": " + line.strip().rpartition("/tautograd/")[2]
    return ""
