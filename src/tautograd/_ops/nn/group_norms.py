"""Normalisation of groups of channels (`group_norm`) and by the root of the mean square (`rms_norm`).

`local_response_norm` divides by the squares of neighbouring channels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.result_layout import as_channels, as_iterated, channels_come_last, each
from ..._arrays.sums import row_dot
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import conj, contiguous, refuse, require_tensor
from ..declare.public import NN_FUNCTIONAL
from ..declare.record import Op, renamed
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel
from .layer_norms import (
    apply_mixed,
    check_mixed,
    check_normalized,
    normalised,
    row_gradient,
    row_norms,
    rows_of,
    rows_tangent,
    scaled,
)
from .losses.reduction import function, functional
from .pooling import pool_functions  # noqa: F401  (declare what local_response_norm calls)

# --- group norm ----------------------------------------------------------------------------------


def _grouped(x: Any, groups: int) -> Any:
    """One row per example and group."""
    n, channels, *rest = x.shape
    return np.reshape(x, (n, groups, channels // groups * math.prod(rest)))


def _per_channel(v: Any, rank: int) -> Any:
    """A value per channel in the shape that broadcasts against the input."""
    return None if v is None else np.reshape(v, (v.shape[0], *(1,) * (rank - 2)))


def _group_norm(x: Any, weight: Any, bias: Any, groups: int, eps: float) -> Any:
    rows, mean, inverse = row_norms(_grouped(x, groups), None, None, eps)
    out = scaled(np.reshape(rows, x.shape), _per_channel(weight, x.ndim))
    if bias is not None:
        out = out + _per_channel(bias, x.ndim)
    return out, mean[..., 0], inverse[..., 0]


def _group_norm_vjp(
    g: Any,
    x: Any,
    weight: Any,
    out1: Any,
    out2: Any,
    needs: tuple[bool, ...],
    groups: int,
    eps: float,
) -> Any:
    shape = x.shape
    others = (0, *range(2, len(shape)))
    grads: list[Any] = [None, None, None]
    if needs[2]:
        grads[2] = np.sum(g, axis=others)
    if needs[0] or needs[1]:
        mean, inverse = np.expand_dims(out1, -1), np.expand_dims(out2, -1)
        normal, inverse = rows_of(_grouped(x, groups), mean, inverse, eps)
        if needs[1]:
            grads[1] = np.sum(g * np.reshape(normal, shape), axis=others)
        if needs[0]:
            h = _grouped(scaled(g, _per_channel(weight, len(shape))), groups)
            grads[0] = np.reshape(row_gradient(h, normal, inverse, None), shape)
    return tuple(grads)


def _group_tangent(t: Any, x: Any, weight: Any, groups: int, eps: float) -> Any:
    found = rows_tangent(_grouped(t, groups), _grouped(x, groups), (-1,), eps)
    return scaled(np.reshape(found, x.shape), _per_channel(weight, x.ndim)), None, None


def _group_weight_tangent(t: Any, x: Any, groups: int, eps: float) -> Any:
    normal = np.reshape(normalised(_grouped(x, groups), (-1,), eps), x.shape)
    return normal * _per_channel(t, x.ndim), None, None


group_norm_op = Op(
    "group_norm",
    _group_norm,
    ("x", "weight", "bias"),
    layout=each(as_channels),
    vjp=_group_norm_vjp,
    jvp={
        "x": _group_tangent,
        "weight": _group_weight_tangent,
        "bias": lambda t, x_shape: (
            np.broadcast_to(_per_channel(t, len(x_shape)), x_shape),
            None,
            None,
        ),
    },
    outputs=3,
    differentiable_outputs=(0,),
    node="NativeGroupNormBackward0",
    refuses=no_kernel("GroupNormKernelImpl", "bic"),
    samples=lambda: [
        Sample(T(2, 4, 3), 2),
        Sample(T(2, 4, 3), 2, T(4), T(4, seed=1)),
        Sample(T(2, 6, 2, 2), 3, T(6), T(6, seed=1), 1e-2),
        Sample(T(3, 4), 1, T(4)),
        Sample(T(3, 4), 2, None, T(4)),
        Sample(T(2, 2, 3, 4, layout="transposed"), 2, T(2), T(2, seed=1)),
    ],
)


@function
@functional
def group_norm(
    input: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Each group of channels of each example minus its mean, over its deviation."""
    require_tensor("group_norm", input)
    shape = list(input._data.shape)
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[0] * shape[1] // num_groups * math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {shape}"
        )
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {shape} and num_groups={num_groups}"
        )
    for label, value in (("weight", weight), ("bias", bias)):
        if value is not None and list(value._data.shape) != [shape[1]]:
            raise RuntimeError(
                f"Expected {label} to be a vector of size equal to the number of channels in input, "
                f"but got {label} of shape {list(value._data.shape)} and input of shape {shape}"
            )
    refuse(group_norm_op, input._data.dtype)
    check_mixed(input, weight, bias)
    parameters = {"groups": num_groups, "eps": eps}
    found: Tensor = apply_mixed(group_norm_op, (input, weight, bias), parameters)[0]
    return found


# --- root mean square ----------------------------------------------------------------------------


def _inverse_root(x: Any, rank: int, eps: float) -> Any:
    """1 / √(mean(x²) + eps), over the last `rank` dimensions."""
    count = math.prod(x.shape[x.ndim - rank :])
    if rank == 1 and x.dtype.kind != "c":
        square = np.expand_dims(row_dot(x, x), -1)
    else:
        square = np.sum(x * x, axis=tuple(range(-rank, 0)), keepdims=True)
    return 1 / np.sqrt(square / count + eps)


def _rms_through(h: Any, x: Any, rank: int, eps: float) -> Any:
    """r h - r³ x mean(x h), which is both the gradient and the tangent of r x."""
    axes = tuple(range(-rank, 0))
    inverse = _inverse_root(x, rank, eps)
    count = math.prod(x.shape[x.ndim - rank :])
    along = np.sum(h * x, axis=axes, keepdims=True) / count
    return (h - x * (along * inverse * inverse)) * inverse


rms_norm_op = Op(
    "rms_norm",
    lambda x, weight, rank, eps: scaled(x * _inverse_root(x, rank, eps), weight),
    ("x", "weight"),
    layout=as_iterated,
    vjp={
        "x": lambda g, x, weight, rank, eps: _rms_through(
            scaled(g, None if weight is None else conj(weight)), conj(x), rank, eps
        ),
        "weight": lambda g, x, rank, eps: g * conj(x * _inverse_root(x, rank, eps)),
    },
    jvp={
        "x": lambda t, x, weight, rank, eps: scaled(_rms_through(t, x, rank, eps), weight),
        "weight": lambda t, x, rank, eps: t * (x * _inverse_root(x, rank, eps)),
    },
    node="MulBackward0",
    refuses=no_kernel("rms_norm", "bi"),
    samples=lambda: [
        Sample(T(3, 5), (5,)),
        Sample(T(2, 3, 5), [5], T(5), 1e-2),
        Sample(T(2, 3, 4), (3, 4), T(3, 4)),
        Sample(T(5, 3, layout="transposed"), (3,), T(3)),
        Sample(T(4), (4,)),
    ],
)
_rms_norm_rounded = renamed(rms_norm_op, "ToCopyBackward0")
_rms_norm_copied = renamed(rms_norm_op, "CloneBackward0")


def _channels_last(x: Any) -> bool:
    return type(x) is np.ndarray and channels_come_last(x)


def _is_plain(x: Any) -> bool:
    """Whether PyTorch lays out x times a number in C order."""
    return type(x) is not np.ndarray or as_iterated(np.empty_like(x), (x,)).flags.c_contiguous


@function
@functional
def rms_norm(
    input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Tensor:
    """Each example over the root of its mean square, over the last dimensions."""
    shape = check_normalized("rms_norm", input, normalized_shape, weight=weight)
    kind = input._data.dtype
    refuse(rms_norm_op, kind)
    if eps is None:
        wide = kind.char in "dD"
        eps = float(np.finfo(np.float64 if wide else np.float32).eps)
    op = rms_norm_op
    if input.dtype.is_half or (weight is not None and weight._data.dtype != kind):
        op = _rms_norm_rounded
    elif not _is_plain(input._data) and not _channels_last(input._data):
        op = _rms_norm_copied
    found: Tensor = apply_mixed(op, (input, weight), {"rank": len(shape), "eps": eps})
    return found if _channels_last(input._data) else contiguous(found)


# --- local response ------------------------------------------------------------------------------


@functional
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x / (k + alpha * mean of squares of `size` neighbouring channels) ** beta."""
    rank = input.dim()
    if rank < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          "
            f"input (got {rank} dimensions)"
        )
    if not input.numel():
        return input
    ends = (size // 2, (size - 1) // 2)
    square = input.mul(input)
    pool = NN_FUNCTIONAL["avg_pool2d" if rank == 3 else "avg_pool3d"]
    if rank == 3:
        tall = NN_FUNCTIONAL["pad"](square.unsqueeze(1), (0, 0, *ends))
        mean = pool(tall, (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        square = square.view(sizes[0], 1, sizes[1], sizes[2], -1)
        tall = NN_FUNCTIONAL["pad"](square, (0, 0, 0, 0, *ends))
        mean = pool(tall, (size, 1, 1), stride=1).squeeze(1).view(sizes)
    divisor: Any = mean.mul(alpha).add(k).pow(beta)
    return input / divisor  # type: ignore[no-any-return]
