"""Shapes: views, concatenation, slices, copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, unsupported
from ..sizes import Size


@lower("view", "unsafe_view", "squeeze", "squeeze_dim", "squeeze_dims")
def _view(g: Any, s: Any, x: V, **_: Any) -> Any:
    return g.reshape(x, s.out.shape)


@lower("unsqueeze")
def _unsqueeze(g: Any, s: Any, x: V, dim: int) -> Any:
    return g.op("Unsqueeze", x, g.axes([dim % (x.rank + 1)]))


@lower("transpose")
def _transpose(g: Any, s: Any, x: V, dim0: int, dim1: int) -> Any:
    order = list(range(x.rank))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return g.op("Transpose", x, perm=order) if order else g.op("Identity", x)


@lower("t")
def _t(g: Any, s: Any, x: V) -> Any:
    return g.op("Transpose", x, perm=[1, 0]) if x.rank == 2 else g.op("Identity", x)


@lower("permute")
def _permute(g: Any, s: Any, x: V, dims: Any) -> Any:
    if not x.rank:
        return g.op("Identity", x)
    return g.op("Transpose", x, perm=[int(d) % x.rank for d in dims])


@lower("expand")
def _expand(g: Any, s: Any, x: V, size: Any) -> Any:
    if x.shape == s.out.shape:
        return g.op("Identity", x)
    return g.expand(x, s.out.shape)


@lower("cat")
def _cat(g: Any, s: Any, tensors: Any, dim: int) -> Any:
    kept = [x for x in tensors if x.shape != (0,) or s.out.rank == 1]
    kept = [x if x.dtype == s.out.dtype else g.cast(x, s.out.dtype) for x in kept]
    return g.op("Concat", *kept, axis=dim)


@lower("stack")
def _stack(g: Any, s: Any, tensors: Any, dim: int) -> Any:
    dim %= s.out.rank
    parts = [
        x if x.dtype == s.out.dtype else V.of(g.cast(x, s.out.dtype), x.shape, s.out.dtype)
        for x in tensors
    ]
    return g.op("Concat", *(g.op("Unsqueeze", x, g.axes([dim])) for x in parts), axis=dim)


@lower("split", "split_with_sizes")
def _split(g: Any, s: Any, x: V, dim: int, **_: Any) -> Any:
    if len(s.outputs) == 1:
        return (g.op("Identity", x),)
    sizes = g.ints(out.shape[dim] for out in s.outputs)
    return tuple(g.op("Split", x, sizes, axis=dim % x.rank, outputs=len(s.outputs)))


@lower("unbind")
def _unbind(g: Any, s: Any, x: V, dim: int) -> Any:
    return tuple(
        g.op("Gather", x, np.array(i), axis=dim % x.rank) if i in s.used else None
        for i in range(len(s.outputs))
    )


@lower("slice", "narrow_copy")
def _slice(g: Any, s: Any, x: V, dim: int, start: Any, end: Any, step: Any = 1) -> Any:
    n = x.shape[dim]
    if step == 1 and start == 0 and end == n:
        return g.op("Identity", x)
    last = g.constant(np.array([np.iinfo(np.int64).max])) if end == n else g.ints([end])
    return g.op("Slice", x, g.ints([start]), last, g.axes([dim]), g.ints([step]))


@lower("select")
def _select(g: Any, s: Any, x: V, dim: int, index: Any) -> Any:
    if isinstance(index, Size):
        back = index - x.shape[dim]  # counted from the end, if that is constant
        place = g.scalar(index) if isinstance(back, Size) else np.array(back)
    else:
        place = np.array(int(index))
    return g.op("Gather", x, place, axis=dim % x.rank)


@lower("flip")
def _flip(g: Any, s: Any, x: V, dims: Any) -> Any:
    dims = [int(d) % x.rank for d in dims] if x.rank else []
    if not dims:
        return g.op("Identity", x)
    low = np.iinfo(np.int64).min + 1
    one = np.full(len(dims), -1)
    return g.op("Slice", x, one, np.full(len(dims), low), g.axes(dims), one)


@lower("roll")
def _roll(g: Any, s: Any, x: V, shifts: Any, dims: Any) -> Any:
    shifts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    out: Any = x
    if not len(dims) and len(shifts):
        flat = g.op("Reshape", x, np.array([-1]))
        return g.reshape(_rolled(g, flat, shifts[0], 0), x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        if x.shape[dim] != 0:
            out = _rolled(
                g,
                out,
                shift if isinstance(shift, Size) else _wrapped(shift, x.shape[dim]),
                dim % x.rank,
            )
    return out if out is not x else g.op("Identity", x)


def _wrapped(shift: int, n: Any) -> Any:
    return shift if isinstance(n, Size) else shift % n


def _rolled(g: Any, x: Any, shift: Any, dim: int) -> Any:
    if shift == 0:
        return g.op("Identity", x)
    far = g.constant(np.array([np.iinfo(np.int64).max]))
    cut = g.ints([-shift])
    head = g.op("Slice", x, cut, far, g.axes([dim]))
    tail = g.op("Slice", x, g.constant(np.array([0])), cut, g.axes([dim]))
    return g.op("Concat", head, tail, axis=dim)


@lower("rot90")
def _rot90(g: Any, s: Any, x: V, k: int, dims: Any) -> Any:
    a, b = (int(d) % x.rank for d in dims)
    turned = k % 4
    order = list(range(x.rank))
    order[a], order[b] = order[b], order[a]
    out = g.op("Transpose", x, perm=order) if turned % 2 else x
    flipped = {0: [], 1: [a], 2: [a, b], 3: [b]}[turned]
    if not flipped:
        return g.op("Identity", out)
    back, low = np.full(len(flipped), -1), np.full(len(flipped), np.iinfo(np.int64).min + 1)
    return g.op("Slice", out, back, low, g.axes(flipped), back)


@lower("block_diag")
def _block_diag(g: Any, s: Any, tensors: Any) -> Any:
    blocks = []
    before: Any = 0
    for x in tensors:
        wide = x if x.rank == 2 else g.reshape(x, (1, x.shape[0] if x.rank else 1), given=())
        width = x.shape[-1] if x.rank else 1
        room = g.ints([0, before, 0, s.out.shape[1] - before - width])
        wide = wide if x.dtype == s.out.dtype else g.cast(wide, s.out.dtype)
        blocks.append(g.op("Pad", wide, room, number(g, 0, s.out.dtype)))
        before = before + width
    return g.op("Concat", *blocks, axis=0)


@lower("repeat")
def _repeat(g: Any, s: Any, x: V, repeats: Any) -> Any:
    more = len(repeats) - x.rank
    wide = g.reshape(x, (*(1,) * more, *x.shape), given=None) if more else x
    if not len(repeats):
        return g.op("Identity", x)
    return g.op("Tile", wide, g.ints(repeats))


@lower("unfold")
def _unfold(g: Any, s: Any, x: V, dimension: int, size: Any, step: Any) -> Any:
    if not x.rank:
        return g.reshape(x, s.out.shape)
    dim = dimension % x.rank
    end = g.op("Add", g.op("Squeeze", g.length(x.shape[dim]), np.array([0])), g.scalar(1 - size))
    starts = g.op("Range", np.array(0), end, np.array(step))
    index = g.op("Add", g.op("Unsqueeze", starts, g.axes([1])), np.arange(size))
    picked = g.op("Gather", x, index, axis=dim)  # (…, count, size, …)
    order = [i for i in range(x.rank + 1) if i != dim + 1]
    return g.op("Transpose", picked, perm=[*order, dim + 1])


@lower("tril", "triu")
def _tril(g: Any, s: Any, x: V, diagonal: Any) -> Any:
    offset = g.scalar(diagonal) if isinstance(diagonal, Size) else np.array(int(diagonal))
    if x.dtype.kind == "b":
        return g.cast(
            g.op("Trilu", g.cast(x, np.int64), offset, upper=int(s.name == "triu")), np.bool_
        )
    return g.op("Trilu", x, offset, upper=int(s.name == "triu"))


@lower("pixel_shuffle")
def _pixel_shuffle(g: Any, s: Any, x: V, upscale_factor: int) -> Any:
    if x.rank != 4:
        flat = (
            g.reshape(x, (-1, *x.shape[-3:]), given=())
            if x.rank > 4
            else g.op("Unsqueeze", x, g.axes([0]))
        )
        return g.reshape(
            g.op("DepthToSpace", flat, blocksize=upscale_factor, mode="CRD"), s.out.shape
        )
    return g.op("DepthToSpace", x, blocksize=upscale_factor, mode="CRD")


@lower("pixel_unshuffle")
def _pixel_unshuffle(g: Any, s: Any, x: V, downscale_factor: int) -> Any:
    r = downscale_factor
    *lead, c, h, w = x.shape
    n = len(lead)
    parts = g.reshape(x, (*lead, c, h // r, r, w // r, r))
    moved = g.op("Transpose", parts, perm=[*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return g.reshape(moved, s.out.shape, given=(*lead, c, r, r, h // r, w // r))


@lower("channel_shuffle")
def _channel_shuffle(g: Any, s: Any, x: V, groups: int) -> Any:
    n, c, *rest = x.shape
    parts = g.reshape(x, (n, groups, c // groups, *rest))
    moved = g.op("Transpose", parts, perm=[0, 2, 1, *range(3, 3 + len(rest))])
    return g.reshape(moved, x.shape, given=(n, c // groups, groups, *rest))


@lower("diagonal", "diagonal_copy")
def _diagonal(g: Any, s: Any, x: V, offset: int, dim1: int, dim2: int) -> Any:
    a, b = dim1 % x.rank, dim2 % x.rank
    order = [*(d for d in range(x.rank) if d not in (a, b)), a, b]
    moved = g.op("Transpose", x, perm=order)
    rows, columns = x.shape[a], x.shape[b]
    flat = g.reshape(moved, (*(x.shape[d] for d in order[:-2]), rows * columns), given=None)
    index = diagonal_places(g, s.out.shape[-1], columns, offset)
    return g.op("Gather", flat, index, axis=x.rank - 2)


def diagonal_places(g: Any, count: Any, columns: Any, offset: int) -> Any:
    """The positions of a diagonal's elements in a row-major matrix."""
    start = offset if offset >= 0 else -offset * columns
    places = g.op("Range", np.array(0), g.scalar(count), np.array(1))
    return g.op("Add", g.op("Mul", places, g.scalar(columns + 1)), g.scalar(start))


@lower("diag_embed")
def _diag_embed(g: Any, s: Any, x: V, offset: int, dim1: int, dim2: int) -> Any:
    rank = s.out.rank
    a, b = dim1 % rank, dim2 % rank
    n = s.out.shape[a]
    blank = g.expand(number(g, 0, np.int64), (n, n))
    eye = g.cast(g.op("EyeLike", blank, k=offset), np.bool_)
    side = abs(offset)
    pad = [0] * (x.rank - 1)
    before = side if offset < 0 else 0
    wide = g.op("Pad", x, np.array([*pad, before, *pad, side - before]), number(g, 0, x.dtype))
    column = g.op("Unsqueeze", wide, g.axes([x.rank]))
    spread = g.op("Where", eye, column, number(g, 0, x.dtype))
    if offset > 0:  # row i holds element i: no padding before
        wide = g.op("Pad", x, np.array([*pad, 0, *pad, side]), number(g, 0, x.dtype))
        spread = g.op(
            "Where", eye, g.op("Unsqueeze", wide, g.axes([x.rank])), number(g, 0, x.dtype)
        )
    others = [d for d in range(rank) if d not in (a, b)]
    order = [0] * rank
    for place, d in enumerate([*others, a, b]):
        order[d] = place
    return g.op("Transpose", spread, perm=order)


@lower("trace")
def _trace(g: Any, s: Any, x: V) -> Any:
    blank = g.expand(number(g, 0, x.dtype), x.shape)
    return g.cast(
        g.op("ReduceSum", g.op("Mul", x, g.op("EyeLike", blank)), keepdims=0), s.out.dtype
    )


@lower("as_strided")
def _as_strided(g: Any, s: Any, x: V, **_: Any) -> Any:
    raise unsupported(s, "(memory in another order)")
