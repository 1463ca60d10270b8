"""`taut doctor --ranks N`: the script on N ranks, and what the ranks do differently."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tautograd._files.regular import read_regular
from tautograd._files.terminal import say, warn

if TYPE_CHECKING:
    from tautograd._doctor.report.findings import Finding

_FINE, _FOUND, _FAILED = 0, 1, 3


def engine_of(namespace: argparse.Namespace) -> str:
    """Which engine the script imports: PyTorch, unless its text says tautograd, and tautograd alone."""
    if namespace.as_torch:
        return "as-torch"
    path: str | None = namespace.target[0]
    if namespace.is_module:
        try:
            spec = importlib.util.find_spec(namespace.target[0])
        except (ImportError, ValueError) as reason:  # of a package around it, or of the name itself
            namespace.parser.error(f"no module named '{namespace.target[0]}': {reason}")
        path = spec.origin if spec is not None else None
    try:
        text = read_regular(Path(path or "")).decode("utf-8", "replace")
    except OSError as reason:
        namespace.parser.error(f"cannot read '{path}': {reason.strerror}")
    imported = set(re.findall(r"^\s*(?:import|from)\s+(torch|tautograd)\b", text, re.M))
    return "tautograd" if imported == {"tautograd"} else "torch"


def execute(namespace: argparse.Namespace) -> int:
    """Run the ranks, compare their notes, tell."""
    from tautograd._doctor.ranks.compare import compare, read
    from tautograd.distributed._launcher import Options, launch

    engine = engine_of(namespace)
    with tempfile.TemporaryDirectory(prefix="taut-ranks-") as folder:
        module = ["-m"] if namespace.is_module else []
        me = [sys.executable, "-m", "tautograd._cli.watched_rank", folder, engine]
        status = launch(Options([*me, *module, *namespace.target], namespace.ranks))
        notes = read(Path(folder), namespace.ranks)
    findings = compare(notes)
    steps = [sum(note["kind"] == "step" for note in own) for own in notes]
    if namespace.json:
        content = {"ranks": namespace.ranks, "steps": steps, "status": status}
        say(json.dumps({**content, "findings": [f.to_dict() for f in findings]}, indent=2))
    elif not namespace.quiet:
        warn(f"\n{_text(findings, namespace.ranks, steps)}")
    if status:
        return status if status > 1 else _FAILED
    return _FOUND if findings else _FINE


def _text(findings: list[Finding], ranks: int, steps: list[int]) -> str:
    lines = []
    for finding in findings:
        lines += [f"{finding.code} {finding.name} ({finding.severity}): {finding.message}"]
        if finding.site is not None:
            lines += [f"    {finding.site.in_a_line}"]
        lines += [f"    {finding.why}", ""]
    said = f"{len(findings)} finding{'s' * (len(findings) != 1)}" if findings else "nothing found"
    return "\n".join([*lines, f"taut doctor: {said} on {ranks} ranks, {max(steps)} steps"])
