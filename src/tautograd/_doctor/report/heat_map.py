"""A heat map over a run: a row for each layer, a colour for each step's value, findings marked.

Drawn as a few shapes, one for each shade, so that hundreds of rows and steps stay small. A value lasts
half-way to the next one that was measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from ..._files.markup import escape
from .measures import Measure, Series
from .plots import BOX, Mark, across, labels, step_labels

SHADES = 17
MOST_ROWS = 48  # with more parameters than that, those of a layer share a row
NAMED = 60  # rows that have room for a name
INFINITE, NOT_A_NUMBER, ZERO = "strange", "nan", "zero"
LEGEND = {ZERO: "exactly 0", INFINITE: "infinite", NOT_A_NUMBER: "NaN"}


def by_layer(series: Series, *, norms: bool) -> Series:
    """A row for each parameter, or if those are many for each module: norms added up, ratios the largest."""
    if len(series) <= MOST_ROWS:
        return series
    layers: dict[str, list[list[Measure]]] = {}
    for name, values in series.items():
        layers.setdefault(name.rpartition(".")[0] or name, []).append(values)
    return {
        name: [_joined(column, norms) for column in zip(*several, strict=True)]
        for name, several in layers.items()
    }


def _joined(values: Sequence[Measure], norms: bool) -> Measure:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if any(map(math.isnan, known)):
        return math.nan
    return math.hypot(*known) if norms else max(known)


class Scale:
    """Shades of values: from the smallest to the largest, or around what is usual."""

    def __init__(self, values: Sequence[Measure], usual: float | None = None) -> None:
        known = [v for v in values if v is not None and math.isfinite(v)]
        logs = [math.log10(v) for v in known if v > 0]
        low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
        if usual is not None:
            reach = max(
                1.0, min(3.0, max(abs(low - math.log10(usual)), abs(high - math.log10(usual))))
            )
            low, high = math.log10(usual) - reach, math.log10(usual) + reach
        elif high - low < 1:
            low, high = (low + high) / 2 - 0.5, (low + high) / 2 + 0.5
        self.low, self.high = low, high

    def shade(self, value: Measure) -> int | str | None:
        """Which shade; nothing where nothing was measured."""
        if value is None:
            return None
        if math.isnan(value):
            return NOT_A_NUMBER
        if math.isinf(value):
            return INFINITE
        if value <= 0:
            return ZERO
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return round(min(max(part, 0.0), 1.0) * (SHADES - 1))


def colour(shade: int | str) -> str:
    """From near the page's ground for small to far from it for large: lightness alone tells it.

    What is no place on that scale has no colour of it: zero is dotted, NaN hatched, infinity purple.
    """
    if isinstance(shade, str):
        return "var(--strange)"
    part = shade / (SHADES - 1)
    one, other, share = (0, 1, 1 - 2 * part) if part < 0.5 else (1, 2, 2 - 2 * part)
    return f"color-mix(in oklab,var(--ramp-{one}) {100 * share:.0f}%,var(--ramp-{other}))"


def _fill(shade: int | str, kind: str) -> str:
    return f"url(#{kind}-{shade})" if shade in (ZERO, NOT_A_NUMBER) else colour(shade)


def _patterns(kind: str, tall: float) -> str:
    """Dots for zero and stripes for NaN, in the units of a box that is stretched to its place."""
    w, h = BOX * 8 / 900, BOX * 8 / (16 * tall)  # 8 pixels, of a plot that is 900 wide
    return (
        f'<defs><pattern id="{kind}-{ZERO}" patternUnits="userSpaceOnUse" width="{w:.1f}" '
        f'height="{h:.1f}"><ellipse cx="{w / 2:.1f}" cy="{h / 2:.1f}" rx="{w / 8:.1f}" '
        f'ry="{h / 8:.1f}" style="fill:var(--soft)"/></pattern>'
        f'<pattern id="{kind}-{NOT_A_NUMBER}" patternUnits="userSpaceOnUse" width="{w:.1f}" '
        f'height="{h:.1f}"><path d="M0 {h:.1f}L{w:.1f} 0" style="stroke:var(--strange)"/>'
        "</pattern></defs>"
    )


def heat_map(
    kind: str,
    title: str,
    caption: str,
    steps: Sequence[int],
    rows: Series,
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
    rows: Series,
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
    shapes = _shapes(steps, list(rows.values()), scale, span)
    yield _patterns(kind, tall)
    for shade, shape in shapes.items():
        yield f'<path class="cells" data-shade="{shade}" d="{shape}" style="fill:{_fill(shade, kind)}"/>'
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
    yield f"<span>{10**scale.high:.2g}</span>"
    for shade, text in LEGEND.items():
        if shade in shapes:
            yield f'<span class="key"><i class="{shade}"></i><span>{text}</span></span>'
    if any(value is None for values in rows.values() for value in values):
        yield '<span class="key"><i class="blank"></i><span>not measured</span></span>'
    yield "</p></figure>"


def _shapes(
    steps: Sequence[int], rows: Sequence[Sequence[Measure]], scale: Scale, span: Sequence[int]
) -> dict[int | str, str]:
    """The cells of each shade as one shape; neighbours of one shade are one cell."""
    found: dict[int | str, list[str]] = {}
    middles = [BOX * across(step, span) for step in steps]
    starts = [0.0, *((a + b) / 2 for a, b in itertools.pairwise(middles)), float(BOX)]
    for i, values in enumerate(rows):
        top, bottom = round(BOX * i / len(rows)), round(BOX * (i + 1) / len(rows))
        start, current = 0.0, None
        for place, value in zip(starts, [*values, None], strict=True):
            shade = scale.shade(value)
            if shade == current and place < BOX:
                continue
            if current is not None:
                text = f"M{start:.0f} {top}H{place:.0f}V{bottom}H{start:.0f}z"
                found.setdefault(current, []).append(text)
            start, current = place, shade
    return {shade: "".join(parts) for shade, parts in found.items()}
