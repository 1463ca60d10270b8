"""Writes the pages that are made from the code: the table of operations and the list of names.

Nothing in the table is typed in by hand. What an operation accepts and how well it agrees is found
by running its record's samples, on tautograd and on PyTorch, while the documentation is built.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from op_evidence import Evidence, evidence_for

import tautograd
from tautograd._ops.record import REGISTRY


def write_op_pages(folder: Path) -> None:
    """Write `ops.md` and `api.md` into a folder, for the pages that include them."""
    folder.mkdir(exist_ok=True)
    (folder / "ops.md").write_text(op_page(), encoding="utf-8")
    (folder / "api.md").write_text(api_page(), encoding="utf-8")


# ---- operations ----------------------------------------------------------------------------------

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
    rows = [evidence_for(op) for op in sorted(REGISTRY.values(), key=lambda op: op.name)]
    differentiable = [row for row in rows if row.inputs]
    lines = [
        f"{len(rows)} operations, {len(differentiable)} of them differentiable.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{' --- |' * len(COLUMNS)}",
        *(f"| {' | '.join(cells(row))} |" for row in rows),
        "",
    ]
    return "\n".join(lines)


def cells(row: Evidence) -> Iterable[str]:
    yield f"`{row.name}`" + (f" ({row.record})" if row.record != row.name else "")
    yield f"`{row.node}`" if row.inputs else "–"
    yield row.dtypes or "–"
    yield ", ".join(f"`{name}`" for name in row.inputs) or "no gradient"
    yield row.first
    yield row.second
    yield row.forward
    yield row.agreement


# ---- names ---------------------------------------------------------------------------------------


def api_page() -> str:
    lines = []
    for title, names, owner in (
        ("Functions and classes", public_names(tautograd), tautograd),
        ("Tensor methods and attributes", public_names(tautograd.Tensor), tautograd.Tensor),
        *(
            (f"torch.{name}", public_names(module), module)
            for name, module in sorted(vars(tautograd).items())
            if isinstance(module, ModuleType) and not name.startswith("_")
        ),
    ):
        lines += [f"## {title}", ""]
        for name in names:
            lines += [entry(owner, name)]
        lines += [""]
    return "\n".join(lines)


def public_names(owner: object) -> list[str]:
    names = getattr(owner, "__all__", None) or dir(owner)
    return sorted(name for name in names if not name.startswith("_"))


def entry(owner: object, name: str) -> str:
    """A name with its arguments and the first line of its description."""
    value = inspect.getattr_static(owner, name)
    if isinstance(value, ModuleType):
        return f"- `{name}`: see below"
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    about = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
    own = callable(value) and getattr(value, "__module__", "").startswith("tautograd")
    return f"- `{name}{arguments(value)}`" + (f": {about}" if about and own else "")


def arguments(value: object) -> str:
    """A signature without its annotations, which would drown the names."""
    if not callable(value):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(bare))
