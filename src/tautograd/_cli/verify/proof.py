"""Further outputs of `taut verify`: a signature beside the evidence, a summary for GitHub, a badge.

A signature is made by `ssh-keygen -Y sign`, with an existing key of the user's; `ssh-keygen -Y verify`
checks it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tautograd._files import atomic, destinations
from tautograd._files.printable import printable

if TYPE_CHECKING:
    from tautograd._cli.verify.results import Result

NAMESPACE = "tautograd-evidence"
"""The purpose of a signature: one made for another purpose is rejected."""
_LABEL = "gradients"


def sign(path: str, key: str) -> str:
    """Sign a file with an SSH key; returns the path of the signature."""
    tool = shutil.which("ssh-keygen")
    if tool is None:
        raise OSError("--sign: ssh-keygen is not installed")
    signature = f"{path}.sig"
    destinations.check(signature, destinations.SIGNATURE)
    if os.path.lexists(signature):  # of the previous file
        os.remove(signature)
    done = subprocess.run(
        # An absolute path is never mistaken for an option.
        [
            tool,
            "-Y",
            "sign",
            "-q",
            "-f",
            os.path.abspath(key),
            "-n",
            NAMESPACE,
            os.path.abspath(path),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not os.path.isfile(signature):
        said = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise OSError(f"--sign: ssh-keygen could not sign with '{key}': {said}")
    return signature


def summary(results: Sequence[Result]) -> str:
    """The results as Markdown, for GitHub's job summary."""
    lines = ["### Gradients", "", "| target | verdict | where |", "| --- | --- | --- |"]
    lines += [
        f"| {_cell(result.target)} | {result.verdict} | {_cell(where(result))} |"
        for result in results
    ]
    for result in results:
        if result.report is not None and result.report.checks:
            lines += ["", f"**{_cell(result.target)}.** {_cell(result.report.assurance())}"]
    return "\n".join(lines) + "\n"


def where(result: Result) -> str:
    """Where a gradient goes wrong, or why that could not be determined; empty if it is right."""
    report: Any = result.report
    if report is None:
        return result.where or result.error
    for found, name in ((report.suspects, "operation"), (report.cuts, "how")):
        if found:
            site = found[0].site
            at = f" ({os.path.basename(site.file)}:{site.line})" if site is not None else ""
            return f"{getattr(found[0], name)}{at}"
    return ""


def _cell(text: str) -> str:
    plain = printable(text).replace("\n", " ")
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>|#" else c for c in plain)


def badge(results: Sequence[Result]) -> str:
    """A badge in the JSON format that shields.io reads from a URL."""
    counts = Counter(result.status for result in results)
    wrong = counts["wrong"] + counts["cut"]
    other = len(results) - wrong - counts["correct"]
    if wrong:
        message, colour = f"{wrong} wrong", "red"
    elif other or not results:
        message, colour = f"{counts['correct']} of {len(results)} verified", "yellow"
    else:
        message, colour = f"{counts['correct']} verified", "brightgreen"
    content = {"schemaVersion": 1, "label": _LABEL, "message": message, "color": colour}
    return json.dumps(content, indent=2) + "\n"


def write_badge(path: str, results: Sequence[Result], *, force: bool) -> None:
    """Write the badge, to a new file or over an earlier badge; over anything else only with `force`."""
    destinations.write(path, badge(results), destinations.BADGE, force=force)


def check_summary(path: str, *, force: bool) -> None:
    """Raise `Refused` if a summary must not be appended to this file: it is somebody's, and not Markdown."""
    if (
        atomic.is_plain_or_new(path)
        and not path.lower().endswith((".md", ".markdown"))
        and not force
    ):
        raise destinations.Refused(
            f"cannot add a summary to '{path}': the name of Markdown ends in .md; --force adds it all the same"
        )


def add_summary(path: str, results: Sequence[Result]) -> None:
    """Append the summary to a file, as GitHub requires; a pipe without a reader is an error."""
    handle = os.open(
        path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o666
    )
    with open(handle, "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(summary(results))
