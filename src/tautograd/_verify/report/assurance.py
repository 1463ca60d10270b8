"""What a report is worth: what was tried, what could have been missed and how probably, and what is
assumed.

In words for an auditor, in numbers for a machine. Random probes miss an error matrix E only if they
cancel it: for random signs u and v, u·E·v is zero with a probability of at most 3/4 (E·v is zero with
at most 1/2, and then, if it is not, u·(E·v) with at most 1/2), so k independent pairs miss it with at
most (3/4)^k.
"""

from __future__ import annotations

from typing import Any

_ASSUMPTIONS = (
    "the function is the same from run to run, once random numbers and buffers are put back",
    "it is smooth around the point, but for the kinks that are listed",
    "the values are right: only their derivative was checked, at these inputs and no others",
)


def assurance_of(report: Any) -> dict[str, Any]:
    """The figures: what each reference compared, and a bound on what was missed."""
    compared = [check for check in report.checks if check.verdict != "not applicable"]
    first = report.checks[0].compares if report.checks else ""
    whole = first.startswith("all ")
    pairs = 0 if whole else _pairs(report)
    certain = report.figures.get("caught_with_probability_0.99")
    return {
        "tried": {check.reference: int(check.entries) for check in compared},
        "not_applicable": [c.reference for c in report.checks if c.verdict == "not applicable"],
        "every_entry": whole,
        "single_entry_seen_from": certain,
        "probability_of_missing_a_single_entry": 0.0 if whole else 0.01,
        "probability_of_missing_any_error": 0.0 if whole else 0.75**pairs,
        "assumptions": list(_ASSUMPTIONS),
    }


def _pairs(report: Any) -> int:
    """Independent pairs of directions and weightings; at least one was sent."""
    return max(1, min(int(report.settings.get("probes", 1)), int(report.checks[0].entries or 1)))


def in_words(assurance: dict[str, Any]) -> str:
    """The same for a reader."""
    tried = ", ".join(f"{name} ({count:,})" for name, count in assurance["tried"].items())
    if assurance["every_entry"]:
        missed = "Every entry was compared: an error above its tolerance is not missed"
    else:
        any_error = assurance["probability_of_missing_any_error"]
        missed = (
            "Random probes were compared: errors of several entries that cancel in all of them are missed "
            f"with a probability of at most {any_error:.2g}"
        )
    seen = assurance["single_entry_seen_from"]
    if isinstance(seen, float) and seen < float("inf"):
        missed += f"; a single entry is seen from an error of {seen:.2g} on"
        missed += "" if assurance["every_entry"] else " with a probability of 0.99"
    return f"Tried: {tried}. {missed}. Assumed: {'; '.join(assurance['assumptions'])}."


__all__ = ["assurance_of", "in_words"]
