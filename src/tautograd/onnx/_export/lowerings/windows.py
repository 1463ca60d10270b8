"""Convolutions, and extracting windows from images."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, unsupported
from ..sizes import Size


@lower("convolution")
def _convolution(
    g: Any, s: Any, x: V, w: V, b: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    return g.op(
        "Conv",
        x,
        w,
        b,
        strides=list(stride),
        pads=[*padding, *padding],
        dilations=list(dilation),
        group=groups,
    )


@lower("transposed_convolution")
def _transposed(
    g: Any,
    s: Any,
    x: V,
    w: V,
    b: Any,
    size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    more = [
        n - ((m - 1) * st - 2 * p + d * (k - 1) + 1)
        for n, m, st, p, d, k in zip(
            size, x.shape[2:], stride, padding, dilation, w.shape[2:], strict=True
        )
    ]
    if any(isinstance(n, Size) for n in more):
        raise unsupported(s, "to a size that does not follow from the input's")
    if any(n >= st for n, st in zip(more, stride, strict=True)):
        # Runtimes refuse more padding than a stride: the surplus is cut off at the end, and what lies beyond
        # all elements is just the bias.
        ends = [max(p - n, 0) for p, n in zip(padding, more, strict=True)]
        beyond = [(0, max(n - p, 0)) for p, n in zip(padding, more, strict=True)]
        made = g.op(
            "ConvTranspose", x, w, strides=list(stride), pads=[*padding, *ends], dilations=list(dilation),
            group=groups,
        )  # fmt: skip
        made = padded(g, made, [(0, 0), (0, 0), *beyond], number(g, 0, x.dtype))
        if b is None:
            return made
        return g.op("Add", made, g.op("Unsqueeze", b, g.axes(range(1, len(stride) + 1))))
    return g.op(
        "ConvTranspose", x, w, b, strides=list(stride), pads=[*padding, *padding],
        dilations=list(dilation), group=groups, output_padding=more,
    )  # fmt: skip


@lower("conv_tbc")
def _conv_tbc(g: Any, s: Any, x: V, w: V, b: V, pad: int) -> Any:
    image = g.op("Transpose", x, perm=[1, 2, 0])
    kernel = g.op("Transpose", w, perm=[2, 1, 0])
    out = g.op("Conv", image, kernel, b, pads=[pad, pad])
    return g.op("Transpose", out, perm=[2, 0, 1])


@lower("im2col")
def _im2col(
    g: Any, s: Any, x: V, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    """A convolution with one filter per element of a window and channel, which picks that element."""
    batched = x.rank == 4
    given = x if batched else V.of(g.op("Unsqueeze", x, g.axes([0])), (1, *x.shape), x.dtype)
    channels, (kh, kw) = given.shape[1], kernel_size
    filters = np.eye(kh * kw).reshape(kh * kw, 1, kh, kw)
    weight = np.tile(filters, (channels, 1, 1, 1)).astype(x.dtype)
    out = g.op(
        "Conv", given, weight, strides=list(stride), pads=[*padding, *padding],
        dilations=list(dilation), group=channels,
    )  # fmt: skip
    flat = g.op("Reshape", out, np.array([0, 0, -1]))
    return flat if batched else g.op("Squeeze", flat, g.axes([0]))


@lower("col2im")
def _col2im(
    g: Any,
    s: Any,
    x: V,
    output_size: Any,
    kernel_size: Any,
    dilation: Any,
    padding: Any,
    stride: Any,
) -> Any:
    batched = x.rank == 3
    given = x if batched else g.op("Unsqueeze", x, g.axes([0]))
    out = g.op(
        "Col2Im", given, g.ints(output_size), g.ints(kernel_size), dilations=list(dilation),
        pads=[*padding, *padding], strides=list(stride),
    )  # fmt: skip
    return out if batched else g.op("Squeeze", out, g.axes([0]))


@lower("constant_pad_nd")
def _constant_pad(g: Any, s: Any, x: V, pad: Any, value: Any) -> Any:
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    blank = [(0, 0)] * (x.rank - len(pairs))
    whole = [*blank, *pairs]
    if x.dtype.kind == "b":
        return g.cast(padded(g, g.cast(x, np.int32), whole, number(g, value, np.int32)), np.bool_)
    return padded(g, x, whole, number(g, value, x.dtype))


def padded(g: Any, x: Any, pairs: Any, value: Any) -> Any:
    """Pad each dimension before and after; negative padding crops."""
    for axis, (before, after) in enumerate(pairs):
        low = 0 if isinstance(before, Size) else max(0, -before)
        high = 0 if isinstance(after, Size) else min(0, after)
        if low or high:
            end = np.array([high or np.iinfo(np.int64).max])
            x = g.op("Slice", x, np.array([low]), end, g.axes([axis]))
    room = [[n if isinstance(n, Size) else max(0, n) for n in each] for each in pairs]
    if not any(isinstance(n, Size) or n for each in room for n in each):
        return g.op("Identity", x)
    return g.op("Pad", x, g.ints([*(a for a, _ in room), *(b for _, b in room)]), value)
