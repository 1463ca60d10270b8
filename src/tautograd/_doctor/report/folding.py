"""One cause, one finding: what only follows from another finding says so, and comes right after it."""

from __future__ import annotations

from .findings import Finding

CAUSES = {
    "TG105": ("TG101",),  # what is never cleared meets the next loss
    "TG404": ("TG403",),
    "TG906": ("TG904",),  # a view that mixes tokens lets them see each other
    "TG912": ("TG905",),  # a period of epochs, stepped per batch, climbs when it is over
    "TG702": ("TG701", "TG803", "TG905"),  # not finite, or no rate: nothing moves
}
"""Codes that may be consequences, and of which."""


def fold(findings: list[Finding]) -> list[Finding]:
    """The same findings, each consequence behind its cause."""
    roots: list[Finding] = []
    behind: dict[int, list[Finding]] = {}
    for finding in findings:
        cause = next((other for other in findings if _follows(finding, other)), None)
        if cause is None:
            finding.follows = ""
            roots.append(finding)
        else:
            line = "" if cause.site is None else f" in line {cause.site.line}"
            finding.follows = f"{cause.code}{line}"
            behind.setdefault(id(cause), []).append(finding)
    return [f for root in roots for f in (root, *behind.get(id(root), ()))]


def _follows(finding: Finding, other: Finding) -> bool:
    if other.code not in CAUSES.get(finding.code, ()):
        return False
    mine, others = set(finding.parameters), set(other.parameters)
    return not mine or not others or bool(mine & others)
