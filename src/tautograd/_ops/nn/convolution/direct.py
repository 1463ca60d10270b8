"""Convolutions in one and two dimensions with steps of one, by kernels that read the image as it lies.

None comes back where that does not apply, or does not pay: other steps, three dimensions, a kernel of one place (which
is one product of matrices), padding that a gradient would have to be cut by, and wherever there are no kernels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...._arrays.kernels import Kernel, kernel, kernel_of
from ...._tensor.settings import get_num_threads
from .windows import Ints

_VECTOR = 16  # the most numbers that a vector has
_SLACK = 8 * _VECTOR  # what the last tile of positions may run over
_MOST_OUTPUTS = 8  # channels of a tile
_WORTH_IT = 1 << 12  # multiplications
_AT_ONCE = 1 << 17  # numbers of an image that stay in the cache while all output channels go by


class _Geometry(NamedTuple):
    """What the kernels are told; the fields' order is theirs (`_kernels/convolution.py`)."""

    batch: int
    units: int
    channels: int
    height: int
    width: int
    outputs: int
    kernel_height: int
    kernel_width: int
    out_height: int
    out_width: int
    offset: int
    step_down: int
    step_right: int
    groups: int
    padded: int
    pitch: int
    run: int
    room: int
    rows: int

    @property
    def work(self) -> int:
        inner = self.channels // self.groups * self.kernel_height * self.kernel_width
        return self.batch * self.outputs * inner * self.out_height * self.out_width


def _two(sizes: Ints, fill: int) -> tuple[int, int]:
    return (fill, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])


def _geometry(
    shape: Ints, outputs: int, kernel_size: Ints, count: Ints, padding: Ints, dilation: Ints, groups: int, rows: int
) -> _Geometry:  # fmt: skip
    """`rows` is for how many output channels a unit has room."""
    batch, channels, *size = shape
    height, width = _two(tuple(size), 1)
    above, left = _two(padding, 0)
    down, right = _two(dilation, 1)
    kernel_height, kernel_width = _two(kernel_size, 1)
    out_height, out_width = _two(count, 1)
    pitch = width + 2 * left
    padded = (height + 2 * above) * pitch
    run = -(-(out_height * pitch + _SLACK) // _VECTOR) * _VECTOR
    room = -(-(channels * padded + run - out_height * pitch + _SLACK) // _VECTOR) * _VECTOR
    units = min(batch, 2 * get_num_threads())
    return _Geometry(
        batch, units, channels, height, width, outputs, kernel_height, kernel_width, out_height,
        out_width, above * pitch + left, down * pitch, right, groups, padded, pitch, run,
        room + run * rows, max(1, _AT_ONCE // (channels // groups * pitch)),
    )  # fmt: skip


def is_there(kernel_size: Ints, stride: Ints, dtype: Any) -> bool:
    """Whether there are kernels for such a convolution."""
    return _is_direct(kernel_size, stride) and kernel_of("convolution", dtype) is not None


def _is_direct(kernel_size: Ints, stride: Ints) -> bool:
    return len(kernel_size) <= 2 and math.prod(kernel_size) > 1 and all(s == 1 for s in stride)


def _found(name: str, kernel_size: Ints, stride: Ints, count: Ints, *arrays: Any) -> Kernel | None:
    if not _is_direct(kernel_size, stride):
        return None
    if any(x.size == 0 for x in arrays) or math.prod(count) * arrays[1].size < _WORTH_IT:
        return None
    return kernel(name, *arrays)


def _in_rows(*arrays: Any) -> list[Any]:
    """In row-major order, as the kernels read them: a copy takes a small part of what columns would."""
    return [np.ascontiguousarray(x) for x in arrays]


def convolved(
    x: Any, w: Any, b: Any, count: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, out: Any = None
) -> Any:  # fmt: skip
    """The forward, in `out` if that lies in rows; None if it must be computed otherwise."""
    kernel_size = w.shape[2:]
    bias = np.zeros(w.shape[0], x.dtype) if b is None else b
    x, w, bias = _in_rows(x, w, bias)
    run = _found("convolution", kernel_size, stride, count, x, w, bias)
    if run is None:
        return None
    g = _geometry(x.shape, w.shape[0], kernel_size, count, padding, dilation, groups, _MOST_OUTPUTS)
    if out is None or not out.flags.c_contiguous:
        out = np.empty((x.shape[0], w.shape[0], *count), x.dtype)
    scratch = np.zeros((g.units, g.room), x.dtype)
    run(g.units, g.work, x, w, bias, out, scratch, *g)
    return out


def spread_back(
    g: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, out: Any = None
) -> Any:  # fmt: skip
    """The adjoint in the input: a convolution with the kernel turned round; None if it is none."""
    kernel_size = w.shape[2:]
    sides = tuple([d * (k - 1) - p for k, d, p in zip(kernel_size, dilation, padding, strict=True)])
    if min(sides) < 0 or len(kernel_size) > 2 or math.prod(kernel_size) == 1:
        return None
    grouped = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    backward = (..., *[slice(None, None, -1)] * len(kernel_size))
    turned = np.ascontiguousarray(grouped.swapaxes(1, 2)[backward])
    turned = turned.reshape(w.shape[1] * groups, w.shape[0] // groups, *kernel_size)
    return convolved(g, turned, None, size, stride, sides, dilation, groups, out)


def correlated(
    x: Any, g: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The adjoint in the weight; None if it must be computed otherwise."""
    x, g = _in_rows(x, g)
    run = _found("convolution_weight", kernel_size, stride, g.shape[2:], x, g)
    if run is None:
        return None
    outputs = g.shape[1]
    n = _geometry(x.shape, outputs, kernel_size, g.shape[2:], padding, dilation, groups, outputs)
    totals = np.zeros((n.units, outputs, x.shape[1] // groups, *kernel_size), x.dtype)
    scratch = np.zeros((n.units, n.room), x.dtype)
    run(n.units, n.work, x, g, totals, scratch, *n)
    found = np.add.reduce(totals, axis=0)
    # Between rows the gradient is 0, but 0 times what the image has there is no 0 if that is infinite or NaN.
    return found if np.isfinite(found).all() else None
