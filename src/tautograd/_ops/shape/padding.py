"""Padding: a constant round a tensor, or its own elements reflected, repeated, or from the other end."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..._arrays.dtypes import from_numpy_dtype
from ..._arrays.formats import preserve_format
from ..._arrays.result_layout import as_channels
from ..._autograd.apply import apply
from ..._tensor.arguments import as_element
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.promotion import plain_number, require_fit
from ..declare.public import NN_FUNCTIONAL, public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.shapes import ints
from ..declare.undefined_dtypes import no_kernel
from ..nn.line_maps import LineMap, mapping_record, picking
from .rearranging import copy_as

Ints = tuple[int, ...]
_REFLECT, _REPLICATE, _CIRCULAR = "reflect", "replicate", "circular"


def _pairs(pad: Ints) -> list[Ints]:
    """What to add before and after each dimension, last dimension last."""
    return [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]


def _constant(x: Any, pad: Ints, value: Any) -> Any:
    pairs = _pairs(pad)
    lead = x.ndim - len(pairs)
    shape = tuple(x.shape)
    size = tuple([n + a + b for n, (a, b) in zip(shape[lead:], pairs, strict=True)])
    whole = np.full_like(x, value, shape=(*shape[:lead], *size), order="C")
    source: tuple[Any, ...] = (Ellipsis,)
    target: tuple[Any, ...] = (Ellipsis,)
    for n, (a, b) in zip(shape[lead:], pairs, strict=True):
        source += (slice(max(-a, 0), n - max(-b, 0)),)
        target += (slice(max(a, 0), n + a + b - max(b, 0)),)
    if type(x) is np.ndarray and max(pad, default=0) <= 0:  # a part of it
        return copy_as(x[source], preserve_format)
    whole[target] = x[source]
    return as_channels(whole, (x,))


constant_pad_op: Op = Op(
    "constant_pad_nd",
    _constant,
    ("x",),
    vjp={"x": lambda g, pad: constant_pad_op(g, pad=tuple([-p for p in pad]), value=0)},
    jvp={"x": lambda t, pad: constant_pad_op(t, pad=pad, value=0)},
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3), (1, 2)),
        Sample(T(2, 3), (1, 0, 2, 1), 1.5),
        Sample(T(2, 4, 2), [0, 1, -1, -2], -1),
        Sample(T(2, 3), (0, 0)),
        Sample(T(3), (-1, 2), 2),
        Sample(T(2, 0), (1, 1)),
    ],
)


def _fitting(value: Any, dtype: Any) -> Any:
    """The number that fills, as the dtype has it; one that it cannot hold is refused."""
    if dtype.kind in "iu":
        return as_element(value, from_numpy_dtype(dtype))
    return bool(value) if dtype.kind == "b" else value


@public(method=False)
def constant_pad_nd(input: Any, pad: Any, value: Any = 0) -> Tensor:
    """The tensor with `value` before and after its last dimensions, the last pair first."""
    require_tensor("constant_pad_nd", input)
    pad = ints("constant_pad_nd", "pad", (pad,), {}, 2)
    ndim = input._data.ndim
    if len(pad) % 2:
        raise RuntimeError("Length of pad must be even but instead it equals " + str(len(pad)))
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad "
            f"length is {len(pad)} while the input has {ndim} dimensions."
        )
    for n, (a, b) in zip(input._data.shape[ndim - len(pad) // 2 :], _pairs(pad), strict=True):
        if n + a + b < 0 or n + min(a, 0) + min(b, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    grows = any(p > 0 for p in pad)  # else no element is filled, whatever with
    parameters = {"pad": pad, "value": _fitting(value if grows else 0, input._data.dtype)}
    result: Tensor = apply(constant_pad_op, (input,), parameters)
    return result


@functools.lru_cache(maxsize=256)
def _line(mode: str, size: int, before: int, after: int) -> LineMap | None:
    """Which element is shown where, in one dimension."""
    if not before and not after:
        return None
    place = np.arange(-before, size + after)
    if mode == _REFLECT:
        place = np.abs(place)
        place = np.where(place >= size, 2 * (size - 1) - place, place)
    elif mode == _REPLICATE:
        place = np.clip(place, 0, size - 1)
    else:  # what is cut off does not come back at the other end
        first, kept = max(-before, 0), size + min(before, 0) + min(after, 0)
        place = first + np.mod(np.arange(-max(before, 0), kept + max(after, 0)), max(kept, 1))
    line = picking(size, place)
    line.origin = mode, size, before, after
    return line


def _samples(mode: str, rank: int) -> Any:
    shapes = {1: (2, 3, 4), 2: (1, 2, 3, 4), 3: (1, 2, 3, 3, 2)}
    pads = {1: (2, 1), 2: (1, 2, 2, 0), 3: (1, 0, 2, 1, 1, 2)}
    unbatched = shapes[rank][1:]

    def samples() -> list[Sample]:
        made = [Sample(T(*shapes[rank]), pads[rank], mode=mode)]
        made.append(Sample(T(*unbatched), (1, 1) * rank, mode=mode))
        made.append(Sample(T(*shapes[rank]), (-1, 1) + (0, 0) * (rank - 1), mode=mode))
        return made

    return samples


def _records(mode: str, label: str, node: str, **more: Any) -> dict[int, Op]:
    return {
        rank: mapping_record(
            f"{label}{rank}d" if mode != _CIRCULAR else f"circular_pad{rank}d",
            node.format(rank),
            public="nn.functional.pad",
            samples=_samples(mode, rank),
            layout=None if mode == _CIRCULAR or rank == 1 else as_channels,
            refuses=None if mode == _CIRCULAR else no_kernel(f"{label}{rank}d", "b"),
            **more,
        )
        for rank in (1, 2, 3)
    }


PADS: dict[str, dict[int, Op]] = {
    _REFLECT: _records(_REFLECT, "reflection_pad", "ReflectionPad{}DBackward0"),
    _REPLICATE: _records(_REPLICATE, "replication_pad", "ReplicationPad{}DBackward0"),
    _CIRCULAR: _records(_CIRCULAR, "circular_pad", "torch::autograd::CopySlices"),
}
_SUPPORTED = (
    "Supported combinations for non-constant padding:\n"
    "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
    "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
    "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
)


def _check(mode: str, shape: Ints, pad: Ints) -> None:
    rank, ndim = len(pad) // 2, len(shape)
    size, pairs = shape[ndim - rank :], _pairs(pad)
    batch = ndim == rank + 2
    if mode != _CIRCULAR and 0 in shape[1 if batch else 0 :]:
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(shape)}"
        )
    for i, (n, (a, b)) in enumerate(zip(size, pairs, strict=True)):
        if mode == _REFLECT and (a >= n or b >= n):
            dim = ndim - rank + i
            raise RuntimeError(
                f"Argument #{4 + 2 * (rank - 1 - i)}: Padding size should be less than the "
                f"corresponding input dimension, but got: padding ({a}, {b}) at dimension {dim} of "
                f"input {list(shape)}"
            )
        if mode == _CIRCULAR and (a > n or b > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode == _CIRCULAR and n + a + b < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        if n + a + b < 0 and rank == 1:
            raise RuntimeError(f"input (W: {n}) is too small. Calculated output W: {n + a + b}")
        if n + a + b < 0:
            longer = [m + c + d for m, (c, d) in zip(size, pairs, strict=True)]
            names = "DHW"[-rank:]
            have = " ".join(f"{k}: {m}" for k, m in zip(names, size, strict=True))
            want = " ".join(f"{k}: {m}" for k, m in zip(names, longer, strict=True))
            raise RuntimeError(f"input ({have}) is too small. Calculated output {want}")


def _mirrored(mode: str, input: Tensor, pad: Ints) -> Tensor:
    """Padding by the tensor's own elements."""
    shape = tuple(input._data.shape)
    rank = len(pad) // 2
    if rank not in (1, 2, 3) or len(shape) not in (rank + 1, rank + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {len(shape)}D input tensor.\n"
            + _SUPPORTED
        )
    _check(mode, shape, pad)
    op = PADS[mode][rank]
    if op.refuses is not None:
        refuse(op, input._data.dtype)
    size = shape[len(shape) - rank :]
    maps = tuple([_line(mode, n, a, b) for n, (a, b) in zip(size, _pairs(pad), strict=True)])
    result: Tensor = apply(op, (input,), {"maps": maps})
    return result


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """The tensor made longer at both ends of its last dimensions, the last pair of `pad` first."""
    require_tensor("pad", input)
    if not isinstance(pad, (tuple, list)):
        raise TypeError(
            f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}"
        )
    pad = ints("pad", "pad", (tuple(pad),), {}, 2)
    ndim = input._data.ndim
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {ndim}"
        )
    if mode == "constant":
        value = 0 if value is None else plain_number(value)
        require_fit((input,), float(value))
        if type(value) is int and (input.is_floating_point() or input.is_complex()):
            value = float(value)
        return constant_pad_nd(input, pad, value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in PADS:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return _mirrored(mode, input, pad)
