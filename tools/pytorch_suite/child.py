"""Loads one test file on one engine and runs the tests it is asked for, each line of its output an outcome.

Tests run in processes forked from the one that has loaded the file, twenty tests in each. A test that
takes too long, or kills its process, is reported as such, and the next test runs in a new process.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import sys
import time
import unittest
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .loading import Loader

IN_ONE_PROCESS = 20
SEED = 0


def main() -> None:
    git_dir, engine, path, most, seconds = sys.argv[1:6]
    # Whatever a file prints while it is loaded is not an outcome.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # The harness reads options from the command line: there are none.
    sys.argv[1:] = []
    warnings.simplefilter("ignore")
    tests = collected(Loader(git_dir, engine).test_file(path))
    wanted = json.loads(sys.stdin.read() or "null")
    if wanted is None:
        names = sorted(tests)
        wanted = random.Random(SEED).sample(names, min(int(most), len(names)))
    out.write(json.dumps({"tests": len(tests)}) + "\n")
    for outcome in outcomes(tests, wanted, float(seconds)):
        out.write(json.dumps(outcome) + "\n")
        out.flush()


def collected(module: ModuleType) -> dict[str, unittest.TestCase]:
    """The tests of a file by class and name, without classes imported from elsewhere."""
    loader = unittest.TestLoader()
    return {
        f"{kind.__name__}.{name}": kind(name)
        for kind in list(vars(module).values())
        if isinstance(kind, type)
        and issubclass(kind, unittest.TestCase)
        and kind.__module__ == module.__name__
        for name in loader.getTestCaseNames(kind)
    }


def outcomes(
    tests: dict[str, unittest.TestCase], wanted: list[str], seconds: float
) -> Iterator[dict[str, Any]]:
    """The outcome of each of the requested tests."""
    todo = []
    for name in wanted:
        if name in tests:
            todo.append(name)
        else:
            yield {"test": name, "outcome": "failed", "said": "NotMade: the test was not made"}
    while todo:
        group, todo = todo[:IN_ONE_PROCESS], todo[IN_ONE_PROCESS:]
        done = 0
        for outcome in _in_a_fork(tests, group, seconds):
            done += 1
            yield outcome
        todo = group[done:] + todo


def _in_a_fork(
    tests: dict[str, unittest.TestCase], group: list[str], seconds: float
) -> Iterator[dict[str, Any]]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        try:
            for name in group:
                os.write(writer, json.dumps(_outcome(name, tests[name])).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writer)
    waiting, done = b"", 0
    last = time.monotonic()
    try:
        while done < len(group):
            left = seconds - (time.monotonic() - last)
            if left <= 0 or not select.select([reader], [], [], left)[0]:
                said = f"Timeout: no result within {seconds:g} s"
                yield {"test": group[done], "outcome": "failed", "said": said}
                return
            read = os.read(reader, 1 << 16)
            if not read:
                yield {"test": group[done], "outcome": "failed", "said": "Died: its process ended"}
                return
            waiting += read
            *lines, waiting = waiting.split(b"\n")
            for line in lines:
                done, last = done + 1, time.monotonic()
                yield json.loads(line)
    finally:
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # with whatever the test has started
        os.waitpid(pid, 0)


def _outcome(name: str, test: unittest.TestCase) -> dict[str, Any]:
    begin = time.monotonic()
    result = unittest.TestResult()
    said, outcome = "", "passed"
    try:
        test.run(result)
    except BaseException as error:
        outcome, said = "failed", f"{type(error).__name__}: {error}"
    if result.errors or result.failures:
        outcome, said = "failed", _last_words((result.errors + result.failures)[0][1])
    elif result.skipped:
        outcome, said = "skipped", result.skipped[0][1]
    elif result.unexpectedSuccesses:
        outcome, said = "failed", "UnexpectedSuccess"
    return {
        "test": name, "outcome": outcome, "said": said[:600],
        "seconds": round(time.monotonic() - begin, 2),
    }  # fmt: skip


def _last_words(trace: str) -> str:
    """The error of a traceback, from its last line that is not indented and begins with a class."""
    lines = trace.rstrip().splitlines()
    harness_adds = ("To execute this test", "This message can be suppressed", "python ")
    starts = [
        i for i, line in enumerate(lines)
        if line[:1].isalpha() and not line.startswith(("Traceback", "The above", "During", *harness_adds))
        and line.partition(":")[0].replace(".", "").replace("_", "").isalnum()
    ]  # fmt: skip
    start = starts[-1] if starts else 0
    for i in starts:  # the class of the error, not a line of its message
        if lines[i - 1].startswith("  ") or i == 0:
            start = i
    where = [line.strip() for line in lines[:start] if line.lstrip().startswith("File ")]
    return "\n".join([*lines[start : start + 6], *where[-1:]])


if __name__ == "__main__":
    main()
