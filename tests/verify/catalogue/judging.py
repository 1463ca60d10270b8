"""Verifies a row of the catalogue and says what was missed: found, located, accused."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.verify.corpus.judge import said

from .table import Row


@dataclass
class Outcome:
    found: bool  # the report does not call the gradient right
    accused: bool  # the report calls something wrong
    located: bool
    said: str


def outcome(row: Row, engine: str) -> Outcome:
    """What `verify` makes of a row on an engine."""
    import tautograd

    torch = import_module(engine)
    program, *inputs = row.build(torch)
    options = row.options(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = tautograd.verify(program, tuple(inputs), confirm=False, **options)
    return Outcome(
        found=report.verdict in ("wrong", "cut"),
        accused=report.verdict != "correct" or bool(report.suspects),
        located=_located(row, report),
        said=said(report),
    )


def _located(row: Row, report: Any) -> bool:
    named = report.cuts[:1] if row.cut else report.suspects[:1]
    if not named:
        return False
    name = named[0].how if row.cut else named[0].operation
    site = named[0].site
    fair = [candidate.lower() for candidate in row.operations]
    told = name.lower() in fair or (row.cut and any(one in name.lower() for one in fair))
    return told and site is not None and Path(site.file).parent == Path(__file__).parent
