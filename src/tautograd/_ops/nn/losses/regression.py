"""Losses of differences: squared (`mse_loss`), absolute (`l1_loss`), and between (`huber_loss`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.blend import blend
from ...._arrays.dtypes import promote_types
from ...._arrays.result_layout import as_iterated
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import refuse, require_tensor
from ...declare.promotion import plain_number
from ...declare.record import Op
from ...declare.undefined_dtypes import no_kernel
from .reduction import (
    REDUCTIONS,
    chosen_reduction,
    fold,
    functional,
    loss,
    loss_record,
    loss_samples,
    reduced,
    same_size,
    share,
    times,
)

_ndarray = np.ndarray
_FLOAT32 = np.dtype(np.float32)
_PLAIN = frozenset((_ndarray, np.float32))
_EXACT = 1 << 24  # the numbers up to here are float32's, each of them
_ROW = 4096  # how many squares are added up at a time

# --- squared -------------------------------------------------------------------------------------


def _sum_of_squares(d: Any) -> Any:
    """Σ d² in one pass; many of them row by row, so that rounding does not grow."""
    flat = d.ravel("K")  # `d` is a plain array
    if flat.size <= _ROW:
        return np.dot(flat, flat)
    whole = flat.size - flat.size % _ROW
    rows = np.reshape(flat[:whole], (-1, _ROW))
    return np.add.reduce(np.vecdot(rows, rows)) + np.dot(flat[whole:], flat[whole:])


def _mse(x: Any, y: Any, reduction: str) -> Any:
    d = x - y
    if reduction == "none" or type(d) is not _ndarray:
        return fold(d * d, reduction)
    total = _sum_of_squares(d)
    return total if reduction == "sum" else total / d.size


def _mse_back(g: Any, d: Any, reduction: str) -> Any:
    if (
        type(d) is _ndarray
        and type(g) in _PLAIN
        and d.dtype is g.dtype is _FLOAT32
        and reduction != "none"
        and 0 < d.size <= _EXACT
    ):
        # In Python's double precision, whose quotient rounds to float32's own: 53 bits are twice 24 and more.
        factor = 2 * g.item()
        d *= factor / d.size if reduction == "mean" else factor
        return d
    return times(d, share(g * 2, d.size, reduction))


mse_op = Op(
    "mse_loss",
    _mse,
    ("x", "y"),
    layout=as_iterated,
    vjp={
        "x": lambda g, x, y, reduction: _mse_back(g, x - y, reduction),
        "y": lambda g, x, y, reduction: _mse_back(g, y - x, reduction),
    },
    jvp={
        "x": lambda t, x, y, reduction: fold(2 * t * (x - y), reduction),
        "y": lambda t, x, y, reduction: fold(2 * t * (y - x), reduction),
    },
    refuses=no_kernel("mse_cpu", "bic"),
    public="nn.functional.mse_loss",
    samples=loss_samples((-2, 2), (-2, 2)),
)

# --- between squared and absolute ----------------------------------------------------------------


def _smooth_l1(x: Any, y: Any, beta: float) -> Any:
    d = np.abs(x - y)
    return blend(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)


def _smooth_l1_slope(x: Any, y: Any, beta: float) -> Any:
    return np.clip((x - y) / beta, -1, 1)


smooth_l1_op = loss_record(
    "smooth_l1_loss",
    _smooth_l1,
    {"x": _smooth_l1_slope, "y": lambda x, y, beta: _smooth_l1_slope(y, x, beta)},
    parameters=("beta",),
    refuses=no_kernel("smooth_l1_cpu", "bic"),
    samples=loss_samples((-2, 2), (-2, 2), {"beta": 0.3}, {"beta": 2.5}),
)


def _huber(x: Any, y: Any, delta: float) -> Any:
    d = np.abs(x - y)
    return blend(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))


huber_op = loss_record(
    "huber_loss",
    _huber,
    {
        "x": lambda x, y, delta: np.clip(x - y, -delta, delta),
        "y": lambda x, y, delta: np.clip(y - x, -delta, delta),
    },
    parameters=("delta",),
    refuses=no_kernel("huber_cpu", "bic"),
    samples=loss_samples((-2, 2), (-2, 2), {"delta": 0.3}, {"delta": 2.5}),
)

# --- public functions ----------------------------------------------------------------------------


def _compared(op: Op, input: Tensor, target: Any, parameters: dict[str, Any]) -> Tensor:
    """Apply a record to two tensors, promoted to one dtype."""
    dtype = input._data.dtype
    if dtype is target._data.dtype:
        if dtype is not _FLOAT32:  # which every loss is defined for
            refuse(op, dtype)
        return op.apply((input, target), parameters)  # type: ignore[no-any-return]
    dtype = promote_types(
        input.dtype, target.dtype
    ).numpy  # both are broadcast first: no dtype is weak
    refuse(op, dtype)
    result: Tensor = apply(op, (input, target), parameters, dtype)
    return result


def _distance(input: Tensor, target: Tensor) -> Any:
    """The absolute difference, in the dtype that both have in common."""
    if input.dtype is not target.dtype:
        common = promote_types(input.dtype, target.dtype)
        input, target = input.to(common), target.to(common)
    return (input - target).abs()


def _weighted(loss: Any, weight: Any, reduction: str, by_weight: bool = True) -> Tensor:
    """Losses times weights; their mean is over the sum of the weights, or over their number."""
    if weight.size() != loss.size():
        raise ValueError("Weights and input must have the same size.")
    total = loss * weight
    if reduction == "mean" and by_weight:
        result: Tensor = total.sum() / weight.sum()
        return result
    return reduced(total, reduction)  # type: ignore[no-any-return]


@functional
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean (or sum) of squared differences."""
    if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
        reduction = chosen_reduction(reduction, size_average, reduce)
    if not isinstance(input, Tensor):
        require_tensor("mse_loss", input)  # type: ignore[unreachable]
    if input._data.shape != getattr(getattr(target, "_data", None), "shape", None):
        same_size(input, target)
    if weight is not None:
        return _weighted(_compared(mse_op, input, target, {"reduction": "none"}), weight, reduction)
    return _compared(mse_op, input, target, {"reduction": reduction})


@functional
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean (or sum) of absolute differences."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    same_size(input, target)
    loss: Any = _distance(input, target)
    if weight is not None:
        return _weighted(loss, weight, reduction)
    return reduced(loss, reduction)  # type: ignore[no-any-return]


@loss(
    "smooth_l1_loss(Tensor input, Tensor target, bool? size_average=None, "
    "bool? reduce=None, str reduction='mean', float beta=1.0)"
)
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str, beta: float) -> Tensor:
    """Squared differences below `beta`, absolute ones above it."""
    same_size(input, target)
    beta = beta if type(beta) is float else plain_number(beta)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced(_distance(input, target), reduction)  # type: ignore[no-any-return]
    return _compared(smooth_l1_op, input, target, {"reduction": reduction, "beta": beta})


@loss(
    "huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, "
    "Tensor? weight=None)"
)
def huber_loss(
    input: Tensor, target: Tensor, reduction: str, delta: float, weight: Tensor | None
) -> Tensor:
    """Half of squared differences below `delta`, absolute ones times `delta` above it."""
    same_size(input, target)
    delta = delta if type(delta) is float else plain_number(delta)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if target._data.dtype != input._data.dtype and input.is_floating_point():
        target = target.to(input.dtype)
    parameters = {"reduction": "none" if weight is not None else reduction, "delta": delta}
    loss = _compared(huber_op, input, target, parameters)
    return loss if weight is None else _weighted(loss, weight, reduction, by_weight=False)
