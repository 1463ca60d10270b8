"""`taut replay`: runs the verification in an evidence file again, and reports what is the same."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from typing import Any

from tautograd._cli import as_torch
from tautograd._cli.delivery import say_on
from tautograd._cli.inputs_options import add_engine, add_inputs
from tautograd._cli.progress import Progress
from tautograd._files.printable import printable
from tautograd._files.terminal import Lines, say

SUMMARY = "repeat the verification of an evidence file, and list what is the same and what is not"
EXAMPLE = """\
examples:
  taut replay fn.json                        the function in the file, if it is in this project
  taut replay fn.json pkg.mod:fn             this function, wherever it is
  taut replay fn.json --engine torch         with one deliberate change

Without a TARGET, the function named in the evidence is imported and run only if it is defined in a
file of the current folder's project, and that file is byte for byte the one the evidence was made with.
To replay evidence in somebody else's folder is to run their code.

Exit status: 0 the results are the same (code or data that changed is named, but is no failure),
1 they differ, 2 could not run. With --exact: 0 only if everything is the same, bit for bit."""

_SAME, _DIFFERS, _COULD_NOT_RUN, _INTERRUPTED = 0, 1, 2, 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut replay`."""
    parser.usage = "taut replay [options] evidence.json [pkg.mod:fn]"
    parser.add_argument("file", metavar="FILE", help="an evidence file")
    parser.add_argument(
        "target", nargs="?", metavar="TARGET", help="pkg.mod:fn or path/to/file.py:fn"
    )
    add_inputs(parser)
    add_engine(parser)
    parser.add_argument("--seed", type=int, metavar="N", help="use another seed")
    parser.add_argument(
        "--exact",
        action="store_true",
        help="also fail if code, data or rounding differ and the results are the same",
    )
    parser.add_argument("--all", action="store_true", help="also list what is the same")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--quiet", action="store_true", help="print nothing; rely on the exit status"
    )


def execute(namespace: argparse.Namespace) -> int:
    """Replay the file named on the command line."""
    parser: argparse.ArgumentParser = namespace.parser
    from tautograd._evidence.refusals import CannotRun, EvidenceError

    progress = Progress(quiet=namespace.quiet)
    try:
        quietly = contextlib.redirect_stdout(sys.stderr) if namespace.json else None
        with quietly or contextlib.nullcontext():
            found = _replayed(namespace, progress)
    except (EvidenceError, CannotRun) as reason:
        progress.clear()
        # The message has the names escaped; the suggested command has the file as typed.
        typed = f"taut replay {shlex.quote(printable(namespace.file))}"
        parser.error(Lines(str(reason).replace("taut replay FILE", typed)))
    except KeyboardInterrupt:
        progress.clear()
        say_on("interrupted")
        return _INTERRUPTED
    progress.clear()
    if namespace.json:
        from tautograd._evidence.canonical import json_text

        say(json_text(found.to_dict()))
    elif not namespace.quiet:
        from tautograd._evidence.text import comparison_text
        from tautograd._report.colour import wants_colour

        say(comparison_text(found, colour=wants_colour(), everything=namespace.all))
    return _SAME if (found.exact if namespace.exact else found.same_results) else _DIFFERS


def _replayed(namespace: argparse.Namespace, progress: Progress) -> Any:
    from tautograd._evidence import replay
    from tautograd._evidence.files import read
    from tautograd._evidence.refusals import CannotRun, EvidenceError

    before = read(namespace.file)
    changes = replay.Changes(
        engine=namespace.engine,
        seed=namespace.seed,
        inputs=namespace.inputs,
        inputs_from=namespace.inputs_from,
        inputs_file=namespace.inputs_file,
        checkpoint=namespace.checkpoint,
    )
    job, subject = replay.job_of(before, namespace.target, changes)
    aliased = before["runtime"]["as_torch"] and namespace.engine is None
    if aliased or namespace.engine == "tautograd":
        as_torch.install(for_child_processes=True)
    if not (namespace.json or namespace.quiet):
        say_on(f"importing {printable(job.target)}")
    progress.begin(printable(job.target), 1, 1)
    try:
        return replay.again(before, job, subject, progress)
    except (EvidenceError, CannotRun, KeyboardInterrupt):
        raise
    except BaseException as error:  # code may raise a subclass of that alone
        from tautograd._cli.verify.command import why_not

        raise CannotRun(why_not(job.target, error), lines=True) from error
