"""Writes the table of operations, and that of their departures from PyTorch.

Nothing in the table is typed in by hand. What an operation accepts and how well it agrees is found
by running its record's samples, on tautograd and on PyTorch, while the documentation is built.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from op_evidence import REFUSED, Evidence, evidence_for

from tautograd._ops import nn_families  # noqa: F401  (operations that are loaded when first named)
from tautograd._ops.declare.record import REGISTRY, Op
from tests.ops.arrays import DIFFERENTIABLE
from tests.ops.cases import record
from tests.ops.departures import (
    EXTENSIONS,
    FATAL_IN_PYTORCH,
    NOISE_IN_PYTORCH,
    WRONG_IN_PYTORCH,
)


def write_op_table(folder: Path) -> None:
    """Write `ops.md` and `departures.md` into a folder, for the pages that include them."""
    folder.mkdir(exist_ok=True)
    (folder / "departures.md").write_text(departures_page(), encoding="utf-8")
    (folder / "ops.md").write_text(op_page(), encoding="utf-8")


COLUMNS = (
    "operation",
    "node",
    "dtypes",
    "gradient for",
    "1st",
    "2nd",
    "forward",
    "as PyTorch",
)


def op_page() -> str:
    rows = gathered([op.name for op in sorted(REGISTRY.values(), key=_place)])
    differentiable = [row for row in rows if row.inputs and row.first != REFUSED]
    cases = sum(row.cases for row in rows)
    summary = f"{len(rows)} operations, {len(differentiable)} of them differentiable"
    lines = [
        f"{summary}; {cases} cases compared with PyTorch.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{' --- |' * len(COLUMNS)}",
        *(f"| {' | '.join(cells(row))} |" for row in rows),
        "",
    ]
    return "\n".join(lines)


def gathered(names: list[str]) -> list[Evidence]:
    """The evidence for each record, on every core there is."""
    spawn = multiprocessing.get_context("spawn")  # threads of PyTorch do not survive a fork
    with ProcessPoolExecutor(mp_context=spawn) as pool:
        return list(pool.map(evidence_for, names, chunksize=8))


def _place(op: Op) -> tuple[str, str]:
    """Alphabetical by what users call it, without the namespace."""
    return op.public_name.rpartition(".")[2], op.name


def cells(row: Evidence) -> Iterable[str]:
    yield f"`{row.name}`" + (f" ({row.record})" if row.record != row.name else "")
    yield f"`{row.node}`" if row.inputs else "–"
    yield row.dtypes or "in rules only"
    yield ", ".join(f"`{name}`" for name in row.inputs) or "–"
    yield row.first
    yield row.second
    yield row.forward
    yield row.agreement


# ---- where operations depart from PyTorch --------------------------------------------------------


def departures_page() -> str:
    """The departures that the tests know, and hold: an entry that no longer holds fails there."""
    rows = [
        *((e.shown_by, _in(e.dtypes, e.mixed), e.reason) for e in EXTENSIONS),
        *(
            (name, "all", f"PyTorch's gradient is wrong: {w.reason}")
            for name, w in WRONG_IN_PYTORCH.items()
        ),
        *((name, _in(dtypes), why) for name, (dtypes, why) in NOISE_IN_PYTORCH.items()),
        *(
            (
                name,
                "integers",
                f"PyTorch ends the process: `{call}`; tautograd's integers wrap around",
            )
            for name, call in FATAL_IN_PYTORCH.items()
        ),
    ]
    lines = ["| shown by | in | what |", "| --- | --- | --- |"]
    for name, dtypes, reason in sorted(rows, key=lambda row: row[0]):
        lines.append(f"| `{record(name).public_name}` | {dtypes} | {reason} |")
    return "\n".join([*lines, ""])


def _in(dtypes: Iterable[str], mixed: tuple[str, ...] = ()) -> str:
    if mixed:
        return " with ".join(mixed)
    return "all" if set(dtypes) >= set(DIFFERENTIABLE) else ", ".join(dtypes)
