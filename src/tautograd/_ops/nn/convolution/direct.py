"""Convolutions in one and two dimensions, by kernels that read the image as it lies.

None comes back where that does not apply, or does not pay: three dimensions, windows that do not overlap (those of one
place are one product of matrices), and wherever there are no kernels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...._arrays.kernels import Kernel, kernel, kernel_of
from ...._tensor.settings import get_num_threads
from .windows import Ints

Pair = tuple[int, int]

_VECTOR = 16  # the most numbers that a vector has
_SLACK = 8 * _VECTOR  # what the last tile of positions may run over
_MOST_OUTPUTS = 8  # channels of a tile
_WORTH_IT = 1 << 12  # multiplications
_AT_ONCE = 1 << 17  # numbers of an image that stay in the cache while all output channels go by
_MOST_PHASES = 64


class _Geometry(NamedTuple):
    """What the kernels are told; the fields' order is theirs (`_kernels/convolution.py`)."""

    batch: int
    units: int
    channels: int
    height: int
    width: int
    outputs: int
    places: int
    out_height: int
    out_width: int
    phases: int
    out_down: int
    out_right: int
    groups: int
    top: int
    left: int
    step_down: int
    step_right: int
    padded: int
    plane: int
    pitch: int
    run: int
    room: int
    rows: int


def _two(sizes: Ints, fill: int) -> Pair:
    return (fill, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])


class _Axis(NamedTuple):
    """A convolution along one dimension."""

    size: int
    kernel: int
    stride: int
    padding: int
    dilation: int
    outputs: int

    @property
    def longer(self) -> int:
        """The image with its padding."""
        return self.size + 2 * self.padding


class _Phase(NamedTuple):
    """Every so many elements of an input's gradient: where the first is, how many, and which places reach them."""

    start: int
    length: int
    places: tuple[int, ...]
    shifts: tuple[
        int, ...
    ]  # how far before an element the gradient lies that reaches it by a place


def _phases(axis: _Axis) -> tuple[list[_Phase], int, int]:
    """The phases of an input's gradient; how many zeros come before the output's, and its length with all zeros."""
    found, low, longer = [], 0, axis.outputs
    for phase in range(axis.stride):
        first = max(0, -((phase - axis.padding) // axis.stride))
        length = max(0, (axis.size - 1 + axis.padding - phase) // axis.stride - first + 1)
        reached = [k * axis.dilation - phase for k in range(axis.kernel)]
        places = [k for k, far in enumerate(reached) if far % axis.stride == 0]
        shifts = [reached[k] // axis.stride - first for k in places]
        if shifts and length:
            low = max(low, *shifts)
        start = first * axis.stride + phase - axis.padding
        found.append(_Phase(start, length, tuple(places), tuple(shifts)))
    for phase_ in found:
        if phase_.shifts:
            longer = max(longer, phase_.length - min(phase_.shifts))
    return found, low, low + longer


class _Tables(NamedTuple):
    """What the kernels look up: offsets of places, and phases of outputs; and with them the planes of an image."""

    offsets: Any
    phases: Any
    places: tuple[tuple[Ints, Ints], ...]  # of each phase
    before: Pair  # zeros above and left of the image
    steps: Pair  # that make its phases
    longer: Pair  # than the image: a plane's rows and columns
    most_rows: int  # of outputs
    apart: Pair  # how far elements of one phase of the outputs are from each other


@functools.lru_cache(maxsize=256)
def _forward_tables(down: _Axis, right: _Axis) -> _Tables:
    """One phase of outputs, that reads all phases of the image."""
    rows, pitch = (-(-axis.longer // axis.stride) for axis in (down, right))
    offsets = []
    for y in range(0, down.kernel * down.dilation, down.dilation):
        for x in range(0, right.kernel * right.dilation, right.dilation):
            plane = y % down.stride * right.stride + x % right.stride
            here = y // down.stride * pitch + x // right.stride
            offsets.append(plane * rows * pitch + here)
    phases = [(len(offsets), 0, 0, down.outputs, right.outputs, 0)]
    every = tuple(range(down.kernel)), tuple(range(right.kernel))
    before, steps = (down.padding, right.padding), (down.stride, right.stride)
    return _Tables(
        _table(offsets), _table(phases), (every,),
        before, steps, (rows, pitch), down.outputs, (1, 1),
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _backward_tables(down: _Axis, right: _Axis, channels: int) -> _Tables:
    """The phases of an input's gradient, each by its own places; `channels` are how many each weight reaches.

    The image here is the output's gradient.
    """
    (rows, above, height), (columns, left, pitch) = _phases(down), _phases(right)
    offsets: list[int] = []
    phases, places, weights = [], [], 0
    for row in rows:
        for column in columns:
            if not row.length or not column.length:
                continue
            count = len(row.places) * len(column.places)
            start = row.start * right.size + column.start
            phases.append((count, len(offsets), weights, row.length, column.length, start))
            places.append((row.places, column.places))
            weights += channels * count
            for y in row.shifts:
                offsets += [(above - y) * pitch + left - x for x in column.shifts]
    most = max([row.length for row in rows])
    apart = down.stride, right.stride
    return _Tables(
        _table(offsets), _table(phases), tuple(places),
        (above, left), (1, 1), (height, pitch), most, apart,
    )  # fmt: skip


def _table(numbers: Any) -> Any:
    found = np.array(numbers, np.int64)
    found.flags.writeable = False
    return found


def _geometry(
    shape: Ints, outputs: int, out_size: Ints, tables: _Tables, places: int, groups: int, rows: int
) -> _Geometry:
    """`rows` is for how many output channels a unit has room."""
    batch, channels, *size = shape
    height, width = _two(tuple(size), 1)
    out_height, out_width = _two(out_size, 1)
    down, right = tables.steps
    long, pitch = tables.longer
    plane = long * pitch
    padded = plane * down * right
    positions = tables.most_rows * pitch
    run = -(-(positions + _SLACK) // _VECTOR) * _VECTOR
    room = -(-(channels * padded + pitch + run - positions + _SLACK) // _VECTOR) * _VECTOR
    units = min(batch, 2 * get_num_threads())
    at_once = max(1, _AT_ONCE // (channels // groups * pitch * down * right))
    return _Geometry(
        *(batch, units, channels, height, width, outputs, places, out_height, out_width),
        *(len(tables.phases), *tables.apart, groups, *tables.before, *tables.steps),
        *(padded, plane, pitch, run, room + run * rows, at_once),
    )


def is_there(kernel_size: Ints, stride: Ints, dtype: Any) -> bool:
    """Whether there are kernels for such a convolution."""
    return _is_direct(kernel_size, stride) and kernel_of("convolution", dtype) is not None


def _is_direct(kernel_size: Ints, stride: Ints) -> bool:
    """Windows that do not overlap are as small in columns as in the image."""
    overlap = any(s < k for s, k in zip(stride, kernel_size, strict=True))
    return len(kernel_size) <= 2 and overlap and math.prod(stride) <= _MOST_PHASES


def _found(name: str, kernel_size: Ints, stride: Ints, count: Ints, *arrays: Any) -> Kernel | None:
    if not _is_direct(kernel_size, stride):
        return None
    if any(x.size == 0 for x in arrays) or math.prod(count) * arrays[1].size < _WORTH_IT:
        return None
    return kernel(name, *arrays)


def _axes(
    size: Ints, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, count: Ints
) -> Iterator[_Axis]:
    pairs = ((size, 1), (kernel_size, 1), (stride, 1), (padding, 0), (dilation, 1), (count, 1))
    for of_axis in zip(*[_two(tuple(sizes), fill) for sizes, fill in pairs], strict=True):
        yield _Axis(*of_axis)


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
    tables = _forward_tables(*_axes(x.shape[2:], kernel_size, stride, padding, dilation, count))
    return _run(run, tables, x, w, w.size // w.shape[0], bias, count, groups, out)


def _run(
    run: Kernel, tables: _Tables, x: Any, w: Any, each: int, bias: Any, size: Ints, groups: int, out: Any
) -> Any:  # fmt: skip
    """`each` are the weights of an output channel."""
    outputs = len(bias)
    inner = x.shape[1] // groups
    n = _geometry(x.shape, outputs, size, tables, each // inner, groups, _MOST_OUTPUTS)
    shape = (x.shape[0], outputs, *size)
    if out is None or not out.flags.c_contiguous:
        out = np.empty(shape, x.dtype)
    scratch = np.zeros((n.units, n.room), x.dtype)
    apart = math.prod(tables.apart)
    work = math.prod(shape) // apart * each
    run(n.units, work, x, w, bias, out, scratch, tables.offsets, tables.phases, *n)
    return out


def spread_back(
    g: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, out: Any = None
) -> Any:  # fmt: skip
    """The adjoint in the input: for each phase of it a convolution with its places; None if it is none."""
    kernel_size, channels = w.shape[2:], w.shape[1] * groups
    bias = np.zeros(channels, g.dtype)
    g, w, bias = _in_rows(g, w, bias)
    run = _found("convolution", kernel_size, stride, g.shape[2:], g, w, bias)
    if run is None:
        return None
    axes = _axes(size, kernel_size, stride, padding, dilation, g.shape[2:])
    outer = w.shape[0] // groups
    tables = _backward_tables(*axes, channels * outer)
    grouped = w.reshape(groups, outer, w.shape[1], *_two(kernel_size, 1)).swapaxes(1, 2)
    parts = [grouped[..., list(y), :][..., list(x)] for y, x in tables.places]
    weight = np.concatenate([np.ascontiguousarray(part).reshape(-1) for part in parts])
    return _run(run, tables, g, weight, w.size // w.shape[1] // groups, bias, size, groups, out)


def correlated(
    x: Any, g: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The adjoint in the weight; None if it must be computed otherwise."""
    x, g = _in_rows(x, g)
    run = _found("convolution_weight", kernel_size, stride, g.shape[2:], x, g)
    if run is None:
        return None
    outputs, count = g.shape[1], g.shape[2:]
    tables = _forward_tables(*_axes(x.shape[2:], kernel_size, stride, padding, dilation, count))
    places = math.prod(kernel_size)
    n = _geometry(x.shape, outputs, count, tables, places, groups, outputs)
    totals = np.zeros((n.units, outputs, x.shape[1] // groups, *kernel_size), x.dtype)
    scratch = np.zeros((n.units, n.room), x.dtype)
    work = g.size * totals[0, 0].size
    run(n.units, work, x, g, totals, scratch, tables.offsets, *n)
    found = np.add.reduce(totals, axis=0)
    # Between rows the gradient is 0, but 0 times what the image has there is no 0 if that is infinite or NaN.
    return found if np.isfinite(found).all() else None
