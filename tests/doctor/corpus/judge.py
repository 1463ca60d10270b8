"""Runs a loop under the doctor, as a user would, and puts what it found into words."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

from .case import Loop, Pair


def engine(name: str) -> Any:
    """The module of an engine, with what its loops use."""
    for part in ("nn", "optim", "utils.data", "utils.checkpoint", "amp"):
        importlib.import_module(f"{name}.{part}")
    return importlib.import_module(name)


def findings(loop: Loop) -> list[Any]:
    """What the doctor says of a loop. Warnings that the loop itself gives do not matter here."""
    import tautograd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tautograd.doctor() as doctor:
            loop()
    assert not doctor.troubles, f"the doctor itself went wrong: {doctor.troubles[0]!r}"
    return doctor.findings


def matching(case: Pair, found: list[Any]) -> list[Any]:
    """Those that tell the mistake by one of its codes, within ten steps."""
    return [finding for finding in found if finding.code in case.codes and finding.step <= 10]


def located(case: Pair, found: list[Any]) -> bool:
    """Whether one of them names a line that caused the mistake."""
    for finding in found:
        site = finding.site
        if site is not None and Path(site.file).samefile(case.file) and site.line in case.lines:
            return True
    return False


def told(found: list[Any]) -> str:
    """Findings as lines of text."""
    if not found:
        return "nothing was found"
    return "\n".join(f"{f.code} at {f.site}, step {f.step}: {f.message}" for f in found)
