"""Convolutions of NumPy's own arrays, a few images at a time.

A convolution is one matrix product once the windows of an image lie in columns. All columns of a
batch take many times its memory, so they are made for a few images at once, in a buffer that
stays in the processor's cache, and used up before the next ones are made. Where the kernels of `direct` apply,
no columns are made at all.

A program that is replayed calls the same functions, with the place for the result as `out`, where the loops and
products that would be made of the formula do not come near.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import direct, small_images
from .batch_threads import share_images
from .windows import Ints, at, inside, offsets, window_views

_BUFFER = 1 << 20  # bytes of columns to have at once
_WORTH_A_CALL = 1 << 16  # numbers in columns, whose making takes longer than a call from a program


def pay_in_a_program(shape: Ints, weight: Ints, count: Ints, stride: Ints, dtype: Any) -> bool:
    """Whether a program calls these functions, or makes the columns by loops of its own, which is as fast or faster.

    It calls them where they make no columns, or those of many small images, and so many would have to be made
    that a call is nothing beside it.
    """
    kernel = weight[2:]
    if math.prod(shape[:2]) * math.prod(kernel) * math.prod(count) < _WORTH_A_CALL:
        return False
    if small_images.apply(shape[0], count, math.prod(weight), dtype):
        return True
    return direct.is_there(kernel, stride, dtype)


def _placed(found: Any, out: Any) -> Any:
    """A result where it is wanted."""
    if out is not None and found is not out:
        np.copyto(out, found)
        return out
    return found


def _room(shape: Ints, dtype: Any, out: Any) -> Any:
    """Memory for a result: the place where it is wanted, if that lies in rows."""
    return out if out is not None and out.flags.c_contiguous else np.empty(shape, dtype)


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
        each_once = set(kernel) == {1} and set(stride) == {1} and tuple(count) == tuple(size)
        self.direct = self.room is None and each_once and x.flags.c_contiguous
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
    x: Any, w: Any, b: Any, count: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, out: Any = None
) -> Any:  # fmt: skip
    """The forward: `weight @ columns` of every image."""
    if small_images.apply(len(x), count, w.size, x.dtype):
        found = small_images.convolved(x, w, b, count, stride, padding, dilation, groups)
        return _placed(found, out)
    found = direct.convolved(x, w, b, count, stride, padding, dilation, groups, out)
    if found is None:
        found = _by_columns(x, w, b, count, stride, padding, dilation, groups, out)
    return _placed(found, out)


def _by_columns(
    x: Any, w: Any, b: Any, count: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, place: Any
) -> Any:  # fmt: skip
    batch, out_channels = x.shape[0], w.shape[0]
    weight = w.reshape(groups, out_channels // groups, -1)
    out = _room((batch, out_channels, *count), x.dtype, place)
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
    g: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, out: Any = None
) -> Any:  # fmt: skip
    """The adjoint in the input."""
    if small_images.apply(len(g), g.shape[2:], w.size, g.dtype):
        found = small_images.spread_back(g, w, size, stride, padding, dilation, groups)
        return _placed(found, out)
    found = direct.spread_back(g, w, size, stride, padding, dilation, groups, out)
    if found is None:
        found = _spread_by_places(g, w, size, stride, padding, dilation, groups, out)
    return _placed(found, out)


def _spread_by_places(
    g: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, place: Any
) -> Any:
    """What every place of the kernel gives, added where it belongs.

    Steps of one along the last dimension need no adding there: with the gradient's lines shifted
    side by side, as the columns of a convolution are, the product adds them up itself.
    """
    batch, count, kernel = g.shape[0], g.shape[2:], w.shape[2:]
    channels, ones = w.shape[1] * groups, (1,) * (len(kernel) - 1)
    longer = tuple([n + 2 * p for n, p in zip(size, padding, strict=True)])
    places, turned = kernel, w[..., np.newaxis]
    geometry = ((*ones, 1), count, (*ones, 1), (0,) * len(kernel), (*ones, 1), groups)
    margin = (kernel[-1] - 1) * dilation[-1]
    # A line that is longer than its shifted copies reach (an output padding) has them added like others.
    if stride[-1] == 1 and 2 * longer[-1] <= 3 * count[-1] and longer[-1] == count[-1] + margin:
        sides = ((0,) * len(ones)) + (margin,)
        count = (*count[:-1], longer[-1])
        geometry = (ones + kernel[-1:], count, (*ones, 1), sides, ones + dilation[-1:], groups)
        places, turned = (*kernel[:-1], 1), w[..., ::-1]
    weight = _by_place(turned, groups)
    out = _room((batch, channels, *size), g.dtype, place)
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
            for number, where in enumerate(targets):
                target = grouped[where]
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
    x: Any, g: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, out: Any = None
) -> Any:  # fmt: skip
    """The adjoint in the weight."""
    weights = g.shape[1] * (x.shape[1] // groups) * math.prod(kernel)
    if small_images.apply(len(x), g.shape[2:], weights, x.dtype):
        found = small_images.correlated(x, g, kernel, stride, padding, dilation, groups)
        return _placed(found, out)
    found = direct.correlated(x, g, kernel, stride, padding, dilation, groups)
    if found is None:
        found = _correlated_by_columns(x, g, kernel, stride, padding, dilation, groups)
    return _placed(found, out)


def _correlated_by_columns(
    x: Any, g: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """`columns @ g.T`, added up over images."""
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


for _function in (convolved, spread_back, correlated):
    setattr(_function, "takes_out", True)  # noqa: B010
