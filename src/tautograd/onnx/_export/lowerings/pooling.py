"""Pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, unsupported
from ..sizes import Size, is_fixed, product
from .windows import padded


def _pads(window: Any) -> tuple[list[int], int]:
    """Padding before and after, and whether the number of windows is rounded up."""
    if not window.ceil:
        return [*window.low, *window.low], 0
    if is_fixed(window.high):
        return [*window.low, *window.high], 0
    return [*window.low, *window.low], 1


def _batched(g: Any, x: V, rank: int) -> tuple[Any, bool]:
    if x.rank == rank + 2:
        return x, True
    return V.of(g.op("Unsqueeze", x, g.axes([0])), (1, *x.shape), x.dtype), False


def _unbatched(g: Any, x: Any, batched: bool) -> Any:
    return x if batched or x is None else g.op("Squeeze", x, g.axes([0]))


@lower("max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(g: Any, s: Any, x: V, window: Any) -> Any:
    rank = len(window.kernel)
    given, batched = _batched(g, x, rank)
    pads, ceil = _pads(window)
    if is_fixed(pads) and any(
        p >= k for p, k in zip(pads, (*window.kernel, *window.kernel), strict=True)
    ):
        if len(s.outputs) > 1 and 1 in s.used:
            raise unsupported(s, "with indices and padding of a whole window")
        low, high = pads[:rank], pads[rank:]
        least = number(g, -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min, x.dtype)
        given = padded(g, given, [(0, 0), (0, 0), *zip(low, high, strict=True)], least)
        pads = [0] * len(pads)
    both = len(s.outputs) > 1 and 1 in s.used
    made = g.op(
        "MaxPool", given, kernel_shape=list(window.kernel), strides=list(window.stride), pads=pads,
        dilations=list(window.dilation), ceil_mode=ceil, outputs=2 if both else 1,
    )  # fmt: skip
    if not both:
        return (_unbatched(g, made, batched), None)[: len(s.outputs)]
    plane = product(x.shape[-rank:])  # ONNX numbers positions across images, PyTorch within one
    places = g.op("Mod", made[1], g.length(plane))
    return _unbatched(g, made[0], batched), _unbatched(g, places, batched)


@lower("avg_pool2d", "avg_pool3d")
def _avg_pool(g: Any, s: Any, x: V, window: Any, count_include_pad: bool, divisor: Any) -> Any:
    rank = len(window.kernel)
    given, batched = _batched(g, x, rank)
    size = {"kernel_shape": list(window.kernel), "strides": list(window.stride)}
    pads, ceil = _pads(window)
    if divisor is not None:
        made = g.op("AveragePool", given, **size, pads=pads, ceil_mode=ceil, count_include_pad=1)
        area = int(np.prod(window.kernel))
        return _unbatched(g, g.op("Mul", made, number(g, area / divisor, x.dtype)), batched)
    if count_include_pad and window.ceil and any(window.low):
        # What overhangs beyond the padding does not count, the padding does.
        low = list(window.low)
        room = g.ints([0, 0, *low, 0, 0, *low])
        given = g.op("Pad", given, room, number(g, 0, x.dtype))
        if not is_fixed(window.high):
            raise unsupported(s, "with padding and ceil_mode over a dimension that is dynamic")
        over = [max(0, h - p) for h, p in zip(window.high, low, strict=True)]
        cut = [min(0, h - p) for h, p in zip(window.high, low, strict=True)]
        if any(cut):
            given = padded(
                g, given, [(0, 0), (0, 0), *((0, c) for c in cut)], number(g, 0, x.dtype)
            )
        made = g.op("AveragePool", given, **size, pads=[*[0] * rank, *over], count_include_pad=0)
        return _unbatched(g, made, batched)
    include = int(bool(count_include_pad) and not window.ceil)
    made = g.op("AveragePool", given, **size, pads=pads, ceil_mode=ceil, count_include_pad=include)
    return _unbatched(g, made, batched)


@lower("adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive(g: Any, s: Any, x: V, size: Any, count: Any) -> Any:
    average = "avg" in s.name
    rank = len(count)
    first = x.rank - rank
    if not average and 1 in s.used:
        return _adaptive_with_places(g, s, x, size, count)
    out: Any = x
    for i, (n, c) in enumerate(zip(size, count, strict=True)):
        out = _along(g, s, out, n, c, first + i, average, x)
    found = out if out is not x else g.op("Identity", x)
    return found if average else (found, None)


def _along(g: Any, s: Any, x: Any, n: Any, c: Any, axis: int, average: bool, given: V) -> Any:
    """Pool one dimension: averages of averages are averages, as windows are products of intervals."""
    kind = "ReduceMean" if average else "ReduceMax"
    if c == n:
        return x
    if c == 1:
        return g.op(kind, x, g.axes([axis]), keepdims=1)
    if isinstance(n, Size) or isinstance(c, Size):
        raise unsupported(
            s,
            f"to {c} elements of a dimension that is dynamic: which windows there are follows from its size",
        )
    bounds = [(i * n // c, -(-(i + 1) * n // c)) for i in range(c)]
    if average:
        matrix = np.zeros((n, c))
        for i, (a, b) in enumerate(bounds):
            matrix[a:b, i] = 1 / (b - a)
        return times_matrix(g, x, matrix.astype(given.dtype), axis, given.rank)
    parts = []
    for a, b in bounds:
        cut = g.op("Slice", x, np.array([a]), np.array([b]), g.axes([axis]))
        parts.append(g.op(kind, cut, g.axes([axis]), keepdims=1))
    return g.op("Concat", *parts, axis=axis)


def times_matrix(g: Any, x: Any, matrix: Any, axis: int, rank: int) -> Any:
    """Multiply a dimension by a matrix."""
    if axis == rank - 1:
        return g.op("MatMul", x, matrix)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return g.op("Transpose", g.op("MatMul", g.op("Transpose", x, perm=order), matrix), perm=order)


def _adaptive_with_places(g: Any, s: Any, x: V, size: Any, count: Any) -> Any:
    if not is_fixed((*size, *count)) or any(n % c for n, c in zip(size, count, strict=True)):
        raise unsupported(s, "with indices, unless the output's size divides the input's")
    kernel = [n // c for n, c in zip(size, count, strict=True)]
    given, batched = _batched(g, x, len(count))
    values, places = g.op("MaxPool", given, kernel_shape=kernel, strides=kernel, outputs=2)
    places = g.op("Mod", places, g.length(product(size)))
    return _unbatched(g, values, batched), _unbatched(g, places, batched)
