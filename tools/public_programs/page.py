"""The results as a page: counts by half, the slowest, and a row for each program."""

from __future__ import annotations

from collections import Counter
from typing import Any

INTRODUCTION = """# Public programs

Programs that others wrote, run unchanged on PyTorch and with `taut run --as-torch`, and what they print
compared. They were drawn at random from public repositories among those that PyTorch completes here in a
few seconds; a lot drawn from the name alone divides them into a half to develop on and a half that is only
counted. (When the list was made, both halves were seen: before anything was mended for it, 93.8% of the
counted half and 87.5% of the other came out the same, or to rounding.)

Epochs and steps are made few by rules that are data (`tools/public_programs/sizes.json`), data sets that
would be downloaded are made up, and what a program leaves in its names is printed after its own text.

```sh
python -m tools.public_programs CHECKOUTS --page docs/programs.md
```

A checkout is a folder `owner+name` with the repository's files at the commit below.

"""
SAME = ("same", "rounding")
MEANING = {
    "same": "the same text",
    "rounding": "the same words, and numbers within one part in 1,000 or a unit of the last place printed",
    "magnified": "numbers differ by more; in double precision, both print the same",
    "differs": "the text differs",
    "stops": "it stops on tautograd",
}


def written(results: list[dict[str, Any]], start: dict[str, float]) -> str:
    """Markdown."""
    counted = [r for r in results if r["outcome"] in MEANING]
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
    shares = [
        sum(r["outcome"] in SAME and half in ("", r["half"]) for r in counted) / max(total, 1)
        for half, total in zip(("", "develop", "counted"), totals, strict=True)
    ]
    lines.append("| programs | " + " | ".join(map(str, totals)) + " |")
    lines.append("| same, or to rounding | " + " | ".join(f"{s:.1%}" for s in shares) + " |")
    repositories = {r["repository"] for r in counted}
    lines += ["", f"{len(counted)} programs of {len(repositories)} repositories.", ""]
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
        reason = (
            f": {_cell(r['reason'])}" if r["outcome"] in ("differs", "stops", "magnified") else ""
        )
        lines.append(
            f"| {name} | {r['commit'][:10]} | {_cell(r['run'])} | {r['half']} | {r['outcome']}{reason} |"
            f" {_ratio(r, start):.2f} |"
        )
    return "\n".join(lines) + "\n"


def _count(results: list[dict[str, Any]], outcome: str, half: str) -> str:
    return str(Counter(r["outcome"] for r in results if half in ("", r["half"]))[outcome])


def _ratio(r: dict[str, Any], start: dict[str, float]) -> float:
    """CPU time of the whole process, its imports too, as a share of PyTorch's."""
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
        f"| {r['repository'].replace('+', '/', 1)} {_cell(r['run'])} | {_ratio(r, start):.2f} |"
        f" {r['cpu'] / max(r['torch_cpu'], 1e-3):.2f} | {r['torch_cpu']:.1f} |"
        for r in slow
    ]
    over = sum(_ratio(r, start) > 1.2 for r in ended)
    return [*lines, "", f"Over 1.2: {over} of {len(ended)}."]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:200]
