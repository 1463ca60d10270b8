"""The results as a page: counts by half, the slowest, and a row for each program."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

REASONS = Path(__file__).parent / "reasons.json"
"""Why a program's output differs, if somebody has investigated it."""

INTRODUCTION = """# Public programs

Programs that others wrote, run unchanged on PyTorch and with `taut run --as-torch`, and what they print
compared. They were drawn at random from public repositories among those that PyTorch completes here in a
few seconds; a lot drawn from the name alone divides them into a half to develop on and a half that is only
counted. (When the list was made, both halves were seen: before anything was mended for it, 93.8% of the
counted half and 87.5% of the other came out the same, or to rounding. Of the 140 that were added later, 84.3% did
before anything was mended for them, and of the next 54, from repositories whose names hold `pytorch-tutorial`,
`pytorch-examples`, `learn-pytorch`, `nanogpt`, `ddpm` and the like, 88.9%: 23 of 25, and 25 of 29 in the counted
half.)

A program whose text is another one is run on PyTorch six times more: with AVX2 alone, without vectors, with two and
four threads, with AVX2 and three (`tools/public_programs/spread.py`), and with other contents of unwritten memory.
What those runs do not agree on, PyTorch does not determine; such programs are counted by themselves below, with the
first line that differs, and what PyTorch prints there elsewhere.

Of the last 21, drawn at random from 14 repositories that nobody had tried, all came out the same or to rounding before
anything was mended for them: 9 of 9 in the counted half, 12 of 12 in the other.
Of 11 more, from 5 other such repositories, 10 did (5 of 5 in the counted half), and one prints memory that nobody
wrote.

Epochs and steps are made few by rules that are data (`tools/public_programs/sizes.json`), data sets that
would be downloaded are made up, and what a program leaves in its names is printed after its own text. Both
engines run with one thread and with memory in pages of one size (NumPy's huge pages are off).

```sh
python -m tools.public_programs CHECKOUTS --page docs/programs.md
```

A checkout is a folder `owner+name` with the repository's files at the commit below. With `--keep`, rows of programs
that were not run stay as the page has them.

"""
SAME = ("same", "rounding", "spread")
MEANING = {
    "same": "the same text",
    "rounding": "the same words, and numbers within one part in 1,000 or a unit of the last place printed",
    "spread": "the same where PyTorch with other instructions and numbers of threads prints the same, elsewhere no"
    " further from its numbers than twice its own spread; numbers of memory that nobody wrote are not compared",
    "magnified": "numbers differ by more; in double precision, both print the same",
    "differs": "the text differs",
    "stops": "it stops on tautograd",
}


def kept(page: str, results: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a page for programs that were not run this time, as results with only a ratio."""
    found = []
    for line in page.partition("## Each program")[2].splitlines():
        cells = [c.replace("\\|", "|") for c in re.split(r" (?<!\\)\| ", line.strip("| "))]
        if len(cells) != 6 or not re.fullmatch(r"[0-9.]+", cells[5]):
            continue
        name, commit, run, half, outcome, ratio = cells
        repository = name.replace("/", "+", 1)
        if f"{repository}/{run}" in results:
            continue
        kind, _, reason = outcome.partition(": ")
        row = {"repository": repository, "commit": commit, "run": run, "half": half}
        found.append({**row, "outcome": kind, "shown": reason, "ratio": float(ratio)})
    return found


def written(
    results: list[dict[str, Any]], start: dict[str, float], before: list[dict[str, Any]]
) -> str:
    """The page in Markdown; `before` are rows of an earlier page."""
    counted = [r for r in [*results, *before] if r["outcome"] in MEANING]
    reasons: dict[str, str] = json.loads(REASONS.read_text(encoding="utf-8"))
    lines = [
        "## Counts",
        "",
        "| outcome | all | to develop on | only counted |",
        "| --- | --- | --- | --- |",
    ]
    for outcome, meaning in MEANING.items():
        cells = [_count(counted, outcome, half) for half in ("", "develop", "counted")]
        lines.append(f"| {meaning} | {' | '.join(cells)} |")
    totals = [sum(half in ("", r["half"]) for r in counted) for half in ("", "develop", "counted")]
    shares, strict = (
        [
            sum(r["outcome"] in outcomes and half in ("", r["half"]) for r in counted)
            / max(total, 1)
            for half, total in zip(("", "develop", "counted"), totals, strict=True)
        ]
        for outcomes in (SAME, ("same", "rounding"))
    )
    lines.append("| programs | " + " | ".join(map(str, totals)) + " |")
    lines.append("| the first three rows | " + " | ".join(f"{s:.1%}" for s in shares) + " |")
    lines.append("| the first two alone | " + " | ".join(f"{s:.1%}" for s in strict) + " |")
    repositories = {r["repository"] for r in counted}
    lines += ["", f"{len(counted)} programs of {len(repositories)} repositories.", ""]
    if before:
        now = len(counted) - len(before)
        lines += [
            f"{now} were run for this page; the other {len(before)} rows are of runs before.",
            "",
        ]
    lines += _slowest(counted, start)
    lines += [
        "",
        "## Each program",
        "",
        "| repository | commit | program | half | outcome | CPU time |",
    ]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for r in sorted(counted, key=lambda r: (r["repository"].lower(), r["run"])):
        name = r["repository"].replace("+", "/", 1)
        reason = ""
        if "shown" in r:
            reason = f": {_cell(r['shown'], 500)}" if r["shown"] else ""
        elif r["outcome"] in ("differs", "stops", "magnified", "spread"):
            why = reasons.get(f"{r['repository']}/{r['run']}")
            reason = f": {_cell(r['reason'], 400)}" + (f" ({_cell(why)})" if why else "")
        lines.append(
            f"| {name} | {r['commit'][:10]} | {_cell(r['run'])} | {r['half']} | {r['outcome']}{reason} |"
            f" {_ratio(r, start):.2f} |"
        )
    return "\n".join(lines) + "\n"


def _count(results: list[dict[str, Any]], outcome: str, half: str) -> str:
    return str(Counter(r["outcome"] for r in results if half in ("", r["half"]))[outcome])


def _ratio(r: dict[str, Any], start: dict[str, float]) -> float:
    """CPU time of the whole process, including imports, relative to PyTorch's."""
    if "ratio" in r:
        return float(r["ratio"])
    return float((r["cpu"] + start["tautograd"]) / (r["torch_cpu"] + start["torch"]))


def _slowest(results: list[dict[str, Any]], start: dict[str, float]) -> list[str]:
    ended = [r for r in results if r["outcome"] != "stops"]
    slow = sorted(ended, key=lambda r: -_ratio(r, start))[:10]
    lines = [
        "## The ten slowest", "",
        "CPU time against PyTorch's, one thread: of the whole process, and without its imports.", "",
        "| program | whole | without imports | seconds on PyTorch |", "| --- | --- | --- | --- |",
    ]  # fmt: skip
    lines += [
        f"| {r['repository'].replace('+', '/', 1)} {_cell(r['run'])} | {_ratio(r, start):.2f} | {_apart(r)} |"
        for r in slow
    ]
    over = sum(_ratio(r, start) > 1.2 for r in ended)
    return [*lines, "", f"Over 1.2: {over} of {len(ended)}."]


def _apart(r: dict[str, Any]) -> str:
    """The ratio without imports, and PyTorch's time, if measured."""
    if "ratio" in r:
        return "– | –"
    return f"{r['cpu'] / max(r['torch_cpu'], 1e-3):.2f} | {r['torch_cpu']:.1f}"


def _cell(text: str, most: int = 200) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:most]
