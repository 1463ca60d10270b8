"""`Compare`: measurements side by side, one table for each label."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .measurement import Measurement, select_unit, trim_sigfig, unit_to_english

_BEST, _PLAIN = "\033[92m\033[1m", "\033[0m\033[0m"
_BETWEEN = "  |  "


class Compare:
    """A table: a column per description, a row per sub-label, with numbers of threads separated."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)
        self._trim = self._colorize = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(result)} instead."
                )
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Show only significant digits."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show the best of each column (or row) in green."""
        self._colorize = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))  # noqa: T201

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys(one.label for one in merged)
        return "\n".join(self._table([m for m in merged if m.label == label]) for label in labels)

    def _table(self, found: list[Measurement]) -> str:
        columns = list(dict.fromkeys(m.description or "" for m in found))
        names = list(dict.fromkeys(f"      {m.as_row_name}" for m in found))
        unit, scale = select_unit(min(m.median for m in found))
        cells = {column: self._column(found, column, scale) for column in columns}
        first = max(map(len, names))
        widths = {c: max(len(c), *(len(text) for text in cells[c].values())) for c in columns}
        head = [" " * first, *(c.center(widths[c]) for c in columns)]
        lines = [_BETWEEN.join(head)]
        total = len(lines[0])
        best = {c: min(m.median for m in found if (m.description or "") == c) for c in columns}
        for threads in sorted({m.num_threads for m in found}):
            lines.append(f"{threads} threads: ".ljust(total, "-"))
            rows = [m for m in found if m.num_threads == threads]
            for name in dict.fromkeys(m.as_row_name for m in rows):
                row = [f"      {name}".ljust(first)]
                for column in columns:
                    here = [
                        m for m in rows if (m.as_row_name, m.description or "") == (name, column)
                    ]
                    text = cells[column].get(id(here[0]), "") if here else ""
                    text = text.rjust(widths[column])
                    if here and self._colorize and here[0].median == best[column]:
                        text = f"{_BEST}{text}{_PLAIN}"
                    row.append(text)
                lines.append(_BETWEEN.join(row))
        title = f" {found[0].label or '[Unknown]'} ".center(total - 2, "-")
        return "\n".join(
            [f"[{title}]", *lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", ""]
        )

    def _column(self, found: list[Measurement], column: str, scale: float) -> dict[int, str]:
        """The numbers of one column as text, with as many decimals as are significant in its largest number."""
        values = {
            id(m): (m.median / scale, m.significant_figures)
            for m in found
            if (m.description or "") == column
        }
        if not self._trim:
            return {key: f"{value:.1f}" for key, (value, _) in values.items()}
        largest = max(value for value, _ in values.values())
        figures_most = max(figures for _, figures in values.values())
        decimals = max(figures_most - math.ceil(math.log10(largest)), 0)
        return {
            key: f"{trim_sigfig(value, figures):.{decimals}f}"
            for key, (value, figures) in values.items()
        }
