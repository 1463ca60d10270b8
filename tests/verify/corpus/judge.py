"""Judges a report by its case: was the wrong gradient caught, and was the culprit named?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from .case import Case


@dataclass
class Judgement:
    """What a report amounts to."""

    ok: bool  # whether the report says that the gradient is right
    located: str  # "" if the culprit is named, else what is wrong with what was said
    said: str  # for the message of a failing test
    report: Any


def judge(case: Case, engine: str) -> Judgement:
    """Verify a case on an engine, and read what was said."""
    import tautograd

    torch = import_module(engine)
    check = case.build(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = tautograd.verify(check.subject, check.inputs, confirm=False, **check.options)
    return Judgement(report.ok, _misplaced(case, report), said(report), report)


def _misplaced(case: Case, report: Any) -> str:
    if case.cut:
        if not report.cuts:
            return "no cut was found"
        return _elsewhere(case, report.cuts[0], report.cuts[0].how)
    if not report.suspects:
        return "there is no suspect"
    return _elsewhere(case, report.suspects[0], report.suspects[0].operation)


def _elsewhere(case: Case, found: Any, operation: str) -> str:
    names = [name.lower() for name in case.operations]
    plain = operation.lower()
    if not (plain in names or (case.cut and any(name in plain for name in names))):
        return f"{operation!r} is none of {', '.join(case.operations)}"
    if found.site is None:
        return "no line is named"
    if Path(found.site.file).name != Path(case.file).name or found.site.line not in case.lines:
        return f"{found.site} is not on line {' or '.join(map(str, case.lines))}"
    if case.module and found.module != case.module:
        return f"the module is called {found.module!r}, not {case.module!r}"
    return ""


def said(report: Any) -> str:
    """The report in a few lines."""
    lines = [f"{report.engine}: {report.verdict}"]
    lines += [
        f"  {check.verdict}: {check.reference}, {check.compares}; gap {check.error:.3g}, "
        f"allowed {check.tolerance:.3g} {check.note}"
        for check in report.checks
        if check.verdict not in ("agrees", "not applicable")
    ]
    lines += [f"  suspect {s.operation} ({s.node}) {s.module} at {s.site}" for s in report.suspects]
    lines += [f"  cut {c.how} {c.module} at {c.site}" for c in report.cuts]
    lines += [f"  entry {entry}" for entry in report.entries[:3]]
    lines += [f"  kink {k.where} {k.index}: {k.left:.4g} | {k.right:.4g}" for k in report.kinks[:3]]
    lines += [f"  note: {note}" for note in report.notes]
    return "\n".join(lines)
