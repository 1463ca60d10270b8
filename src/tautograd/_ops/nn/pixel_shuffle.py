"""Channels and pixels exchanged: pixel_shuffle, pixel_unshuffle, channel_shuffle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.result_layout import as_channels
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.dims import require_int
from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, NN_FUNCTIONAL, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T


def _shuffle(x: Any, upscale_factor: int) -> Any:
    """(…, c·r·r, h, w) -> (…, c, h·r, w·r)."""
    r = upscale_factor
    *batch, channels, height, width = x.shape
    n = len(batch)
    apart = np.reshape(x, (*batch, channels // (r * r), r, r, height, width))
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    together = (*batch, channels // (r * r), height * r, width * r)
    return np.reshape(np.copy(np.transpose(apart, order), order="C"), together)


def _unshuffle(x: Any, downscale_factor: int) -> Any:
    """(…, c, h·r, w·r) -> (…, c·r·r, h, w)."""
    r = downscale_factor
    *batch, channels, height, width = x.shape
    n = len(batch)
    apart = np.reshape(x, (*batch, channels, height // r, r, width // r, r))
    order = (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    together = (*batch, channels * r * r, height // r, width // r)
    return np.reshape(np.copy(np.transpose(apart, order), order="C"), together)


def _mix(x: Any, groups: int) -> Any:
    """Channels seen as (groups, rest), transposed."""
    batch, channels, *rest = x.shape
    apart = np.reshape(x, (batch, groups, channels // groups, *rest))
    return np.reshape(np.copy(np.swapaxes(apart, 1, 2), order="C"), x.shape)


def _rearrangement(name: str, forward: Any, backward: Any, samples: Any) -> Op:
    """A record of moving elements; `samples` are shapes, each with the factor or the number of groups."""
    return Op(
        name,
        forward,
        ("x",),
        layout=as_channels,
        vjp={"x": backward},
        jvp=LINEAR,
        opmath=False,
        samples=lambda: [Sample(T(*shape), number) for shape, number in samples],
    )


_EMPTY = tuple((shape, 2) for shape in ((0, 4, 2, 2), (2, 0, 2, 2), (2, 4, 0, 2)))
pixel_shuffle_op = _rearrangement(
    "pixel_shuffle",
    _shuffle,
    lambda g, upscale_factor: pixel_unshuffle_op(g, downscale_factor=upscale_factor),
    (((2, 8, 2, 3), 2), ((9, 1, 2), 3), ((2, 3, 4, 1, 2), 2), *_EMPTY),
)
pixel_unshuffle_op: Op = _rearrangement(
    "pixel_unshuffle",
    _unshuffle,
    lambda g, downscale_factor: pixel_shuffle_op(g, upscale_factor=downscale_factor),
    (((2, 2, 4, 6), 2), ((1, 3, 6), 3), ((2, 3, 1, 2, 2), 2), *_EMPTY),
)
channel_shuffle_op: Op = _rearrangement(
    "channel_shuffle",
    _mix,
    lambda g, x_shape, groups: channel_shuffle_op(g, groups=x_shape[1] // groups or 1),
    (((2, 6, 2), 2), ((1, 4, 2, 3), 4), ((2, 6, 1), 3), ((0, 4, 2), 2), *_EMPTY[1:]),
)


def _pixels(name: str, input: Any, factor: Any, argument: str) -> int:
    require_tensor(name, input)
    ndim = input._data.ndim
    if ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {ndim} "
            "dimension(s)"
        )
    factor = require_int(factor, name, argument)
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")
    return int(factor)


@public(method=False, out=False)
def pixel_shuffle(input: Any, upscale_factor: Any) -> Tensor:
    """Channels turned into pixels: the image grows by the factor in both directions."""
    factor = _pixels("pixel_shuffle", input, upscale_factor, "upscale_factor")
    if factor * factor >= 2**63:
        raise ValueError(
            f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={factor}"
        )
    channels = input._data.shape[-3]
    if channels % (factor * factor):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by "
            f"{factor * factor}"
        )
    result: Tensor = apply(pixel_shuffle_op, (input,), {"upscale_factor": factor})
    return result


@public(method=False, out=False)
def pixel_unshuffle(input: Any, downscale_factor: Any) -> Tensor:
    """Pixels turned into channels: the image shrinks by the factor in both directions."""
    factor = _pixels("pixel_unshuffle", input, downscale_factor, "downscale_factor")
    for what, dim in (("height", -2), ("width", -1)):
        extent = input._data.shape[dim]
        if extent % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but "
                f"input.size({dim})={extent} is not divisible by {factor}"
            )
    result: Tensor = apply(pixel_unshuffle_op, (input,), {"downscale_factor": factor})
    return result


@public(method=False, out=False)
def channel_shuffle(input: Any, groups: Any) -> Tensor:
    """Channels of every group dealt out over the groups."""
    require_tensor("channel_shuffle", input)
    shape = input._data.shape
    if len(shape) <= 2:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}"
        )
    groups = require_int(groups, "channel_shuffle", "groups")
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} "
            "groups."
        )
    result: Tensor = apply(channel_shuffle_op, (input,), {"groups": groups})
    return result


FUNCTIONS["native_channel_shuffle"] = channel_shuffle  # PyTorch's name for its kernel of NCHW


for _name in ("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"):
    NN_FUNCTIONAL[_name] = FUNCTIONS[_name]
