"""Two runs on one page: the loss of both on one axis, and what was found in each.

The other one is read from the JSON that `taut doctor --json` printed for it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any, TypeGuard

from ..._files.json_text import parsed
from ..._files.markup import escape
from ..._files.regular import read_regular
from .measures import Measure, Series, figure, last_of, thinned
from .plots import chart
from .report import FORMAT, Plain

_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class NotAReport(OSError):
    """A file that holds no report of a run."""


def read_report(path: str | os.PathLike[str]) -> Plain:
    """A report that was printed as JSON, with its numbers as they were."""
    try:
        found = parsed(read_regular(path))
    except ValueError as error:
        raise NotAReport(f"'{os.fspath(path)}' holds no report: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NotAReport(f"'{os.fspath(path)}' holds no report; taut doctor --json prints one")
    findings = found.get("findings")
    if (
        not isinstance(found.get("script"), str)
        or not _are_steps([found.get("steps")])
        or not isinstance(findings, list)
        or not all(isinstance(one, dict) and "code" in one for one in findings)
    ):
        raise NotAReport(f"'{os.fspath(path)}' lacks parts of a report")
    history = found.get("history")
    if not isinstance(history, dict) or not isinstance(history.get("curve"), dict):
        raise NotAReport(f"'{os.fspath(path)}' has no history of its run")
    curve = history["curve"] if history["curve"].get("steps") else history
    steps, losses = curve.get("steps"), curve.get("losses")
    if not _are_steps(steps) or not isinstance(losses, list) or len(losses) != len(steps):
        raise NotAReport(f"'{os.fspath(path)}': its losses and steps do not belong together")
    found["history"] = {"curve": {"steps": steps, "losses": [_number(value) for value in losses]}}
    return found


def _are_steps(steps: Any) -> TypeGuard[list[int]]:
    return isinstance(steps, list) and all(type(n) is int and 0 <= n < 2**53 for n in steps)


def _number(value: Any) -> Measure:
    if isinstance(value, bool) or not isinstance(value, (int, float, str, type(None))):
        raise NotAReport(f"a loss is no number: {value!r}")
    if isinstance(value, str):
        return _WORDS.get(value, math.nan)
    if value is None:
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def beside(report: Plain, other: Plain) -> tuple[Iterator[str], dict[str, Any]]:
    """The part of a page for two runs, and what its plot reads values from."""
    runs = {_name(other, report, "before"): other, _name(report, other, "now"): report}
    alike = _script(other) == _script(report)  # then the word alone tells their lines apart
    lines = zip(("before", "now") if alike else runs, runs.values(), strict=True)
    curves = {name: _curve(run) for name, run in lines}
    steps = sorted({step for known in curves.values() for step in known})
    series: Series = {}
    for name, known in curves.items():
        values = [value for value in known.values() if value is not None]
        series[f"{name} {figure(values[-1])}" if values else name] = [
            known.get(step) for step in steps
        ]
    few, thin = thinned(steps, series)
    return _section(runs, few, thin), {"steps": few, "series": thin}


def _name(run: Plain, against: Plain, word: str) -> str:
    name = _script(run)
    return f"{name} ({word})" if name == _script(against) else name


def _script(run: Plain) -> str:
    return os.path.basename(run["script"] or "run")


def _curve(run: Plain) -> dict[int, Measure]:
    history = run["history"]
    if not history:
        return {}
    curve = history["curve"] if history["curve"]["steps"] or "steps" not in history else history
    return dict(zip(curve["steps"], curve["losses"], strict=True))


def _section(runs: dict[str, Plain], steps: list[int], series: Series) -> Iterator[str]:
    yield '<section id="two-runs"><h2>Beside another run</h2>'
    yield '<table class="summary"><thead><tr><th scope="col">Run</th><th scope="col">Found</th>'
    yield '<th scope="col" class="number">Steps</th><th scope="col" class="number">Last loss</th></tr>'
    yield "</thead><tbody>"
    for name, run in runs.items():
        codes = list(dict.fromkeys(str(finding["code"]) for finding in run["findings"]))
        known = _curve(run)
        last = last_of(list(known), list(known.values()), max(known, default=0))
        yield f'<tr><td class="mono">{escape(name)}</td><td>{escape(", ".join(codes)) or "nothing"}</td>'
        yield f'<td class="number">{run["steps"]:,}</td><td class="number">{last}</td></tr>'
    yield "</tbody></table>"
    if steps:
        broken = [
            step
            for i, step in enumerate(steps)
            if any(
                (v := values[i]) is not None and not math.isfinite(v) for values in series.values()
            )
        ]
        yield '<div class="charts">'
        said = "What backward() started from, in both."
        yield chart("runs", "Loss of both", said, steps, series, [], broken=broken, classes="whole")
        yield "</div>"
    yield "</section>\n"
