"""A step length that satisfies the strong Wolfe conditions, found by bracketing and cubic interpolation.

The algorithm is that of Nocedal and Wright (Numerical Optimization, 3.5 and 3.6), with PyTorch's choices
where the book leaves them open, so that both take the same steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Point(NamedTuple):
    """A step length, with the loss, the gradient and the directional slope there."""

    t: Any
    loss: Any
    gradient: Any
    slope: Any


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum of the cubic through two points with their slopes, within bounds."""
    low, high = bounds or ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if a.t > b.t:
        a, b = b, a
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(
    evaluate: Callable[[Any], tuple[Any, Any]],
    t: Any,
    direction: Any,
    start: Point,
    max_evaluations: int,
    sufficient: float = 1e-4,
    curvature: float = 0.9,
    tolerance: float = 1e-9,
) -> tuple[Any, Any, Any, int]:
    """The loss, gradient and step length found, and the number of evaluations."""
    largest = direction.abs().max()

    def point(t: Any) -> Point:
        loss, gradient = evaluate(t)
        return Point(t, loss, gradient, gradient.dot(direction))

    def too_high(p: Point) -> bool:
        return bool(p.loss > start.loss + sufficient * p.t * start.slope)

    def is_flat(p: Point) -> bool:
        return bool(abs(p.slope) <= -curvature * start.slope)

    # Extend the step until a minimum is bracketed.
    previous, now = start, point(t)
    count = 0
    bracket: list[Point] = [start, now]
    done = False
    while count < max_evaluations:
        if too_high(now) or (count > 1 and now.loss >= previous.loss):
            bracket = [previous, now]
            break
        if is_flat(now):
            bracket = [now]
            done = True
            break
        if now.slope >= 0:
            bracket = [previous, now]
            break
        bounds = now.t + 0.01 * (now.t - previous.t), now.t * 10
        previous, now = now, point(cubic_minimum(previous, now, bounds))
        count += 1
    else:
        bracket = [start, now]
    evaluations = count + 1

    # Shrink the bracket until a point in it satisfies the conditions.
    stalled = False
    low = 0 if bracket[0].loss <= bracket[-1].loss else 1
    while not done and count < max_evaluations:
        high = 1 - low
        if abs(bracket[1].t - bracket[0].t) * largest < tolerance:
            break
        ends = bracket[0].t, bracket[1].t
        t, stalled = _away_from(ends, cubic_minimum(bracket[0], bracket[1]), stalled)
        new = point(t)
        evaluations += 1
        count += 1
        if too_high(new) or new.loss >= bracket[low].loss:
            bracket[high] = new
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
            continue
        if is_flat(new):
            done = True
        elif new.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = new
    best = bracket[low]
    return best.loss, best.gradient, best.t, evaluations


def _away_from(ends: tuple[Any, Any], t: Any, stalled: bool) -> tuple[Any, bool]:
    """A trial step, moved inward if it is beyond an end, or close to one for the second time."""
    nearest, farthest = min(ends), max(ends)
    margin = 0.1 * (farthest - nearest)
    if not min(farthest - t, t - nearest) < margin:
        return t, False
    if not (stalled or t >= farthest or t <= nearest):
        return t, True
    if abs(t - farthest) < abs(t - nearest):
        return farthest - margin, False
    return nearest + margin, False
