"""What `taut verify` hands on: a signature beside the evidence, a summary for GitHub, a badge.

A signature is made by `ssh-keygen -Y sign`, with a key that the user has already; `ssh-keygen -Y verify` checks it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tautograd._files.atomic import replacing
from tautograd._files.printable import printable

if TYPE_CHECKING:
    from tautograd._cli.verify_results import Result

NAMESPACE = "tautograd-evidence"
"""What a signature is for: one that was made for something else does not pass."""
_LABEL = "gradients"


def sign(path: str, key: str) -> str:
    """Sign a file with an SSH key; gives the path of the signature."""
    tool = shutil.which("ssh-keygen")
    if tool is None:
        raise OSError("--sign: ssh-keygen is not installed")
    signature = f"{path}.sig"
    if os.path.lexists(signature):  # of the file that was there before
        os.remove(signature)
    done = subprocess.run(
        [tool, "-Y", "sign", "-q", "-f", key, "-n", NAMESPACE, path],
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
    """The results as Markdown, for the page of a run on GitHub."""
    lines = ["### Gradients", "", "| target | verdict | where |", "| --- | --- | --- |"]
    lines += [
        f"| {_cell(result.target)} | {result.status} | {_cell(_where(result))} |"
        for result in results
    ]
    for result in results:
        if result.report is not None and result.report.checks:
            lines += ["", f"**{_cell(result.target)}.** {_cell(result.report.assurance())}"]
    return "\n".join(lines) + "\n"


def _where(result: Result) -> str:
    report: Any = result.report
    if report is None:
        return result.error
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
    """A badge in the form that shields.io reads from an address."""
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
    """Write the badge, over an earlier one or nothing; over anything else only by force."""
    if os.path.lexists(path) and not force and not _is_badge(path):
        raise FileExistsError(f"'{path}' is there already and is no badge; --force overwrites it")
    with replacing(path) as file:
        file.write(badge(results).encode())


def _is_badge(path: str) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            held = json.load(file)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(held, dict) and held.get("label") == _LABEL and "schemaVersion" in held


def add_summary(path: str, results: Sequence[Result]) -> None:
    """Add the summary to a file, as GitHub wants it."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(summary(results))
