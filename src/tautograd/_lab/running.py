"""Runs the programs of a lesson in this process: their output, how they end, what is found in them.

In this process, because importing PyTorch takes seconds. So what a program may leave behind is
restored: the current folder, `__main__`, the module search path, grad mode and the default dtype.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass
class Ran:
    """The outcome of a program."""

    output: str = ""
    aside: str = ""
    """What went to stderr: warnings, mostly."""
    error: str = ""
    """The error it stopped with, as shown to a learner; empty if it ran to its end."""
    findings: dict[str, Any] | None = None
    """The doctor's report in plain form, if the doctor was watching."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the doctor's findings, in order."""
        return tuple(
            dict.fromkeys(f["code"] for f in (self.findings or {"findings": []})["findings"])
        )


@dataclass
class Checked:
    """The result of verifying a function in a program."""

    verdict: str
    """Of the report; "could not run" if there is none."""
    report: dict[str, Any] | None = None
    error: str = ""
    evidence: Path | None = None


def run(path: Path, engine: ModuleType, *, watched: bool = False) -> Ran:
    """Run a program as `__main__`; watched by the doctor, if requested."""
    ran = Ran()
    printed, aside = io.StringIO(), io.StringIO()
    doctor = _doctor(engine) if watched else None
    main = ModuleType("__main__")
    main.__dict__.update(__file__=str(path), __builtins__=sys.modules["builtins"])
    with _as_it_was(path.parent, engine), _printing_to(printed, aside):
        sys.modules["__main__"] = main
        try:
            code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
            if doctor is not None:
                doctor.start()
            exec(code, main.__dict__)
        except SystemExit as exit:
            if exit.code not in (None, 0):
                ran.error = f"It ended with sys.exit({exit.code!r})."
        except Exception as error:
            ran.error = explained(error, path)
        finally:
            if doctor is not None:
                doctor.stop()
    ran.output, ran.aside = printed.getvalue(), aside.getvalue()
    if doctor is not None:
        from tautograd._doctor.report.report import plain

        ran.findings = plain(doctor)
    # Functions and the names they use form cycles: an optimizer would live on, and the doctor
    # would attribute it to the next program.
    main.__dict__.clear()
    return ran


def check(path: Path, name: str, engine: ModuleType, *, order: int, evidence: Path) -> Checked:
    """Verify the function `name` of a program, and write the evidence for it."""
    from tautograd import evidence as files
    from tautograd._evidence.job import Job, prepare
    from tautograd._evidence.job import run as verify
    from tautograd._evidence.refusals import CannotRun, EvidenceError

    job = Job(
        target=f"{path.name}:{name}",
        engine=engine.__name__,
        settings={"order": order},
        for_evidence=True,
    )
    with _as_it_was(path.parent, engine), _printing_to(io.StringIO(), io.StringIO()):
        try:
            report = verify(job, prepare(job))
            files.save(report, evidence, overwrite=True)
        except (CannotRun, EvidenceError) as reason:
            return Checked("could not run", error=str(reason))
        except (Exception, SystemExit) as error:
            return Checked("could not run", error=explained(error, path))
    return Checked(report.verdict, report.to_dict(), evidence=evidence)


def explained(error: BaseException, path: Path) -> str:
    """A program's error: its last line that was running, and the message."""
    said = "".join(traceback.format_exception_only(error)).rstrip()
    if isinstance(error, SyntaxError):
        return said.replace(str(path), path.name)
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    if not lines:
        return said
    return f"{path.name}, line {lines[-1].lineno}: {lines[-1].line}\n{said}"


def _doctor(engine: ModuleType) -> Any:
    from tautograd._doctor.doctor import Doctor

    return Doctor(engines=[engine])


@contextlib.contextmanager
def _printing_to(printed: io.StringIO, aside: io.StringIO) -> Iterator[None]:
    stdin = sys.stdin
    sys.stdin = io.StringIO()  # a program that asks for input finds none
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(aside),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")  # as when run on its own, whatever this process does
            warnings.showwarning = _show_warning
            yield
    finally:
        sys.stdin = stdin


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    where = os.path.basename(filename)
    sys.stderr.write(warnings.formatwarning(message, category, where, lineno, line or ""))


@contextlib.contextmanager
def _as_it_was(folder: Path, engine: ModuleType) -> Iterator[None]:
    """Run in a lesson's folder, with no trace of its files before or after."""
    main, path, writes = sys.modules["__main__"], list(sys.path), sys.dont_write_bytecode
    dtype, recording = engine.get_default_dtype(), engine.is_grad_enabled()
    sys.dont_write_bytecode = True  # the cache misses edits within the same second
    _forget(folder)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        sys.modules["__main__"] = main
        sys.path[:] = path
        sys.dont_write_bytecode = writes
        engine.set_default_dtype(dtype)
        engine.set_grad_enabled(recording)
        _forget(folder)


def _forget(folder: Path) -> None:
    """Drop modules and cached lines of the lesson's files: the next run reads them again."""
    starts = (f"{folder}{os.sep}", os.path.realpath(folder) + os.sep)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(starts):
            del sys.modules[name]
    for file in [file for file in linecache.cache if file.startswith(starts)]:
        del linecache.cache[file]
    importlib.invalidate_caches()
