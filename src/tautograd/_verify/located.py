"""From a mismatch to the operation behind it, for the report."""

from __future__ import annotations

from typing import Any

from .first_order import Outcome
from .report import Report
from .subject import Subject


def explain(report: Report, subject: Subject, outcome: Outcome | None) -> None:
    """Go through the recorded operations; put suspects, cuts and kinks into the report."""
    tensors = [t.detach().requires_grad_() for t in subject.tensors_from(subject.row)]
    leaves = {leaf.name: t for leaf, t in zip(subject.leaves, tensors, strict=True)}

    def run() -> Any:
        with subject.engine.enable_grad():
            return [t for _, t in subject.named_outputs(subject.call(tensors))]

    try:
        from .locate import locate

        found = locate(subject.engine, run, leaves)
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[0][:160]
        report.notes.append(
            f"The operations could not be checked one by one ({type(error).__name__}: {line})."
        )
        return
    report.suspects += found.suspects
    report.cuts += found.cuts
    if found.suspects:
        return
    if found.cuts:
        report.verdict = "cut"
    elif found.kinks and outcome is not None and _only_differences_disagree(report):
        report.verdict = "correct"
        report.kinks += found.kinks[:20]
        report.notes.append(
            "Every operation's own rule is right, and some are at a kink: the whole differs from "
            "its differences only because of the sides they take there."
        )
        for check in report.checks:
            if check.verdict == "wrong":
                check.verdict = "kinks"
    else:
        report.notes.append("Every recorded operation's own rule agrees with differences.")


def _only_differences_disagree(report: Report) -> bool:
    return all(
        check.reference.startswith(("central differences", "forward mode", "Taylor", "complex"))
        for check in report.checks
        if check.verdict == "wrong"
    )
