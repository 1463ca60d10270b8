"""The sentences of a report that terminal, page and CI share: when, how closely, the verdict."""

from __future__ import annotations

from ..._report.wording import counted
from .report import Plain


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
