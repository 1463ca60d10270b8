"""Convolutions of NumPy's own arrays, a few images at a time.

A convolution is one matrix product once the windows of an image lie in columns. All columns of a
batch take many times its memory, so they are made for a few images at once, in a buffer that
stays in the processor's cache, and used up before the next ones are made. Where the kernels of `direct` apply,
no columns are made at all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import direct
from .batch_threads import share_images
from .windows import Ints, at, inside, offsets, window_views

_BUFFER = 1 << 20  # bytes of columns to have at once


def _parts(images: range, bytes_each: int) -> list[slice]:
    """Runs of images whose columns fit in the buffer."""
    few = max(1, _BUFFER // max(bytes_each, 1))
    return [
        slice(start, min(start + few, images.stop))
        for start in range(images.start, images.stop, few)
    ]


class Columns:
    """The windows of a few images after another, each a column of a matrix per group."""

    def __init__(
        self,
        x: Any,
        images: range,
        kernel: Ints,
        count: Ints,
        stride: Ints,
        padding: Ints,
        dilation: Ints,
        groups: int,
    ) -> None:
        _, channels, *size = x.shape
        self.x = x
        self.geometry = (kernel, count, stride, dilation)
        self.inside = inside(padding, tuple(size))
        rows = channels * math.prod(kernel)
        positions = math.prod(count)
        self.matrix = (groups, rows // groups, positions)
        self.parts = _parts(images, rows * positions * x.dtype.itemsize)
        self.few = self.parts[0].stop - self.parts[0].start if self.parts else 0
        self.room = None
        if any(padding):
            longer = [n + 2 * p for n, p in zip(size, padding, strict=True)]
            self.room = np.zeros((self.few, channels, *longer), x.dtype)
        self.direct = (
            self.room is None and set(kernel) == {1} and set(stride) == {1} and x.flags.c_contiguous
        )
        if not self.direct:
            self.buffer = np.empty((self.few, channels, *kernel, *count), x.dtype)

    def of(self, part: slice) -> Any:
        """The columns of some images: `(images, groups, rows, positions)`."""
        images = self.x[part]
        many = part.stop - part.start
        if self.direct:
            return images.reshape(many, *self.matrix)
        if self.room is not None:
            self.room[:many][self.inside] = images
            images = self.room[:many]
        buffer = self.buffer[:many]
        np.copyto(buffer, window_views(images, *self.geometry))
        return buffer.reshape(many, *self.matrix)


def convolved(
    x: Any, w: Any, b: Any, count: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The forward: `weight @ columns` of every image."""
    found = direct.convolved(x, w, b, count, stride, padding, dilation, groups)
    if found is not None:
        return found
    batch, out_channels = x.shape[0], w.shape[0]
    weight = w.reshape(groups, out_channels // groups, -1)
    out = np.empty((batch, out_channels, *count), x.dtype)
    flat = out.reshape(batch, groups, out_channels // groups, -1)
    added = None if b is None else b.reshape(groups, -1, 1)

    def run(images: range) -> None:
        columns = Columns(x, images, w.shape[2:], count, stride, padding, dilation, groups)
        for part in columns.parts:
            product = flat[part]
            np.matmul(weight, columns.of(part), out=product)
            if added is not None:
                product += added

    share_images(run, batch, batch * w.size * math.prod(count))
    return out


def spread_back(
    g: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The adjoint in the input: what every place of the kernel gives, added where it belongs.

    Steps of one along the last dimension need no adding there: with the gradient's lines shifted
    side by side, as the columns of a convolution are, the product adds them up itself.
    """
    found = direct.spread_back(g, w, size, stride, padding, dilation, groups)
    if found is not None:
        return found
    batch, count, kernel = g.shape[0], g.shape[2:], w.shape[2:]
    channels, ones = w.shape[1] * groups, (1,) * (len(kernel) - 1)
    longer = tuple([n + 2 * p for n, p in zip(size, padding, strict=True)])
    places, turned = kernel, w[..., np.newaxis]
    geometry = ((*ones, 1), count, (*ones, 1), (0,) * len(kernel), (*ones, 1), groups)
    if stride[-1] == 1 and 2 * longer[-1] <= 3 * count[-1]:
        sides = ((0,) * len(ones)) + ((kernel[-1] - 1) * dilation[-1],)
        count = (*count[:-1], longer[-1])
        geometry = (ones + kernel[-1:], count, (*ones, 1), sides, ones + dilation[-1:], groups)
        places, turned = (*kernel[:-1], 1), w[..., ::-1]
    weight = _by_place(turned, groups)
    out = np.empty((batch, channels, *size), g.dtype)
    targets = [at(o, count, stride, dilation) for o in offsets(places)]

    def run(images: range) -> None:
        lines = Columns(g, images, *geometry)
        products = np.empty((lines.few, groups, weight.shape[1], lines.matrix[2]), g.dtype)
        room = np.empty((lines.few, channels, *longer), g.dtype) if any(padding) else None
        for part in lines.parts:
            many = part.stop - part.start
            found = np.matmul(weight, lines.of(part), out=products[:many])
            by_place = found.reshape(many, groups, len(targets), w.shape[1], *count)
            whole = out[part] if room is None else room[:many]
            grouped = whole.reshape(many, groups, w.shape[1], *longer)
            grouped[...] = 0
            for number, place in enumerate(targets):
                target = grouped[place]
                target += by_place[:, :, number]
            if room is not None:
                out[part] = whole[inside(padding, size)]

    share_images(run, batch, batch * w.size * math.prod(count))
    return out


def _by_place(w: Any, groups: int) -> Any:
    """A weight as a matrix for each group: a row for each place in the kernel and input channel, a
    column for each output channel and place along the last dimension."""
    out, inner, *places, last = w.shape
    each = math.prod(places)
    apart = w.reshape(groups, out // groups, inner, each, last).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(apart).reshape(groups, each * inner, out // groups * last)


def correlated(
    x: Any, g: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The adjoint in the weight: `columns @ g.T`, added up over images."""
    found = direct.correlated(x, g, kernel, stride, padding, dilation, groups)
    if found is not None:
        return found
    batch, out_channels, *counted = g.shape
    count = tuple(counted)
    inner = x.shape[1] // groups
    flat = g.reshape(batch, groups, out_channels // groups, -1)
    rows = inner * math.prod(kernel)

    def run(images: range) -> Any:
        columns = Columns(x, images, kernel, count, stride, padding, dilation, groups)
        total = np.zeros((groups, rows, out_channels // groups), x.dtype)
        for part in columns.parts:
            total += np.sum(np.matmul(columns.of(part), flat[part].swapaxes(2, 3)), axis=0)
        return total

    totals = share_images(run, batch, g.size * rows)
    weight = np.copy(sum(totals[1:], totals[0]).swapaxes(1, 2), order="C")
    return weight.reshape(out_channels, inner, *kernel)
