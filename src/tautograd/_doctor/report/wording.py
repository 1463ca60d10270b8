"""The words of a report that terminal, page and CI share: places, times, lists, the verdict."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .report import Plain

MOST_NAMES = 4


def place(site: Plain | None, root: str | None = None) -> str:
    """`train.py:12`, from where the user is."""
    return "(no line)" if site is None else f"{near(site['file'], root)}:{site['line']}"


def near(file: str, root: str | None = None) -> str:
    """A file's path from a folder, if it is in it; else as it is."""
    root = os.getcwd() if root is None else root
    try:
        relative = os.path.relpath(file, root)
    except ValueError:  # another drive
        return file
    return file if file.startswith("<") or relative.startswith(os.pardir) else relative


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names in a row; of many, the first few and how many more."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def counted(number: int, noun: str, several: str = "") -> str:
    """'1 step', '3 steps'."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def when(finding: Plain, report: Plain) -> str:
    """At which step it was first seen, and how often since; a loop that repeats is not always looked at."""
    first = f"after step {finding['step']:,}" if finding["step"] else "before the first step"
    if finding["count"] < 2:
        return first
    measured = len(report["history"]["steps"]) if report["history"] else 0
    if report["looked"] < finding["count"] <= measured < report["steps"]:  # by its numbers
        within = f" ({measured:,} of {report['steps']:,} steps were measured)"
    else:
        within = looked(report)
    return f"{first}, seen {finding['count']:,} times{within}"


def looked(report: Plain) -> str:
    """How many steps were looked at closely, if that is not all of them."""
    if report["looked"] >= report["steps"]:
        return ""
    return f" ({report['looked']:,} of {report['steps']:,} steps were looked at closely)"


def figure(value: Any) -> str:
    """A figure in a few digits."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(figure, value))
    return str(value)


def verdict(report: Plain) -> str:
    """The verdict in a sentence."""
    engines = " and ".join(report["engines"])
    within = f"{counted(report['steps'], 'optimizer step')}{f' of {engines}' if engines else ''}"
    findings = report["findings"]
    if findings:
        kinds = [
            counted(number, kind, f"{kind}s" if kind != "info" else "info")
            for kind in ("error", "warning", "info")
            if (number := sum(f["severity"] == kind for f in findings))
        ]
        said = f"{counted(len(findings), 'finding')} ({', '.join(kinds)}) in {within}"
    elif report["verdict"] == "clean":
        said = f"no finding in {within}"
    elif engines:
        seen = report["seen"]
        what = "no optimizer stepped" if seen["optimizers"] else "no optimizer was made"
        times = f"{counted(seen['backwards'], 'backward')} of {engines} ran"
        said = (
            f"nothing to judge: {times if seen['backwards'] else f'{engines} was used'}, but {what}"
        )
    elif named := " and ".join(report["seen"]["imports"]):
        said = (
            f"nothing to judge: {named} was imported, but neither a model nor an optimizer was made"
        )
    else:
        said = "nothing to judge: neither torch nor tautograd was used"
    if report["ignored"]:
        said += f"; {report['ignored']:,} ignored"
    if report["ending"]:
        said += f"; {report['ending']}"
    return f"{said}."
