"""Plots of a run's history as SVG that stretches to any width; what is written is HTML around it.

Lines are drawn in a box of 1000 by 1000 that is stretched to its place, with strokes that are not;
labels are placed by percentages, so they keep their size from a telephone to a wall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..._files.markup import escape
from .measures import Measure, Series, figure, is_finite

BOX = 1000
MOST_DOTS = 1500  # with fewer points than that, each is shown
MOST_CROSSES = 40
CROSS = "✕"
DECADES = 84  # the most that a logarithmic axis shows: all that float32 has, 1e-45 to 1e38


@dataclass(frozen=True)
class Mark:
    """A finding, at the step where it was first seen."""

    step: int
    text: str
    severity: str
    anchor: str


@dataclass(frozen=True)
class Axis:
    """Where a value is, from 0 at the bottom to 1 at the top."""

    low: float
    high: float
    is_log: bool

    @classmethod
    def over(cls, values: Sequence[Measure]) -> Axis:
        """An axis that shows these: logarithmic if they are positive and span decades."""
        finite = [value for value in values if value is not None and math.isfinite(value)]
        positive = [value for value in finite if value > 0]
        if positive and min(finite) >= 0 and max(positive) >= 20 * min(positive):
            high = math.ceil(math.log10(max(positive)) - 1e-9)
            low = max(math.floor(math.log10(min(positive)) + 1e-9), high - DECADES)
            return cls(float(low), float(max(high, low + 1)), True)
        low_, high_ = (min(finite), max(finite)) if finite else (0.0, 1.0)
        if low_ >= 0 and low_ < 0.5 * high_:
            low_ = 0.0
        room = (high_ - low_) * 0.05 or abs(high_) * 0.1 or 1.0
        return cls(low_ if low_ == 0 else low_ - room, high_ + room, False)

    def at(self, value: float) -> float:
        """0 and infinity are at the edges."""
        if self.is_log:
            value = math.log10(value) if value > 0 else -math.inf
        if not math.isfinite(value):
            return 1.0 if value > 0 else 0.0
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def shows(self, value: Measure) -> bool:
        """Whether a value has a place of its own, not at an edge that it lies beyond."""
        if value is None or not math.isfinite(value) or (self.is_log and value <= 0):
            return False
        return self.low <= (math.log10(value) if self.is_log else value) <= self.high

    def ticks(self) -> list[tuple[float, str]]:
        """A few round values: where they are and what to write there."""
        if self.is_log:
            every = max(round((self.high - self.low) / 4), 1)
            powers = range(int(self.low), int(self.high) + 1, every)
            return [(self.at(10.0**power), _power(power)) for power in powers]
        step = _round_step((self.high - self.low) / 4)
        first = math.ceil(self.low / step - 1e-9)
        count = math.floor(self.high / step + 1e-9) - first + 1
        return [(self.at(i * step), f"{i * step:.6g}") for i in range(first, first + count)]


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -3 <= power <= 3 else f"1e{power}"


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)


def colours(count: int) -> list[str]:
    """From dark blue for the first parameter to light orange for the last: told apart without hue, too."""
    found = []
    for i in range(count):
        part = i / max(count - 1, 1)
        hue = (255 + 170 * part) % 360
        light, dark = 0.36 + 0.32 * part, 0.56 + 0.3 * part
        found.append(
            f"light-dark(oklch({light:.3f} 0.13 {hue:.0f}),oklch({dark:.3f} 0.13 {hue:.0f}))"
        )
    return found


def points(
    steps: Sequence[int],
    values: Sequence[Measure],
    axis: Axis,
    height: int = BOX,
    span: Sequence[int] = (),
) -> list[tuple[float, float]]:
    """Where the values are that have a place; `span` is the first and the last step of the axis."""
    span = span or steps
    return [
        (BOX * across(step, span), height * (1 - axis.at(value)))
        for step, value in zip(steps, values, strict=True)
        if value is not None and not math.isnan(value)
    ]


def runs(values: Sequence[Measure], axis: Axis) -> Iterator[list[Measure]]:
    """The values of each part of a line that lies within the axis, all others None.

    What was not measured is passed over; NaN, infinity and what lies beyond the axis end a part.
    """
    current: list[Measure] = [None] * len(values)
    for i, value in enumerate(values):
        if axis.shows(value):
            current[i] = value
        elif value is not None and any(v is not None for v in current):
            yield current
            current = [None] * len(values)
    yield current


def beyond(values: Sequence[Measure], axis: Axis) -> list[Measure]:
    """The finite values that lie beyond an edge, all others None."""
    return [v if is_finite(v) and not axis.shows(v) else None for v in values]


def path(places: Sequence[tuple[float, float]]) -> str:
    """A line through these points; of one alone, a dash."""
    drawn = "".join(f"{'L' if i else 'M'}{x:.0f} {y:.0f}" for i, (x, y) in enumerate(places))
    return drawn + ("h9" if len(places) == 1 else "")


def dots(places: Sequence[tuple[float, float]]) -> str:
    """These points themselves: lines of no length, whose round ends show."""
    return "".join(f"M{x:.0f} {y:.0f}h0" for x, y in places)


def spark(steps: Sequence[int], values: Sequence[Measure], colour: str, span: Sequence[int]) -> str:
    """A small picture of a line, on its own scale; where it is not finite, a bar below."""
    axis = Axis.over(values)
    drawn = "".join(path(points(steps, part, axis, 100, span)) for part in runs(values, axis))
    odd = [s for s, v in zip(steps, values, strict=True) if v is not None and not math.isfinite(v)]
    bar = "".join(f"M{BOX * across(s, span):.0f} 100h9" for s in odd)
    strange = f'<path d="{bar}" style="stroke:var(--strange);stroke-width:4"/>' if odd else ""
    return (
        f'<svg viewBox="0 0 {BOX} 100" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{drawn}" style="stroke:{colour}"/>{strange}</svg>'
    )


def chart(
    kind: str,
    title: str,
    caption: str,
    steps: Sequence[int],
    series: Series,
    marks: Sequence[Mark],
    *,
    span: Sequence[int] = (),
    broken: Sequence[int] = (),
    usual: float | None = None,
    most: float = math.inf,
    classes: str = "",
) -> str:
    """A figure: the lines, an axis on the left and below, findings marked at their steps.

    The axis goes from the first to the last step of `span`. A line at `usual` helps the eye; values
    above `most` are dots at the edge, and a cross stands at each step of `broken`.
    """
    known = [v for values in series.values() for v in values if v is not None]
    axis = Axis.over([value if math.isnan(value) else min(value, most) for value in known])
    span = (span or steps)[0], (span or steps)[-1]
    return "".join(
        _chart(kind, title, caption, steps, series, marks, usual, classes, axis, span, broken)
    )


def _chart(
    kind: str,
    title: str,
    caption: str,
    steps: Sequence[int],
    series: Series,
    marks: Sequence[Mark],
    usual: float | None,
    classes: str,
    axis: Axis,
    span: tuple[int, int],
    broken: Sequence[int],
) -> Iterator[str]:
    scale = " Logarithmic." if axis.is_log else ""
    if any(v is not None for values in series.values() for v in beyond(values, axis)):
        scale += " Dots at an edge lie beyond it" + (" (0, below)." if axis.is_log else ".")
    if broken:
        scale += f" {CROSS} is NaN or infinite, first at step {broken[0]:,}."
    yield f'<figure class="chart {classes}" data-kind="{kind}" '
    yield f'data-axis="{axis.low:.9g} {axis.high:.9g} {int(axis.is_log)}"><figcaption><b>{escape(title)}</b>'
    yield f"<span>{escape(caption + scale)}</span></figcaption>"
    yield from labels(marks, span)
    about = f"{title}: {len(series)} {'line' if len(series) == 1 else 'lines'} over steps {span[0]} to {span[1]}"
    about += f", from {axis_text(axis.low, axis)} to {axis_text(axis.high, axis)}. Arrow keys read values."
    yield f'<div class="plot" tabindex="0" role="img" aria-label="{escape(about)}">'
    yield f'<svg viewBox="0 0 {BOX} {BOX}" preserveAspectRatio="none" aria-hidden="true">'
    for at, _ in axis.ticks():
        yield f'<line class="grid" x1="0" x2="{BOX}" y1="{BOX * (1 - at):.0f}" y2="{BOX * (1 - at):.0f}"/>'
    if usual is not None and 0 < axis.at(usual) < 1:
        y = f"{BOX * (1 - axis.at(usual)):.0f}"
        yield f'<line class="usual" x1="0" x2="{BOX}" y1="{y}" y2="{y}"/>'
    alone = len(series) == 1
    ramp = ["var(--ink)"] if alone and kind == "losses" else colours(len(series))
    for (name, values), colour in zip(series.items(), ramp, strict=True):
        which = "" if kind == "losses" else f'data-name="{escape(name)}" '
        parts = [points(steps, part, axis, span=span) for part in runs(values, axis)]
        yield f'<path class="line" {which}d="{"".join(map(path, parts))}" style="stroke:{colour}"/>'
        few = len(steps) * len(series) <= MOST_DOTS
        shown = [place for part in parts for place in part] if few else []
        shown += points(steps, beyond(values, axis), axis, span=span)
        if shown:
            yield f'<path class="dots" {which}d="{dots(shown)}" style="stroke:{colour}"/>'
    for mark in marks:
        x = f"{BOX * across(mark.step, span):.0f}"
        yield f'<line class="mark {mark.severity}" x1="{x}" x2="{x}" y1="0" y2="{BOX}"/>'
    yield "</svg>"
    for at, text in axis.ticks():
        yield f'<span class="y" style="top:{100 * (1 - at):.1f}%">{text}</span>'
    for step in broken[:: math.ceil(len(broken) / MOST_CROSSES) or 1]:
        yield f'<span class="odd" style="left:{100 * across(step, span):.1f}%" '
        yield f'title="not finite at step {step:,}">{CROSS}</span>'
    yield from line_ends(series, ramp, axis)
    yield from step_labels(span)
    yield '<div class="cursor"></div></div><p class="readout" aria-live="polite"></p></figure>'


MOST_ENDS = (
    9  # lines that are named where they end; of more, the highest, the lowest and some between
)
LINE_HEIGHT = 0.085  # of a plot's height


def line_ends(series: Series, ramp: Sequence[str], axis: Axis) -> Iterator[str]:
    """The name of each line at its right end, none over another."""
    found = []
    for (name, values), colour in zip(series.items(), ramp, strict=True):
        last = next((v for v in reversed(values) if v is not None), None)
        if last is not None and name:
            found.append((0.0 if math.isnan(last) else 1 - axis.at(last), name, last, colour))
    found.sort(key=lambda one: one[0])
    if len(found) > MOST_ENDS:
        every = (len(found) - 1) / (MOST_ENDS - 1)
        found = [found[round(i * every)] for i in range(MOST_ENDS)]
    places = spread([y for y, *_ in found], LINE_HEIGHT)
    for y, (_, name, last, colour) in zip(places, found, strict=True):
        yield f'<span class="end mono" data-name="{escape(name)}" title="{escape(name)} {figure(last)}" '
        yield f'style="top:{100 * y:.1f}%;--c:{colour}"><bdi>{escape(name)}</bdi></span>'


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """Places from 0 to 1 in the same order, at least so far apart, near where they are wanted."""
    places: list[float] = []
    for y in wanted:
        places.append(max(y, places[-1] + apart) if places else y)
    limit = max(1.0, apart * (len(places) - 1))
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - apart
    return places


def axis_text(value: float, axis: Axis) -> str:
    return f"{10.0**value:.3g}" if axis.is_log else f"{value:.3g}"


def across(step: int, steps: Sequence[int]) -> float:
    """Where a step is between the first of them and the last, from 0 to 1."""
    return min(max((step - steps[0]) / ((steps[-1] - steps[0]) or 1), 0.0), 1.0)


def step_labels(steps: Sequence[int]) -> Iterator[str]:
    """The axis below."""
    if len(steps) == 1:
        yield f'<span class="x first" style="left:0">step {steps[0]}</span>'
        return
    yield f'<span class="x first" style="left:0">step {steps[0]:,}</span>'
    middle = (steps[0] + steps[-1]) // 2
    if steps[-1] - steps[0] > 3:
        yield f'<span class="x" style="left:{100 * across(middle, steps):.1f}%">{middle:,}</span>'
    yield f'<span class="x last" style="left:100%">{steps[-1]:,}</span>'


LANE = 1.45  # rem
APART = 0.2  # of the width: labels nearer than that are put one above the other
LANES = 8


def labels(marks: Sequence[Mark], steps: Sequence[int]) -> Iterator[str]:
    """The findings' codes above their lines, links to them; as many rows as keep them apart."""
    ends: list[float] = []
    placed: list[tuple[int, float, Mark]] = []
    for mark in sorted(marks, key=lambda m: m.step):
        x = across(mark.step, steps)
        start = x - APART if x > 0.8 else x
        free = [i for i, end in enumerate(ends) if end <= start]
        if free:
            lane = free[0]
        else:
            lane = len(ends) if len(ends) < LANES else LANES - 1
            ends += [0.0] if lane == len(ends) else []
        ends[lane] = start + APART
        placed.append((lane, x, mark))
    yield f'<div class="marks" style="height:{LANE * len(ends):.2f}rem">'
    for lane, x, mark in placed:
        side = " left" if x > 0.8 else ""
        yield (
            f'<a class="{mark.severity}{side}" href="#{mark.anchor}" '
            f'style="left:{100 * x:.1f}%;bottom:{0.1 + LANE * lane:.2f}rem">{escape(mark.text)}</a>'
        )
    yield "</div>"
