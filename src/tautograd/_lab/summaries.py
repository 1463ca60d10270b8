"""The findings of the doctor and verify, in the few lines that a lesson has room for."""

from __future__ import annotations

import os
from typing import Any

from tautograd._verify.report.render_parts import cut_text, entry_text, headline, suspect_title

_MOST = 3


def of_verify(report: dict[str, Any]) -> list[str]:
    """The verdict, and where a gradient goes wrong."""
    verdict = str(report["verdict"])
    lines = [f"{verdict.upper()}  {headline(report)}"]
    if verdict == "correct":
        agreeing = [c["reference"] for c in report["checks"] if c["verdict"] == "agrees"]
        if agreeing:
            names = ", ".join(dict.fromkeys(name.partition(",")[0] for name in agreeing))
            lines.append(f"  it agrees with: {names}")
        return lines
    for suspect in report["suspects"][:_MOST]:
        lines.append(f"  {suspect_title(suspect)}{_at(suspect['site'])}")
        if suspect.get("note"):
            lines.append(f"    {suspect['note']}")
        lines += [f"    {entry_text(entry)}" for entry in suspect["entries"][:_MOST]]
    lines += [f"  {cut_text(cut)}{_at(cut['site'])}" for cut in report["cuts"][:_MOST]]
    if not report["suspects"]:
        most = 1 if report["cuts"] else _MOST
        lines += [f"  {entry_text(entry)}" for entry in report["entries"][:most]]
    lines += [f"  {note}" for note in report["notes"][:_MOST]]
    return lines


def of_doctor(report: dict[str, Any]) -> list[str]:
    """Each finding: its line, what is wrong, the fix."""
    lines = []
    for finding in report["findings"]:
        at = _at(finding["site"]).strip() or "(no line)"
        lines.append(f"{finding['code']} {finding['name']}, {at}")
        lines.append(f"  {finding['message']}")
        if finding["fix"]:
            lines.append(f"  fix: {' '.join(finding['fix'].split())}")
    if not report["findings"]:
        steps = report["steps"]
        lines.append(f"nothing found in {steps} optimizer {'step' if steps == 1 else 'steps'}")
    return lines


def _at(site: dict[str, Any] | None) -> str:
    if not site:
        return ""
    text = f": {site['text']}" if site.get("text") else ""
    return f" at {os.path.basename(site['file'])}, line {site['line']}{text}"
