"""Means of sliding windows: sums, place by place, over a divisor that may differ at the edges."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...._arrays.result_layout import as_channels, in_c_order
from ...declare.record import LINEAR, Op
from ...declare.samples import Sample, T
from ...declare.undefined_dtypes import Refusals, no_kernel
from ..convolution.windows import at, inside, offsets, padded
from ..line_maps import constant
from .windows import Window


@functools.lru_cache(maxsize=64)
def _divisors(window: Window, count_include_pad: bool) -> Any:
    """How many elements each window counts: a number, or an array where they differ."""
    total = np.ones((), np.int64)
    for size, kernel, stride, low, count in zip(
        window.size, window.kernel, window.stride, window.low, window.count, strict=True
    ):
        begin = np.arange(count) * stride - low
        end = np.minimum(begin + kernel, size + low)
        if not count_include_pad:
            begin, end = np.maximum(begin, 0), np.minimum(end, size)
        total = np.multiply.outer(total, end - begin)
    first = total.reshape(-1)[0]
    return int(first) if np.all(total == first) else total


def _over(x: Any, window: Window, count_include_pad: bool, divisor: int | None) -> Any:
    """Divided by what windows count."""
    found: Any = divisor or _divisors(window, count_include_pad)
    if not isinstance(found, int):
        found = constant(found.astype(x.dtype), x)
    if x.dtype.kind in "iu":  # integer division rounds towards zero
        return np.astype(np.trunc(x / found), x.dtype)
    return x / found


def _means(x: Any, window: Window, count_include_pad: bool, divisor: int | None) -> Any:
    whole = padded(x, window.low, window.high)
    total = None
    for offset in offsets(window.kernel):
        place = whole[at(offset, window.count, window.stride, window.dilation)]
        total = np.copy(place, order="C") if total is None else np.add(total, place, out=total)
    return _over(total, window, count_include_pad, divisor)


def _spread(x: Any, window: Window, count_include_pad: bool, divisor: int | None) -> Any:
    """Every element of a window gets its share."""
    share = _over(x, window, count_include_pad, divisor)
    lead = tuple(x.shape)[: x.ndim - len(window.size)]
    whole = np.zeros_like(share, shape=(*lead, *window.padded_size), order="C")
    for offset in offsets(window.kernel):
        whole[at(offset, window.count, window.stride, window.dilation)] += share
    if window.padded_size == window.size:
        return whole
    return np.copy(whole[inside(window.low, window.size)], order="C")


average_spread_op: Op = Op(
    "average_spread",
    _spread,
    ("x",),
    vjp={
        "x": lambda g, window, count_include_pad, divisor: AVERAGE_POOLS[2](
            g, window=window, count_include_pad=count_include_pad, divisor=divisor
        )
    },
    jvp=LINEAR,
)


def _samples(rank: int) -> Any:
    shape = (2, 2, 5, 6, 4)[: 2 + rank]

    def made() -> list[Sample]:
        def more(name: str, value: Any) -> dict[str, Any]:
            return {name: value}

        return [
            Sample(T(*shape), 2),
            Sample(T(*shape[1:]), (3, 2, 2)[:rank], (1, 2, 1)[:rank], (1, 1, 0)[:rank]),
            Sample(T(*shape), 3, 2, 1, True, False),
            Sample(T(*shape), 2, 3, 1, True, True),
            Sample(T(*shape), 2, **more("divisor_override", 3)),
            Sample(T(0, *shape[1:]), 2),
        ]

    return made


def _refused(rank: int) -> Refusals:
    kernel = "avg_pool2d" if rank == 2 else "avg_pool3d_out_frame"
    found = no_kernel(kernel, "bic" if rank == 2 else "bich")
    del found[np.dtype(np.int64)]
    return found


def _record(rank: int) -> Op:
    return Op(
        f"avg_pool{rank}d",
        _means,
        ("x",),
        layout=as_channels if rank == 2 else in_c_order,
        node=f"AvgPool{rank}DBackward0",
        vjp={
            "x": lambda g, window, count_include_pad, divisor: average_spread_op(
                g, window=window, count_include_pad=count_include_pad, divisor=divisor
            )
        },
        jvp=LINEAR,
        public=f"nn.functional.avg_pool{rank}d",
        refuses=_refused(rank),
        samples=_samples(rank),
    )


AVERAGE_POOLS: dict[int, Op] = {rank: _record(rank) for rank in (2, 3)}
