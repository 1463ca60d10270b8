"""From a mismatch to the operation behind it, for the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..references.fast_mode import usual_sizes
from ..references.first_order import Outcome
from ..references.forward_rules import wrong_forward_rules
from ..report.findings import Kink, Suspect, in_a_line
from ..report.report import Report
from ..subject.projected import Projected
from ..subject.subject import Subject
from .locate import locate

_BESIDE, _AT_ONCE = 6, 1e-12  # points beside the kink; distance relative to the usual size


def explain(
    report: Report,
    subject: Subject,
    outcome: Outcome | None,
    cotangent: Any = None,
    at_kinks: bool = False,
) -> None:
    """Check the recorded operations; put suspects, cuts and kinks into the report.

    `cotangent` is what to send through backward, if that matters. `at_kinks` says that the
    gradient is wrong at a kink, so that operations at one are to blame.
    """
    run, leaves = runnable(subject)
    try:
        sent = None
        if cotangent is not None:
            sent = subject.as_outputs(cotangent, [t for _, t in subject.outputs])
        found = locate(subject.engine, run, leaves, sent, intent=subject.intent)
    except Exception as error:
        report.notes.append(_could_not(error))
        return
    found.suspects += found.nan_from
    known = {(suspect.operation, suspect.site) for suspect in report.suspects if suspect.entries}
    report.suspects += [s for s in found.suspects if (s.operation, s.site) not in known]
    report.cuts += found.cuts
    if found.suspects:
        return
    if found.cuts:
        report.verdict = "cut"
    elif found.kinks and outcome is not None and _explained_by_kinks(report, outcome):
        report.verdict = "correct"
        report.kinks += found.kinks[:20]
        report.notes.append(
            "Every operation's own rule is right, and some are at a kink: the whole differs from "
            "its differences only because of the sides they take there."
        )
        for check in report.checks:
            if check.verdict == "wrong":
                check.verdict = "kinks"
    elif found.kinks and (outcome is not None or at_kinks):
        report.suspects += _at_kinks(found.kinks)
    else:
        report.notes.append("Every recorded operation's own rule agrees with differences.")


def _at_kinks(kinks: list[Kink]) -> list[Suspect]:
    """The operations at a kink, each once."""
    sites = {(kink.where.partition(":")[0], kink.site): kink for kink in kinks}
    note = "at its kink, or beside it, it takes a gradient that the function has nowhere near"
    return [Suspect(name, site=site, note=note) for name, site in sites]


def tell_infinities(report: Report, subject: Subject) -> None:
    """Report where a gradient becomes infinite: the operation, and the entry."""
    run, leaves = runnable(subject)
    try:
        found = locate(subject.engine, run, leaves, intent=subject.intent)
    except Exception as error:
        report.notes.append(_could_not(error))
        return
    for suspect in (*found.infinite, *found.suspects)[:1]:
        entry = suspect.entries[0]
        at = f"[{', '.join(map(str, entry.index))}]" if entry.index else ""
        site = suspect.site
        where = f" ({Path(site.file).name}, line {site.line})" if site is not None else ""
        report.notes.append(
            f"The gradient is not finite: {suspect.operation}{where} gave {entry.got:g} for "
            f"{entry.tensor}{at}, where finite values and a finite gradient arrived."
        )


def explain_forward(report: Report, subject: Subject) -> None:
    """Report which operations have a wrong forward rule."""
    run, _ = runnable(subject)
    try:
        report.suspects += wrong_forward_rules(subject.engine, run, 0)
    except Exception as error:
        report.notes.append(_could_not(error))


def runnable(subject: Subject) -> tuple[Callable[[], Any], dict[str, Any]]:
    """The computation without arguments, and the leaves it starts from."""
    if isinstance(subject, Projected):
        subject = subject.inner
    tensors = [t.detach().requires_grad_() for t in subject.own_tensors()]

    def run() -> Any:
        with subject.engine.enable_grad():
            return [t for _, t in subject.named_outputs(subject.call(tensors))]

    return run, {leaf.name: t for leaf, t in zip(subject.leaves, tensors, strict=True)}


def _could_not(error: Exception) -> str:
    return f"The operations could not be checked one by one ({in_a_line(error)})."


def _explained_by_kinks(report: Report, outcome: Outcome) -> bool:
    """Whether the sides that operations take at their kinks may explain everything. A gradient
    outside the whole computation's own one-sided derivatives is not explained by them."""
    references = "central differences", "forward mode", "Taylor", "complex"
    failed = [check for check in report.checks if check.verdict == "wrong"]
    outside = bool((outcome.compared.wrong & outcome.found.kink).any())
    if outside or not all(check.reference.startswith(references) for check in failed):
        return False
    return _jumps(outcome)


def _jumps(outcome: Outcome) -> bool:
    """Whether the gradient changes abruptly beside the point, wherever it is wrong: if it does not,
    the kink lies elsewhere, and the gradient belongs to its other side."""
    subject, wrong = outcome.subject, outcome.compared.wrong
    cotangents, before = outcome.backwards()
    if wrong.shape != before.T.shape:  # probes do not identify the number
        return True
    random = np.random.default_rng(0)
    jumped = np.zeros_like(wrong)
    for _ in range(_BESIDE):
        step = _AT_ONCE * random.choice([-1.0, 1.0], subject.row.size) * usual_sizes(subject)
        with np.errstate(all="ignore"):
            now = subject.gradients(subject.row + step, cotangents)
            size = np.abs(np.where(np.isfinite(before), before, 0.0)).max(initial=0.0)
            gap = np.abs(now - before).T
            jumped |= gap > 1e-6 * size
    return bool(jumped[wrong].all())
