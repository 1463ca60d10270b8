"""Runs a script in a trial, with the text of some files replaced, and reports the doctor's findings.

The child is a separate process. It reads what to run from its stdin, gives Python the changed text
wherever it would read those files (which stay unmodified), and writes the findings to a file of the
parent's.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import os
import subprocess
import sys
import tempfile
from importlib.util import cache_from_source
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tautograd._user_code.sites import Site

LONGEST = 300.0  # seconds


class Aside:
    """How to run a script in a trial: its arguments, its folder, and for how many steps."""

    def __init__(self, target: list[str], root: str, **options: Any) -> None:
        self._order = {"target": target, **options}
        self._root = root

    def __call__(self, changed: dict[str, str]) -> Any:
        """Run it with these texts."""
        from tautograd._doctor.fixes.offer import Outcome

        with tempfile.TemporaryDirectory(prefix="taut-") as folder:
            report = Path(folder) / "report.json"
            order = {**self._order, "changed": changed, "report": str(report)}
            try:
                subprocess.run(
                    [sys.executable, "-m", "tautograd._cli.doctor.trial"], input=json.dumps(order),
                    text=True, cwd=self._root, timeout=LONGEST, check=False,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
                found = json.loads(report.read_text(encoding="utf-8"))
            except subprocess.TimeoutExpired:
                return Outcome(error=f"it took longer than {LONGEST:g} s")
            except (OSError, ValueError):
                return Outcome(error="it ended without a report")
        findings = [_finding(one) for one in found["findings"]]
        return Outcome(findings, found["steps"], found["error"])


def _finding(plain: dict[str, Any]) -> SimpleNamespace:
    sites = {k: plain[k] and Site(*(plain[k][n] for n in ("file", "line", "function")))
             for k in ("site", "fix_site")}  # fmt: skip
    return SimpleNamespace(**{**plain, **sites})


def _give(changed: dict[str, str]) -> None:
    """Have Python read these texts instead of these files."""
    texts = {os.path.abspath(path): text for path, text in changed.items()}
    # Cached bytecode of the files themselves is a different program: neither read nor written. For everything
    # else that the program imports, an engine perhaps, the cache is used.
    compiled = {os.path.abspath(cache_from_source(path)) for path in texts}
    original = io.open_code

    def open_code(path: str) -> Any:
        full = os.path.abspath(path)
        if full in compiled:
            raise FileNotFoundError(path)
        text = texts.get(full)
        return original(path) if text is None else io.BytesIO(text.encode())

    import _io

    io.open_code = _io.open_code = open_code
    sys.dont_write_bytecode = True
    for path, text in texts.items():
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)


def main() -> None:
    """The child."""
    order = json.loads(sys.stdin.read())
    from tautograd._cli import as_torch
    from tautograd._cli.watched import process_kept, run_watched
    from tautograd._doctor.doctor import Doctor

    _give(order["changed"])
    if order["as_torch"]:
        as_torch.install(for_child_processes=True)
    doctor = Doctor(
        select=order["select"], ignore=order["ignore"], steps=order["steps"], engines=()
    )
    error = ""
    report = Path(order["report"])
    with contextlib.suppress(SystemExit), process_kept():
        ending = run_watched(doctor, order["target"], is_module=order["is_module"])
        if ending.error is not None:
            error = repr(ending.error)
    findings = [finding.to_dict() for finding in doctor.findings]
    plain = {"findings": findings, "steps": doctor.steps or doctor.backwards, "error": error}
    report.write_text(json.dumps(plain, default=str), encoding="utf-8")


if __name__ == "__main__":
    main()
