"""Resizing along one dimension: which input elements an output element is made of, with what weights.

Sizes and weights follow PyTorch to the rounding: positions are computed in the dtype that the
kernel computes in.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .line_maps import LineMap, picking, weighing

_CUBIC, _SMOOTHER_CUBIC = -0.75, -0.5  # the parameter of the cubic, without and with antialiasing


def _scale(size: int, count: int, align_corners: bool, scale: float | None, kind: Any) -> Any:
    """How far two output elements lie apart, measured in input elements."""
    if align_corners:
        return kind(size - 1) / kind(count - 1) if count > 1 else kind(0)
    return kind(1.0 / scale) if scale is not None and scale > 0 else kind(size) / kind(count)


def _nearest(
    size: int, count: int, scale: float | None, kind: Any, half: float, whole: bool = False
) -> LineMap:
    if whole and count in (size, 2 * size):  # whatever the scale factor says
        return picking(size, np.arange(count) // (count // size))
    step = _scale(size, count, False, scale, kind)
    place = np.floor((np.arange(count).astype(kind) + kind(half)) * step)
    return picking(size, np.minimum(place.astype(np.int64), size - 1))


def _linear(size: int, count: int, align: bool, scale: float | None, kind: Any) -> LineMap:
    if size == count:  # whatever the scale factor says
        return picking(size, np.arange(size))
    step = _scale(size, count, align, scale, kind)
    number = np.arange(count).astype(kind)
    place = number * step if align else (number + kind(0.5)) * step - kind(0.5)
    place = np.maximum(place, kind(0))
    low = np.minimum(np.floor(place).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    part = np.clip(place - low.astype(kind), kind(0), kind(1))
    return weighing(size, np.stack((low, high), 1), np.stack((kind(1) - part, part), 1))


def _cubic_near(x: Any, a: float) -> Any:
    """The cubic for distances up to 1."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _cubic_far(x: Any, a: float) -> Any:
    """The cubic for distances from 1 to 2."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _cubic(size: int, count: int, align: bool, scale: float | None, kind: Any) -> LineMap:
    step = _scale(size, count, align, scale, kind)
    number = np.arange(count).astype(kind)
    place = number * step if align else (number + kind(0.5)) * step - kind(0.5)
    low = np.minimum(np.floor(place).astype(np.int64), size - 1)
    t = np.clip(place - low.astype(kind), kind(0), kind(1))
    index = np.clip(low[:, None] + np.arange(-1, 3), 0, size - 1)
    weights = (
        _cubic_far(t + 1, _CUBIC),
        _cubic_near(t, _CUBIC),
        _cubic_near(1 - t, _CUBIC),
        _cubic_far(2 - t, _CUBIC),
    )
    return weighing(size, index, np.stack(weights, 1))


def _triangle(x: Any) -> Any:
    return np.maximum(1 - np.abs(x), 0)


def _smooth_cubic(x: Any) -> Any:
    far = np.abs(x)
    outer = np.where(far < 2, _cubic_far(far, _SMOOTHER_CUBIC), 0)
    return np.where(far < 1, _cubic_near(far, _SMOOTHER_CUBIC), outer)


def _lanczos(x: Any) -> Any:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS = {"bilinear": (2, _triangle), "bicubic": (4, _smooth_cubic), "lanczos": (6, _lanczos)}


def _antialiased(
    mode: str, size: int, count: int, align: bool, scale: float | None, kind: Any
) -> LineMap:
    """A filter as wide as an output element, where that is wider than an input element."""
    if size == count:  # whatever the scale factor says
        return picking(size, np.arange(size))
    width, kernel = _FILTERS[mode]
    step = _scale(size, count, align, scale, kind)
    support = kind(width * 0.5) * (step if step >= 1 else kind(1))
    narrow = kind(1) / step if step >= 1 else kind(1)
    centre = step * (np.arange(count).astype(kind) + kind(0.5))
    start = np.maximum((centre - support + kind(0.5)).astype(np.int64), 0)
    stop = np.minimum((centre + support + kind(0.5)).astype(np.int64), size)
    index, weights, starts = [], [], [0]
    for i in range(count):
        places = np.arange(start[i], stop[i])
        w = kernel((places.astype(kind) - centre[i] + kind(0.5)) * narrow)
        total = np.sum(w)
        index.append(places)
        weights.append(w / total if total != 0 else w)
        starts.append(starts[-1] + len(places))
    return LineMap(size, np.concatenate(index), np.asarray(starts), np.concatenate(weights))


@functools.lru_cache(maxsize=256)
def resize_map(
    mode: str,
    size: int,
    count: int,
    align_corners: bool,
    scale: float | None,
    antialias: bool,
    double: bool,
    whole: bool = False,
) -> LineMap:
    """The map of one dimension from `size` elements to `count`.

    `whole`: what the sizes say goes before the scale factor. A dimension that keeps its size is
    copied, and of nearest elements one that doubles it takes each twice.
    """
    kind = np.float64 if double else np.float32
    line = _line(mode, size, count, align_corners, scale, antialias, kind, whole)
    line.origin = mode, size, count, align_corners, scale, antialias
    return line


def _line(
    mode: str,
    size: int,
    count: int,
    align_corners: bool,
    scale: float | None,
    antialias: bool,
    kind: Any,
    whole: bool,
) -> LineMap:
    if mode == "nearest":
        return _nearest(size, count, scale, kind, 0.0, whole)
    if mode == "nearest-exact":
        return _nearest(size, count, scale, kind, 0.5)
    if antialias:
        return _antialiased(mode, size, count, align_corners, scale, kind)
    if mode == "bicubic":
        if whole and size == count:
            return picking(size, np.arange(size))
        return _cubic(size, count, align_corners, scale, kind)
    return _linear(size, count, align_corners, scale, kind)


def scaled(size: int, factor: float) -> int:
    """The number of elements that a scale factor gives."""
    return math.floor(float(size) * factor)
