"""The result of `explain`, as text and as data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._files.printable import printable
from .._user_code.sites import Site
from .record.values import Value, number


@dataclass
class Contribution:
    """What one path, or all the paths through one use, contributed to the gradient."""

    through: list[str]  # operations, from the loss to `x`
    value: Value
    site: Site | None = None
    factors: list[float] = field(default_factory=list)  # of a path of scalars
    paths: int = 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "through": self.through,
            "paths": self.paths,
            "gradient": self.value.to_dict(),
            "site": None if self.site is None else self.site.to_dict(),
        }


@dataclass
class Explanation:
    """Where a gradient came from; `str()` gives the text, which a prompt displays."""

    name: str
    loss: str
    value: Value
    loss_value: Value | None
    contributions: list[Contribution] = field(default_factory=list)
    total: Value | None = None  # the sum of the contributions
    held: Value | None = None  # the current value of `.grad`
    paths: int = 0
    is_leaf: bool = True
    start: Value | None = None  # the gradient backward starts with, if not 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "name": self.name,
            "loss": self.loss,
            "paths": self.paths,
            "contributions": [c.to_dict() for c in self.contributions],
            "total": None if self.total is None else self.total.to_dict(),
            "grad": None if self.held is None else self.held.to_dict(),
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return printable("\n".join(self._lines()), lines=True)

    def _repr_html_(self) -> str:
        """For a notebook: the answer as a card, below it the paths that add up to it."""
        from .._files.markup import escape
        from .._report.tables import html_table

        lines = list(self._lines())
        card = (
            '<div style="border-left:0.35em solid #2a5db0;padding:0.4em 0.8em;margin:0.4em 0">'
            f"<strong>{escape(printable(lines[0].rstrip(':')))}</strong></div>"
        )
        if self.total is None:
            return card
        rows = [list(self._row(i, part)) for i, part in enumerate(self.contributions, 1)]
        if len(rows) > 1:
            rows.append(["sum", self._shown(self.total), ""])
        rows = [[printable(cell) for cell in row] for row in rows]
        headers = "Path, from the end back", "brings", "line"
        return card + html_table(headers, rows, right=(1,), after=[printable(self._about_grad())])

    def _lines(self) -> Iterator[str]:
        name, loss = self.name, self.loss
        if self.total is None:
            yield f"{name} gets no gradient from {loss}: no path of recorded operations leads to it."
            return
        many = f"{self.paths:,} path{'s' if self.paths != 1 else ''}"
        of = f" = {self.loss_value.text}" if self.loss_value is not None else ""
        if self.start is not None:
            of += f", weighted by {self._shown(self.start)},"
        yield f"The gradient of {loss}{of} with respect to {name}, {self._shown(self.total)}, by {many}:"
        yield ""
        rows = [self._row(i, c) for i, c in enumerate(self.contributions, 1)]
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        for way, what, where in rows:
            yield f"  {way:<{widths[0]}}  {what:>{widths[1]}}  {where}".rstrip()
        if len(rows) > 1:
            yield f"  {'sum':<{widths[0]}}  {self._shown(self.total):>{widths[1]}}"
        yield ""
        yield self._about_grad()

    def _row(self, i: int, part: Contribution) -> tuple[str, str, str]:
        way = f"{i}. {' ← '.join(part.through)}"
        if part.paths > 1:
            way += f"  ({part.paths:,} paths)"
        what = self._shown(part.value)
        if part.factors:
            what = f"{' · '.join(_factor(f) for f in part.factors)} = {what}"
        where = ""
        if part.site is not None:
            where = f"{os.path.basename(part.site.file)}:{part.site.line}  {part.site.text}"
        return way, what, where

    def _shown(self, value: Value) -> str:
        if value.is_few:
            return value.text
        share = ""
        total = self.total
        if total is not value and total is not None and value.array is not None and total.norm:
            along = float(np.sum(value.array * np.conj(total.array)).real) / total.norm**2
            share = f" ({along:.0%} of it)"
        return f"{value.size_text}{share}"

    def _about_grad(self) -> str:
        name = self.name
        if not self.is_leaf:
            return f"{name} is no leaf: its gradient is passed on, and kept only after {name}.retain_grad()."
        if self.held is None:
            return f"{name}.grad is empty: no backward() has put it there yet."
        if _same(self.held, self.total):
            return f"{name}.grad holds just this."
        return (
            f"{name}.grad holds {self._shown(self.held)}, which is not this alone: gradients add up until they "
            "are cleared, and hooks may change them."
        )


def _factor(value: float) -> str:
    text = number(value)
    return f"({text})" if text.startswith("−") else text


def _same(one: Value, other: Value | None) -> bool:
    if other is None or one.array is None or one.shape != other.shape:
        return False
    size = float(np.max(np.abs(one.array), initial=0.0))
    return bool(np.allclose(one.array, other.array, rtol=1e-4, atol=1e-5 * size))
