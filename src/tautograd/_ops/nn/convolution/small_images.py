"""Convolutions of many small images: one product for a run of them.

A product reads the whole weight, and pays for it with the number of columns the weight is used on. An image of two by
two has four of them, so here the columns of many images stand in one matrix. The batch is its fastest dimension:
windows are then copied in runs as long as the batch, whatever the width of an image.

Where padding is wide for the size of the image, some places of the kernel meet nothing but zeros (of three by three
over one pixel all but the middle one); they are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .batch_threads import share_images
from .windows import Ints, at, covered, inside, offsets, window_views

_MOST_POSITIONS = 32
_FEWEST_IMAGES = 8
_LARGE_WEIGHT = 1 << 15  # numbers: a smaller one stays in the cache that is nearest
_BUFFER = 1 << 22  # bytes of columns to have at once
_FEWEST_COLUMNS = 256  # that a product should have for each reading of the weight


def apply(batch: int, count: Ints, weights: int, dtype: Any) -> bool:
    """Whether this way is the fastest: many images, small ones, and a weight that is not."""
    return (
        batch >= _FEWEST_IMAGES
        and math.prod(count) <= _MOST_POSITIONS
        and weights >= _LARGE_WEIGHT
        and dtype.kind in "fc"
    )


@dataclass(frozen=True)
class _Geometry:
    """A convolution without the places of its kernel that meet nothing but padding."""

    size: Ints
    places: tuple[Any, ...]  # slices of the kernel, that meet the image
    kernel: Ints
    count: Ints
    stride: Ints
    dilation: Ints
    low: Ints  # zeros before the image
    longer: Ints  # the image among its zeros

    @property
    def is_a_product(self) -> bool:
        """Whether every window is one element, and no element is left out."""
        return set(self.kernel) == {1} and self.longer == self.size == self.count


def _geometry(
    size: Ints, kernel: Ints, count: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> _Geometry:
    places, low, longer = [], [], []
    for n, k, c, s, p, d in zip(size, kernel, count, stride, padding, dilation, strict=True):
        # Place i meets the elements from i d - p on, in steps of s, up to (c - 1) s + i d - p.
        meeting = [i for i in range(k) if (c - 1) * s + i * d >= p and i * d < n + p]
        first, last = (meeting[0], meeting[-1]) if meeting else (0, k - 1)
        if first * d > p:
            first = 0
        places.append(slice(first, last + 1))
        low.append(p - first * d)
        longer.append(max(low[-1] + n, (c - 1) * s + covered(last + 1 - first, d)))
    small = tuple([p.stop - p.start for p in places])
    return _Geometry(size, tuple(places), small, count, stride, dilation, tuple(low), tuple(longer))


def _images_last(x: Any) -> Any:
    return np.moveaxis(x, 0, -1)


def _side_by_side(g: Any, groups: int) -> Any:
    """Outputs of images as matrices: `(groups, channels of a group, positions of all images)`."""
    whole = np.ascontiguousarray(_images_last(g))
    return whole.reshape(groups, g.shape[1] // groups, -1)


class _Columns:
    """The windows of a run of images after another, in columns of one matrix per group."""

    def __init__(self, x: Any, images: range, geometry: _Geometry, groups: int) -> None:
        self.x, self.geometry, self.groups = x, geometry, groups
        positions = math.prod(geometry.count)
        each = x.shape[1] * math.prod(geometry.kernel) * positions * x.dtype.itemsize
        few = max(_BUFFER // each, -(-_FEWEST_COLUMNS // positions), 1)
        self.parts = [
            slice(start, min(start + few, images.stop))
            for start in range(images.start, images.stop, few)
        ]
        self.many = 0

    def _make_room(self, many: int) -> None:
        channels, n = self.x.shape[1], self.geometry
        self.many = many
        self.room = np.zeros((channels, *n.longer, many), self.x.dtype)
        self.buffer = np.empty((channels, *n.kernel, *n.count, many), self.x.dtype)

    def of(self, part: slice) -> Any:
        """The columns of some images: `(groups, rows, positions of all of them)`."""
        images, n = self.x[part], self.geometry
        if n.is_a_product:
            return _side_by_side(images, self.groups)
        if len(images) != self.many:
            self._make_room(len(images))
        channels_last = np.moveaxis(self.room, -1, 0)
        channels_last[inside(n.low, n.size)] = images
        windows = window_views(channels_last, n.kernel, n.count, n.stride, n.dilation)
        np.copyto(np.moveaxis(self.buffer, -1, 0), windows)
        rows = self.x.shape[1] // self.groups * math.prod(n.kernel)
        return self.buffer.reshape(self.groups, rows, -1)


def _matrices(w: Any, n: _Geometry, groups: int) -> Any:
    """The weight at the places that count: `(groups, outputs of a group, rows)`."""
    return w[(..., *n.places)].reshape(groups, w.shape[0] // groups, -1)


def convolved(
    x: Any, w: Any, b: Any, count: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The forward: `weight @ columns`."""
    n = _geometry(x.shape[2:], w.shape[2:], count, stride, padding, dilation)
    weight = _matrices(w, n, groups)
    out = np.empty((x.shape[0], w.shape[0], *count), x.dtype)
    added = None if b is None else b.reshape(groups, -1, 1)

    def run(images: range) -> None:
        columns = _Columns(x, images, n, groups)
        for part in columns.parts:
            product = np.matmul(weight, columns.of(part))
            if added is not None:
                product += added
            _images_last(out[part])[...] = product.reshape(w.shape[0], *count, -1)

    share_images(run, len(x), len(x) * weight.size * math.prod(count))
    return out


def spread_back(
    g: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The adjoint in the input: `weight.T @ g` gives what each place of the kernel adds to the image."""
    n = _geometry(size, w.shape[2:], g.shape[2:], stride, padding, dilation)
    weight = np.swapaxes(_matrices(w, n, groups), 1, 2)
    channels = w.shape[1] * groups
    out = np.empty((g.shape[0], channels, *size), g.dtype)

    def run(images: range) -> None:
        for part in _Columns(out, images, n, groups).parts:
            windows = np.matmul(weight, _side_by_side(g[part], groups))
            by_place = windows.reshape(channels, *n.kernel, *n.count, -1)
            if n.is_a_product:
                _images_last(out[part])[...] = by_place.reshape(channels, *size, -1)
                continue
            room = np.zeros((channels, *n.longer, by_place.shape[-1]), g.dtype)
            for place in offsets(n.kernel):
                room[(*at(place, n.count, n.stride, n.dilation), slice(None))] += by_place[
                    (slice(None), *place)
                ]
            out[part] = np.moveaxis(room, -1, 0)[inside(n.low, n.size)]

    share_images(run, len(g), len(g) * weight.size * math.prod(n.count))
    return out


def correlated(
    x: Any, g: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The adjoint in the weight: `g @ columns.T`."""
    n = _geometry(x.shape[2:], kernel, g.shape[2:], stride, padding, dilation)
    outputs, inner = g.shape[1], x.shape[1] // groups
    rows = inner * math.prod(n.kernel)

    def run(images: range) -> Any:
        columns = _Columns(x, images, n, groups)
        total: Any = None
        for part in columns.parts:
            found = columns.of(part)
            share = np.matmul(_side_by_side(g[part], groups), np.swapaxes(found, 1, 2))
            total = share if total is None else np.add(total, share, out=total)
        return total

    totals = share_images(run, len(x), g.size * rows)
    found = sum(totals[1:], totals[0]).reshape(outputs, inner, *n.kernel)
    if n.kernel == kernel:
        return found
    whole = np.zeros((outputs, inner, *kernel), x.dtype)
    whole[(..., *n.places)] = found
    return whole
