"""The table of a run: as text, as JSON, and in the pages that show the last one (the main rows in README.md)."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from bench.worker import NARROW

Result = dict[str, Any]

PACKAGES = ("tautograd", "numpy", "scipy", "ml_dtypes", "torch", "jax")
NOTE = """\
Each figure is a median of turns, taken one engine after the other, each engine in a process of its own with its default
threads; each ratio is that of the first two columns, shown with its confidence interval where many turns did not bring
that within 3 %. The second column is PyTorch's eager mode, but torch.compile for the compiled GPT, the limit for the
time to compile, the eager step for the memory of compiled ones, and the same step without the doctor for the doctor's
(both in one process, in pairs)."""
START, END = "<!-- bench: written by `make bench` -->", "<!-- /bench -->"


def describe_machine(cpu: str = "this") -> dict[str, Any]:
    """What a reader needs to judge the figures; `cpu` is the one that libraries take the machine's for."""
    return {
        "cpu": cpu,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        **_processor(),
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
    }


_VECTORS = ("avx2", "fma", "avx512f", "avx512bw", "avx512_bf16", "amx_tile", "asimd", "sve")


def _processor() -> dict[str, Any]:
    """The processor's name, which vectors it has, and how busy the machine was; what can be known of it."""
    found: dict[str, Any] = {}
    lines = Path("/proc/cpuinfo")
    if lines.exists():
        pairs = (line.partition(":") for line in lines.read_text(encoding="utf-8").splitlines())
        known = {name.strip().lower(): value.strip() for name, _, value in pairs}
        has = known.get("flags", known.get("features", "")).split()
        found["processor"] = known.get("model name", platform.processor())
        found["vectors"] = [name for name in _VECTORS if name in has]
    if hasattr(os, "getloadavg"):
        found["load"] = [round(load, 2) for load in os.getloadavg()]
    return found


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def describe_row(
    name: str,
    figures: tuple[float, float, dict[str, float], float | None],
    target: float,
    unit: str,
    headline: bool,
) -> Result:
    first, second, others, spread = figures
    return {
        "name": name,
        "tautograd": first,
        "peer": second,
        "others": others,
        "unit": unit,
        "ratio": round(first / second, 4),
        "spread": spread,
        "target": target,
        "met": first / second <= target,
        "headline": headline,
    }


def human(value: float, unit: str) -> str:
    """A figure with three digits and a fitting prefix."""
    scales = (
        ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
        if unit == "s"
        else ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
    )
    for scale, name in scales:
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value / scales[-1][0]:.3g} {scales[-1][1]}"


def table(rows: list[Result]) -> list[tuple[str, ...]]:
    """The cells, head first; a column for each other peer that any row was compared with."""
    others = list(dict.fromkeys(peer for row in rows for peer in row["others"]))
    lines = [("", "tautograd", "PyTorch", *others, "ratio", "target", "")]
    for row in rows:
        unit, found = row["unit"], row["others"]
        lines.append(
            (
                row["name"],
                human(row["tautograd"], unit),
                human(row["peer"], unit),
                *(human(found[peer], unit) if peer in found else "" for peer in others),
                _ratio(row),
                f"≤ {row['target']:g}",
                "met" if row["met"] else "MISSED",
            )
        )
    return lines


def _ratio(row: Result) -> str:
    """The ratio, with its confidence interval where that is not narrow."""
    text = f"{row['ratio']:.3f}"
    wide = row["spread"] is not None and row["spread"] > NARROW
    return f"{text} ± {row['spread'] * row['ratio']:.2f}" if wide else text


def as_text(rows: list[Result]) -> str:
    lines = table(rows)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    last = len(widths) - 1
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in (0, last) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def as_markdown(record: dict[str, Any]) -> str:
    """Every row, with every peer."""
    return "\n".join([*_markdown(table(record["rows"])), "", _setting(record), NOTE])


def as_headlines(record: dict[str, Any]) -> str:
    """The main rows beside PyTorch alone, and how many of all rows meet their target."""
    rows = record["rows"]
    main = [{**row, "others": {}} for row in rows if row["headline"]]
    met = f"Of {len(rows)} rows {sum(row['met'] for row in rows)} meet their target."
    return "\n".join([*_markdown(table(main)), "", f"{met} {_setting(record)}"])


def _markdown(cells: list[tuple[str, ...]]) -> list[str]:
    head, *rows = cells
    return [
        f"| work | {' | '.join(head[1:])} |",
        f"| --- |{' ---: |' * (len(head) - 2)} --- |",
        *(f"| {' | '.join(row)} |".replace("MISSED", "**missed**") for row in rows),
    ]


def _setting(record: dict[str, Any]) -> str:
    """When, on what machine and with which versions, as a sentence."""
    machine = record["machine"]
    if "processor" in record:
        vectors = ", ".join(record["vectors"])
        machine += f", {record['processor']} ({vectors}), load {record['load'][0]:g}"
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return f"{record['date']}; {machine}; Python {record['python']}, {versions}."


def write_into(page: Path, table: str) -> None:
    """Replace what stands between the markers in a Markdown file."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{page.name} has no lines {START!r} … {END!r}")
    page.write_text(f"{before}{START}\n{table}\n{END}{after}", encoding="utf-8")
