"""`taut doctor --diff` and `--fix`: shows or writes the changes that passed."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautograd._cli.delivery import say_on
from tautograd._cli.doctor.trial import Aside
from tautograd._cli.progress import Progress
from tautograd._files.atomic import replacing
from tautograd._files.terminal import say
from tautograd._user_code.source_lines import is_regular_or_absent

if TYPE_CHECKING:
    from tautograd._doctor.doctor import Doctor
    from tautograd._doctor.fixes.offer import Fix

STEPS = 300  # steps of a changed program, at most


class Fixing:
    """Created before the script runs: it may change the folder, and its files may be edited meanwhile."""

    def __init__(self, namespace: argparse.Namespace, root: str) -> None:
        self._wanted, self._root, self._began = namespace, root, time.time()
        target = [os.path.abspath(namespace.target[0]), *namespace.target[1:]]
        self._target = namespace.target if namespace.is_module else target

    def offer(self, doctor: Doctor) -> bool:
        """Try changes, and show or write those that pass; returns whether every finding is fixed."""
        from tautograd._doctor.fixes.offer import mended

        wanted = [f for f in doctor.findings if f.severity != "info" and not f.follows]
        if not wanted:
            return True
        if not self._wanted.is_module and not is_regular_or_absent(self._target[0]):
            say_on(
                "no change was tried: the script came through a pipe, which cannot be read again"
            )
            return False
        aside = Aside(
            self._target, self._root, is_module=self._wanted.is_module,
            as_torch=self._wanted.as_torch, steps=min(doctor.steps, STEPS) or STEPS,
            select=list(doctor.select), ignore=list(doctor.ignore),
        )  # fmt: skip
        progress = Progress(quiet=self._wanted.quiet)
        progress("the program as it is, aside", 0.0)
        control = aside({})
        if control.error:
            progress.clear()
            say_on(f"no change was tried: run aside, the program itself failed: {control.error}")
            return False
        fixes: list[Fix] = []
        missing: list[Any] = []
        for finding, fix in mended(
            control.findings, control.steps, aside,
            say=lambda f: progress(f"trying changes for {f.code}", 0.1 + 0.8 * len(fixes) / len(wanted)),
        ):  # fmt: skip
            if fix is None:
                missing.append(finding)
            else:
                fixes.append(fix)
        progress.clear()
        return self._deliver(doctor, fixes, missing, control)

    def _deliver(self, doctor: Doctor, fixes: list[Fix], missing: list[Any], control: Any) -> bool:
        late = {f.code for f in doctor.findings} - {f.code for f in control.findings}
        for code in sorted(late):
            say_on(f"{code}: no change; it does not show in the first {control.steps} steps")
        for finding in missing:
            say_on(f"{finding.code} {finding.name}: no change that holds was found")
        change = "mended in" if self._wanted.fix else "a change of"
        for fix in fixes:
            say_on(
                f"{fix.finding.code} {fix.finding.name}: {change} {self._name(fix.file)}; tried aside, the "
                "finding is gone and no other came"
            )
        whole = [_joined(fixes, file) for file in dict.fromkeys(fix.file for fix in fixes)]
        for fix in whole:
            if self._wanted.fix:
                self._write(fix)
            else:
                say(fix.diff(self._root), end="")
        if fixes and not self._wanted.fix:
            say_on(f"would mend {len(fixes)} of {len(fixes) + len(missing)}; --fix writes it")
        return not missing and not late

    def _name(self, file: str) -> str:
        return os.path.relpath(file, self._root)

    def _write(self, fix: Fix) -> None:
        """Overwrite only the very text that was tried."""
        path, name = Path(fix.file), self._name(fix.file)
        try:
            if path.stat().st_mtime > self._began or path.read_bytes() != fix.before.encode():
                say_on(f"{name} was changed since the script was started: nothing is written")
                return
            with replacing(path) as file:
                file.write(fix.after.encode())
        except OSError as reason:
            say_on(f"{name} could not be written: {reason.strerror or reason}")
            return
        say_on(f"written: {name}")
        sys.stderr.flush()


def _joined(fixes: list[Fix], file: str) -> Fix:
    """All changes to a file, combined."""
    from tautograd._doctor.fixes.offer import Fix

    mine = [fix for fix in fixes if fix.file == file]
    return Fix(file, mine[0].before, mine[-1].after, mine[0].finding)
