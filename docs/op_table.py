"""Writes the table of operations.

Nothing in the table is typed in by hand. What an operation accepts and how well it agrees is found
by running its record's samples, on tautograd and on PyTorch, while the documentation is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from op_evidence import REFUSED, Evidence, evidence_for

from tautograd._ops import library  # noqa: F401  (operations that are loaded when first named)
from tautograd._ops.record import REGISTRY, Op


def write_op_table(folder: Path) -> None:
    """Write `ops.md` into a folder, for the page that includes it."""
    folder.mkdir(exist_ok=True)
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
    rows = [evidence_for(op) for op in sorted(REGISTRY.values(), key=_place)]
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
