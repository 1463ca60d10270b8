"""A heat map over a run: a row for each layer, a colour for each step's value, findings marked.

Drawn as a few shapes, one for each shade, so that hundreds of rows and steps stay small. A value lasts
half-way to the next one that was measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from ..._files.markup import escape
from .plots import BOX, Mark, across, labels, step_labels

SHADES = 17
MOST_ROWS = 48  # with more parameters than that, those of a layer share a row
NAMED = 60  # rows that have room for a name
ODD, ZERO = "strange", "zero"


def by_layer(series: dict[str, list[float]], *, norms: bool) -> dict[str, list[float]]:
    """A row for each parameter, or if those are many for each module: norms added up, ratios the largest."""
    if len(series) <= MOST_ROWS:
        return series
    layers: dict[str, list[list[float]]] = {}
    for name, values in series.items():
        layers.setdefault(name.rpartition(".")[0] or name, []).append(values)
    return {
        name: [_joined(column, norms) for column in zip(*several, strict=True)]
        for name, several in layers.items()
    }


def _joined(values: Sequence[float], norms: bool) -> float:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.nan
    return math.hypot(*known) if norms else max(known)


class Scale:
    """Shades of values: from the smallest to the largest, or around what is usual."""

    def __init__(self, values: Sequence[float], usual: float | None = None) -> None:
        logs = [math.log10(v) for v in values if math.isfinite(v) and v > 0]
        low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
        if usual is not None:
            reach = max(
                1.0, min(3.0, max(abs(low - math.log10(usual)), abs(high - math.log10(usual))))
            )
            low, high = math.log10(usual) - reach, math.log10(usual) + reach
        elif high - low < 1:
            low, high = (low + high) / 2 - 0.5, (low + high) / 2 + 0.5
        self.low, self.high = low, high

    def shade(self, value: float) -> int | str | None:
        """Which shade; nothing where nothing was measured."""
        if math.isnan(value):
            return None
        if math.isinf(value):
            return ODD
        if value <= 0:
            return ZERO
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return round(min(max(part, 0.0), 1.0) * (SHADES - 1))


def colour(shade: int | str) -> str:
    """From blue for small to orange for large."""
    if isinstance(shade, str):
        return "var(--strange)" if shade == ODD else "var(--line)"
    part = shade / (SHADES - 1)
    name, share = ("low", 1 - 2 * part) if part < 0.5 else ("high", 2 * part - 1)
    return f"color-mix(in oklab, var(--{name}) {100 * share:.0f}%, var(--mid))"


def heat_map(
    kind: str,
    title: str,
    caption: str,
    steps: Sequence[int],
    rows: dict[str, list[float]],
    marks: Sequence[Mark],
    *,
    span: Sequence[int] = (),
    usual: float | None = None,
) -> str:
    """A figure like the other plots of the page."""
    return "".join(_figure(kind, title, caption, steps, rows, marks, usual, span or steps))


def _figure(
    kind: str,
    title: str,
    caption: str,
    steps: Sequence[int],
    rows: dict[str, list[float]],
    marks: Sequence[Mark],
    usual: float | None,
    span: Sequence[int],
) -> Iterator[str]:
    scale = Scale([value for values in rows.values() for value in values], usual)
    yield f'<figure class="chart heat whole" data-kind="{kind}"><figcaption><b>{escape(title)}</b>'
    yield f"<span>{escape(caption)}</span></figcaption>"
    yield from labels(marks, span)
    tall = min(max(len(rows) * 1.25, 3.0), 40.0)
    yield f'<div class="heat-body" style="height:{tall:.2f}rem">'
    if len(rows) <= NAMED:
        names = "".join(f'<span title="{escape(n)}">{escape(n)}</span>' for n in rows)
        yield f'<div class="rows mono" aria-hidden="true">{names}</div>'
    about = f"{title}: {len(rows)} rows over steps {span[0]} to {span[-1]}, from {10**scale.low:.2g} to "
    about += f"{10**scale.high:.2g}. Arrow keys read values."
    yield f'<div class="plot" tabindex="0" role="img" aria-label="{escape(about)}">'
    yield f'<svg viewBox="0 0 {BOX} {BOX}" preserveAspectRatio="none" aria-hidden="true">'
    for shade, shape in _shapes(steps, list(rows.values()), scale, span).items():
        yield f'<path class="cells" d="{shape}" style="fill:{colour(shade)}"/>'
    for mark in marks:
        x = f"{BOX * across(mark.step, span):.0f}"
        yield f'<line class="mark {mark.severity}" x1="{x}" x2="{x}" y1="0" y2="{BOX}"/>'
    yield "</svg>"
    yield from step_labels(span)
    yield '<div class="cursor"></div></div></div>'
    yield '<p class="readout" aria-live="polite"></p>'
    yield f'<p class="shades soft"><span>{10**scale.low:.2g}</span>'
    for shade in range(0, SHADES, 2):
        yield f'<i style="background:{colour(shade)}"></i>'
    yield f"<span>{10**scale.high:.2g}</span></p></figure>"


def _shapes(
    steps: Sequence[int], rows: Sequence[Sequence[float]], scale: Scale, span: Sequence[int]
) -> dict[int | str, str]:
    """The cells of each shade as one shape; neighbours of one shade are one cell."""
    found: dict[int | str, list[str]] = {}
    middles = [BOX * across(step, span) for step in steps]
    starts = [0.0, *((a + b) / 2 for a, b in itertools.pairwise(middles)), float(BOX)]
    for i, values in enumerate(rows):
        top, bottom = round(BOX * i / len(rows)), round(BOX * (i + 1) / len(rows))
        start, current = 0.0, None
        for place, value in zip(starts, [*values, math.nan], strict=True):
            shade = scale.shade(value)
            if shade == current and place < BOX:
                continue
            if current is not None:
                text = f"M{start:.0f} {top}H{place:.0f}V{bottom}H{start:.0f}z"
                found.setdefault(current, []).append(text)
            start, current = place, shade
    return {shade: "".join(parts) for shade, parts in found.items()}
