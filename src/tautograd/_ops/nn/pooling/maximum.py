"""Maxima of sliding windows: which place of a window wins, and gradients that go to it.

A window's winner is its first largest element, or its last NaN if it has one. The forward only
takes maxima; winners are found when a gradient or the indices are asked for. Windows are walked
place by place, each place of all windows at once.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...._arrays import kernels
from ...._arrays.blend import masked
from ...._arrays.result_layout import as_channels, each
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...declare.undefined_dtypes import no_kernel
from ..convolution.windows import at, inside, offsets, padded
from ..line_maps import constant
from .pool_kernels import kernels_apply, numbers_of, pooled, spread_back
from .windows import Window


def _lowest(dtype: Any) -> Any:
    """What loses against everything."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _places(x: Any, window: Window) -> list[Any]:
    """Every place of a window, for all windows at once."""
    whole = padded(x, window.low, window.high, _lowest(x.dtype))
    return [
        whole[at(o, window.count, window.stride, window.dilation)] for o in offsets(window.kernel)
    ]


def _maxima(x: Any, window: Window) -> Any:
    first, *others = _places(x, window)
    if not others:
        return np.copy(first, order="C")
    best = np.maximum(first, others[0])
    for place in others[1:]:
        best = np.maximum(best, place, out=best)
    return best


@functools.lru_cache(maxsize=64)
def _first_inside(window: Window) -> Any:
    """The first place of every window that is not padding."""
    firsts = []
    for low, count, stride, dilation in zip(
        window.low, window.count, window.stride, window.dilation, strict=True
    ):
        before = np.maximum(low - np.arange(count) * stride, 0)
        firsts.append(-(-before // dilation))
    total = np.zeros((), np.int64)
    for first, extent in zip(firsts, window.kernel, strict=True):
        total = np.add.outer(total * extent, first)
    return total


def _replaced(target: Any, mask: Any, value: Any) -> Any:
    """The target with a value where the mask is true."""
    if type(target) is np.ndarray:
        np.copyto(target, value, where=mask)
        return target
    return np.where(mask, value, target)


def _winners(x: Any, best: Any, window: Window) -> Any:
    """The number of the winning place of every window, whose maximum is `best`."""
    places = _places(x, window)
    small: Any = np.uint8 if len(places) < 256 else np.int32
    winner = np.zeros_like(best, dtype=small, order="C")
    if x.dtype.kind in "fV" and (type(x) is not np.ndarray or np.any(np.not_equal(best, best))):
        for number, place in enumerate(places):
            winner = _replaced(winner, np.not_equal(place, place), small(number))
    taken: Any = False
    for number, place in enumerate(places):
        equal = np.equal(place, best)
        if number:  # only the first of equal elements; `greater` is "and not" for truth values
            winner = winner + np.astype(np.greater(equal, taken), small) * small(number)
        taken = np.logical_or(equal, taken)
    if window.whole:
        return winner
    # Padding is as low as can be, so it may equal a maximum; it never wins.
    return np.maximum(winner, constant(_first_inside(window).astype(small), x))


max_pool_best_op = Op("max_pool_best", lambda x, window: _maxima(x, window), ("x",))
max_pool_winner_op = Op("max_pool_winner", _winners, ("x", "best"))


def _spread(g: Any, winner: Any, window: Window) -> Any:
    """What reaches a window's maximum goes to the winner's place."""
    lead = tuple(g.shape)[: g.ndim - len(window.size)]
    whole = np.zeros_like(g, shape=(*lead, *window.padded_size), order="C")
    apart = all(s >= (k - 1) * d + 1 for s, k, d in _steps(window))
    for number, offset in enumerate(offsets(window.kernel)):
        place = at(offset, window.count, window.stride, window.dilation)
        share = masked(g, np.equal(winner, number))
        if apart:
            whole[place] = share
        else:
            whole[place] += share
    if window.padded_size == window.size:
        return whole
    return np.copy(whole[inside(window.low, window.size)], order="C")


def _steps(window: Window) -> Any:
    return zip(window.stride, window.kernel, window.dilation, strict=True)


def _pick(x: Any, winner: Any, window: Window) -> Any:
    """The element at each winner's place."""
    whole = padded(x, window.low, window.high)
    total = None
    for number, offset in enumerate(offsets(window.kernel)):
        place = whole[at(offset, window.count, window.stride, window.dilation)]
        share = masked(place, np.equal(winner, number))
        total = share if total is None else total + share
    return total


max_pool_spread_op: Op = Op(
    "max_pool_spread",
    _spread,
    ("x", "winner"),
    vjp={"x": lambda g, winner, window: max_pool_pick_op(g, winner, window=window)},
    jvp={"x": lambda t, winner, window: max_pool_spread_op(t, winner, window=window)},
    parameters=("window",),
)
max_pool_pick_op: Op = Op(
    "max_pool_pick",
    _pick,
    ("x", "winner"),
    vjp={"x": lambda g, winner, window: max_pool_spread_op(g, winner, window=window)},
    jvp={"x": lambda t, winner, window: max_pool_pick_op(t, winner, window=window)},
)


@functools.lru_cache(maxsize=64)
def _starts(window: Window) -> Any:
    """Where windows begin, as flat positions in the image."""
    total = np.zeros((), np.int64)
    for d, extent in enumerate(window.size):
        begins = np.arange(window.count[d]) * window.stride[d] - window.low[d]
        total = np.add.outer(total * extent, begins)
    return total


def _flat(winner: Any, window: Window) -> Any:
    """Winners as flat positions in the image."""
    left = np.astype(winner, np.int64)
    total = constant(_starts(window), winner)
    step = 1
    for extent, kernel, dilation in reversed(
        list(zip(window.size, window.kernel, window.dilation, strict=True))
    ):
        total = total + np.remainder(left, kernel) * (dilation * step)
        left = np.floor_divide(left, kernel)
        step *= extent
    return total


def _maxima_and_indices(x: Any, window: Window) -> Any:
    best = _maxima(x, window)
    return best, _flat(_winners(x, best, window), window)


def _pooled(x: Any, window: Window) -> Any:
    """The forward: in one pass over the images where there is a kernel for that."""
    if kernels_apply(window, x):
        return kernels.called(pooled, x, numbers_of(window))
    return _maxima(x, window)


def _vjp(g: Any, x: Any, window: Window) -> Any:
    """By the input alone: the output may have been written over, as by a `relu_` that follows."""
    if kernels_apply(window, x, g):
        return kernels.called(spread_back, g, x, numbers_of(window))
    return max_pool_spread_op(g, _found_again(x, window), window=window)


def _jvp(t: Any, x: Any, window: Window) -> Any:
    return max_pool_pick_op(t, _found_again(x, window), window=window)


def _found_again(x: Any, window: Window) -> Any:
    return max_pool_winner_op(x, max_pool_best_op(x, window=window), window=window)


def _vjp_with_indices(g: Any, x: Any, out1: Any, window: Window) -> Any:
    """`out1` is named so that the indices are kept: PyTorch refuses to go on once they have changed."""
    return _vjp(g, x, window)


def _jvp_with_indices(t: Any, x: Any, window: Window) -> Any:
    return _jvp(t, x, window), None


def _samples(rank: int, **more: Any) -> Any:
    shape = (2, 2, 5, 6, 4)[: 2 + rank]

    def made() -> list[Sample]:
        def image(*given: int) -> T:
            return T(*(given or shape), kind="distinct")

        return [
            Sample(image(), 2, **more),
            Sample(image(*shape[1:]), (3, 2, 2)[:rank], (1, 2, 1)[:rank], (1, 1, 0)[:rank], **more),
            Sample(image(), 2, 3, 1, 2, True, **more),
            Sample(image(), 2, 3, 0, 1, True, **more),
            Sample(T(*shape, kind="ties"), 3, 2, 1, **more),
            Sample(image(0, *shape[1:]), 2, **more),
            Sample(image(), 1, **more),
        ]

    return made


def _records(rank: int) -> tuple[Op, Op]:
    refuses = no_kernel(f"max_pool{rank}d", "bc")
    common: dict[str, Any] = {"node": f"MaxPool{rank}DWithIndicesBackward0", "refuses": refuses}
    plain = Op(
        f"max_pool{rank}d",
        _pooled,
        ("x",),
        layout=as_channels,
        vjp={"x": _vjp},
        jvp={"x": _jvp},
        opmath=False,
        samples=_samples(rank),
        **common,
    )
    indexed = Op(
        f"max_pool{rank}d_with_indices",
        _maxima_and_indices,
        ("x",),
        layout=each(as_channels),
        vjp={"x": _vjp_with_indices},
        jvp={"x": _jvp_with_indices},
        opmath=False,
        outputs=2,
        differentiable_outputs=(0,),
        public=f"nn.functional.max_pool{rank}d_with_indices",
        samples=_samples(rank),
        **common,
    )
    return plain, indexed


MAX_POOLS = {rank: _records(rank) for rank in (2, 3)}
