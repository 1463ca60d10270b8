"""`taut doctor --ranks N`: the script on N ranks: the findings on each, and differences between them."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tautograd._cli.watched import stdout_kept_for
from tautograd._doctor.ranks.compare import ranks_text
from tautograd._files.printable import printable
from tautograd._files.regular import read_regular
from tautograd._files.terminal import say, warn

_FINE, _FOUND, _FAILED = 0, 1, 3


def engine_of(namespace: argparse.Namespace) -> str:
    """The engine the script imports: PyTorch, unless its text names tautograd, and only tautograd."""
    if namespace.as_torch:
        return "as-torch"
    path: str | None = namespace.target[0]
    if namespace.is_module:
        try:
            spec = importlib.util.find_spec(namespace.target[0])
        except (ImportError, ValueError) as reason:  # from a parent package, or the name itself
            namespace.parser.error(f"no module named '{namespace.target[0]}': {reason}")
        path = spec.origin if spec is not None else None
    try:
        text = read_regular(Path(path or "")).decode("utf-8", "replace")
    except OSError as reason:
        namespace.parser.error(f"cannot read '{path}': {reason.strerror}")
    imported = set(re.findall(r"^\s*(?:import|from)\s+(torch|tautograd)\b", text, re.M))
    return "tautograd" if imported == {"tautograd"} else "torch"


_NOT_HERE = (
    "look_at", "sarif", "html", "beside", "live", "tensorboard", "wandb", "mlflow", "diff", "fix", "deep", "github",
)  # fmt: skip


def execute(namespace: argparse.Namespace) -> int:
    """Run the ranks, compare their notes, report the findings on each and between them."""
    from tautograd._cli.doctor.command import doctor_for
    from tautograd._doctor.config import ConfigError
    from tautograd._doctor.ranks.compare import compare, read
    from tautograd._doctor.ranks.shared import shared
    from tautograd._doctor.report.rule_pages import UnknownRule
    from tautograd.distributed._launcher import Options, launch

    for name in _NOT_HERE:
        if getattr(namespace, name):
            namespace.parser.error(f"--{name.replace('_', '-')} is not there with --ranks")
    try:
        doctor = doctor_for(namespace)
    except (ConfigError, UnknownRule) as reason:
        namespace.parser.error(str(reason))
    engine = engine_of(namespace)
    options = {name: getattr(namespace, name) for name in ("select", "ignore", "steps", "quiet")}
    with tempfile.TemporaryDirectory(prefix="taut-ranks-") as name:
        folder = Path(name)
        (folder / "options.json").write_text(
            json.dumps({**options, "look_at": None, "deep": False})
        )
        module = ["-m"] if namespace.is_module else []
        me = [sys.executable, "-m", "tautograd._cli.doctor.watched_rank", name, engine]
        with stdout_kept_for(namespace.json):
            status = launch(Options([*me, *module, *namespace.target], namespace.ranks))
        notes = read(folder, namespace.ranks)
        own = [_own_findings(folder / f"rank{rank}.json") for rank in range(namespace.ranks)]
    between = [
        {**finding.to_dict(), "ranks": None}
        for finding in compare(notes)
        if doctor.wanted(finding.code) and not doctor.is_ignored(finding)
    ]
    report = {
        "ranks": namespace.ranks,
        "steps": [sum(note["kind"] == "step" for note in notes_of) for notes_of in notes],
        "status": status,
        "findings": [*between, *shared([one["findings"] if one else [] for one in own])],
        # A rank that was killed does not report on the single-rank rules.
        "unheard": [rank for rank, one in enumerate(own) if one is None],
        "sharded": any(one["sharded"] for one in own if one),
        "troubles": [trouble for one in own if one for trouble in one["troubles"]],
    }
    if namespace.json:
        say(json.dumps(report, indent=2))
    elif not namespace.quiet:
        warn(f"\n{printable(_text(report), lines=True)}")
    if status:
        return status if status > 1 else _FAILED
    return _FOUND if report["findings"] else _FINE


def _own_findings(path: Path) -> dict[str, Any] | None:
    """The rules' findings on one rank, if it got to report them."""
    return json.loads(path.read_text()) if path.exists() else None


def _text(report: dict[str, Any]) -> str:
    ranks, findings, lines = report["ranks"], report["findings"], []
    for finding in findings:
        lines += [
            f"{finding['code']} {finding['name']} ({finding['severity']}): {_where(finding, ranks)}{finding['message']}"
        ]
        if (site := finding["site"]) is not None:
            inside = f" in {site['function']}" if site["function"] not in ("", "<module>") else ""
            lines += [f"    {site['file']}:{site['line']}{inside}: {site['text']}".rstrip(": ")]
        lines += [f"    {finding['why']}"]
        if finding["fix"]:
            lines += ["    fix:", *(f"        {line}" for line in finding["fix"].splitlines())]
        lines += [""]
    said = f"{len(findings)} finding{'s' * (len(findings) != 1)}" if findings else "nothing found"
    rules = (
        "the rules for one process were not applied, since they do not know PyTorch's sharded parameters"
        if report["sharded"]
        else "every rule was applied to each"
    )
    lines.append(
        f"taut doctor: {said} on {ranks} ranks, {max(report['steps'])} steps; ranks were compared, and {rules}"
    )
    if unheard := report["unheard"]:
        lines.append(
            f"{ranks_text(unheard)} ended before the rules could say what they found there: only what ranks do "
            "differently is told"
        )
    lines += [
        f"The doctor itself made a mistake, which may hide findings: {trouble}"
        for trouble in report["troubles"][:3]
    ]
    return "\n".join(lines)


def _where(finding: dict[str, Any], ranks: int) -> str:
    """The ranks a finding belongs to: those of the comparison already name theirs."""
    of = finding["ranks"]
    if of is None:
        return ""
    return f"on all {ranks} ranks: " if len(of) == ranks > 1 else f"on {ranks_text(of)}: "
