"""The table of counts in a page of documentation."""

from __future__ import annotations

import re
from typing import Any

BEGIN, END = "<!-- pytorch_suite -->", "<!-- end of pytorch_suite -->"


def rewritten(page: str, counts: list[dict[str, Any]]) -> str:
    """The page with its rows for these files rewritten; rows of other files stay."""
    before, _, rest = page.partition(BEGIN)
    old, _, after = rest.partition(END)
    rows = {m[1]: m[0] for m in re.finditer(r"^\| `([^`]+)` \|.*$", old, re.M)}
    for count in counts:
        rows[count["file"].removeprefix("test/")] = _row(count)
    head = (
        "| file | tests | drawn | pass on PyTorch | of those, on tautograd | |\n| --- "
        + "| --- " * 5
        + "|"
    )
    return f"{before}{BEGIN}\n{head}\n" + "\n".join(rows.values()) + f"\n{END}{after}"


def _row(count: dict[str, Any]) -> str:
    fair, passed = count["pass on PyTorch"], count["pass on tautograd"]
    name = count["file"].removeprefix("test/")
    share = f"{100 * passed / fair:.1f}%" if fair else "–"
    return (
        f"| `{name}` | {count['tests']} | {count['run on PyTorch']} | {fair} | {passed} | {share} |"
    )
