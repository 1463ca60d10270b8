"""Reports to render, made by hand: all that a finding and a history may hold."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tautograd._doctor.report.findings import Finding
from tautograd._doctor.report.report import Reporting, plain
from tautograd._doctor.state.history import History
from tautograd._user_code.sites import Site

CODE = """\
import torch
model = make()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    loss = criterion(model(x), y)  # <b>not markup</b> & so on
    loss.backward()
    optimizer.step()
"""


ENGINE = SimpleNamespace(__name__="torch", __version__="2.13.0")


class Said(Reporting):
    """A doctor that has only its report."""

    def __init__(self, findings: list[Finding], history: History | None = None) -> None:
        self.findings, self._history = findings, history
        self.ignored, self.steps = 0, 40
        self.watched: list[Any] = [ENGINE]
        self.stepped: dict[str, Any] = {"torch": ENGINE}
        self.script = "train.py"

    @property
    def history(self) -> History | None:
        return self._history


def finding(file: Path, line: int = 6, **details: Any) -> Finding:
    given: dict[str, Any] = {
        "severity": "error",
        "step": 2,
        "site": Site(str(file), line, "<module>"),
        "parameters": [f"layers.{i}.weight" for i in range(9)],
        "figures": {"norm": 0.123456789, "ratio": math.inf, "backwards": 3},
        "why": "Gradients accumulate.",
        "fix": "optimizer.zero_grad()\nloss.backward()",
        "count": 38,
        **details,
    }
    code, name = given.pop("code", "TG101"), given.pop("name", "accumulated-gradients")
    return Finding(code, name, given.pop("message", "Nothing was cleared."), **given)


def history(steps: int = 40, parameters: int = 3) -> History:
    """Values of every kind: usual, zero, infinite, NaN, and nothing measured."""
    odd = {3: 0.0, 5: math.inf, 7: math.nan, 8: None}
    rows = {
        f"layers.{i}.weight": [odd.get(s, 10.0 ** (-i) * (1 + 0.1 * (s % 5))) for s in range(steps)]
        for i in range(parameters)
    }
    numbers = list(range(1, steps + 1))
    return History(numbers, rows, {k: list(v) for k, v in rows.items()}, [2.0 / n for n in numbers])


def several(folder: Path) -> Said:
    """Findings of all severities, near and far lines, with a history."""
    file = folder / "train.py"
    file.write_text(CODE, encoding="utf-8")
    return Said(
        [
            finding(
                file, 7, severity="warning", code="TG403", name="step-without-gradients", count=1
            ),
            finding(file, 6, fix_site=Site(str(file), 3, "<module>")),
            finding(file, 5, step=30, parameters=["<script>alert(1)</script>"]),
            finding(file, severity="info", site=None, code="TG404", name="stale-graph", step=0),
        ],
        history(),
    )


def rendered(said: Said) -> dict[str, Any]:
    return plain(said)
