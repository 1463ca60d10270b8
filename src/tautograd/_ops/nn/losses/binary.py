"""Losses of yes and no: binary cross entropy of probabilities and of logits, and soft margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import require_between
from ...._arrays.result_layout import as_first, as_iterated
from ...._autograd.apply import apply
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import check_broadcast, conj, refuse
from ...declare.promotion import compute_dtype
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...declare.undefined_dtypes import no_kernel, refuse_gradients
from ...elementwise.activations import logsigmoid, sigmoid_op
from ...indexing.index_arguments import spoken
from ...shape.copy_fill import check_expandable
from .reduction import (
    fold,
    loss,
    loss_record,
    loss_samples,
    reduced,
    require_pair,
    share,
)

_FLOOR = -100.0  # of the logarithm of a probability, as PyTorch has it
_TINY = 1e-12


def _scaled(values: Any, weight: Any) -> Any:
    return values if weight is None else values * weight


# --- of probabilities ----------------------------------------------------------------------------


def _bce(x: Any, y: Any, weight: Any) -> Any:
    yes, no = np.maximum(np.log(x), _FLOOR), np.maximum(np.log1p(-x), _FLOOR)
    return _scaled((y - 1) * no - y * yes, weight)


def _area(x: Any) -> Any:
    """x (1 - x), guarded as PyTorch guards it in second derivatives."""
    return (x + _TINY) * (1 - x + _TINY)


def _curvature(x: Any, y: Any) -> Any:
    return (x * x - 2 * x * y + y) / (_area(x) * _area(x))


def _bce_slope(x: Any, y: Any) -> Any:
    return (x - y) / np.maximum((1 - x) * x, _TINY)


bce_backward_op = Op(
    "binary_cross_entropy_backward",
    lambda h, x, y: h * _bce_slope(x, y),
    ("h", "x", "y"),
    vjp={
        "h": lambda g, x, y: g * (x - y) / _area(x),
        "x": lambda g, h, x, y: g * h * _curvature(x, y),
        "y": lambda g, h, x: -g * h / np.maximum((1 - x) * x, _TINY),
    },
    jvp={
        "h": lambda t, x, y: t * (x - y) / _area(x),
        "x": lambda t, h, x, y: t * h * _curvature(x, y),
        "y": lambda t, h, x: -t * h / np.maximum((1 - x) * x, _TINY),
    },
)
bce_op = Op(
    "binary_cross_entropy",
    lambda x, y, weight, reduction: fold(_bce(x, y, weight), reduction),
    ("x", "y", "weight"),
    layout=as_first,
    vjp={
        "x": lambda g, x, y, weight, reduction: bce_backward_op(
            _scaled(share(g, x.size, reduction), weight), x, y
        ),
        "y": lambda g, x, y, weight, reduction: _scaled(
            share(g, x.size, reduction) * (np.log1p(-x) - np.log(x)), weight
        ),
    },
    jvp={
        "x": lambda t, x, y, weight, reduction: fold(
            _scaled(t * _bce_slope(x, y), weight), reduction
        ),
        "y": lambda t, x, weight, reduction: fold(
            _scaled(t * (np.log1p(-x) - np.log(x)), weight), reduction
        ),
    },
    refuses=no_kernel("binary_cross_entropy", "bic"),
    public="nn.functional.binary_cross_entropy",
    samples=lambda: [
        *loss_samples((0.1, 0.9), (0.1, 0.9))(),
        Sample(*_chances(2, 3), T(3, low=0.5, high=2, grad=False)),
        Sample(*_chances(2, 3), T(2, 3, low=0.5, high=2, grad=False), reduction="none"),
    ],
)


def _chances(*shape: int) -> tuple[T, T]:
    return T(*shape, low=0.1, high=0.9), T(*shape, low=0.1, high=0.9, seed=1)


def _check_probabilities(name: str, data: Any) -> None:
    require_between(
        data, 0, 1, lambda _: RuntimeError(f"all elements of {name} should be between 0 and 1")
    )


@loss(
    "binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, "
    "bool? size_average=None, bool? reduce=None, str reduction='mean')"
)
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str
) -> Tensor:
    """-(y log x + (1 - y) log(1 - x)) of probabilities."""
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    shape = input._data.shape
    if weight is not None:
        _check_expandable(weight._data.shape, shape)
        refuse_gradients("binary_cross_entropy", weight=weight)
    refuse(bce_op, input._data.dtype)
    if target._data.dtype != input._data.dtype:
        raise RuntimeError(f"Found dtype {spoken(target)} but expected {spoken(input)}")
    _check_probabilities("input", input._data)
    _check_probabilities("target", target._data)
    return apply(bce_op, (input, target, weight), {"reduction": reduction})  # type: ignore[no-any-return]


def _check_expandable(given: tuple[int, ...], shape: tuple[int, ...]) -> None:
    for back in range(1, len(given) + 1):
        extent = shape[-back] if back <= len(shape) else 1
        if given[-back] not in (1, extent):
            raise RuntimeError(
                f"Attempting to broadcast a dimension of length {given[-back]} at -{back}! "
                f"Mismatching argument at index 1 had torch.Size({list(given)}); but expected shape "
                f"should be broadcastable to {list(shape)}"
            )


# --- of logits -----------------------------------------------------------------------------------


def _log_sigmoid(x: Any) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def _bce_logits(x: Any, y: Any, weight: Any, pos_weight: Any) -> Any:
    log = _log_sigmoid(x)
    if pos_weight is not None:
        log = (1 + (pos_weight - 1) * y) * log
    return _scaled((1 - y) * x - log, weight)


def _bce_logits_slope(x: Any, y: Any, weight: Any, pos_weight: Any) -> Any:
    if pos_weight is None:
        return _scaled(sigmoid_op(x) - y, weight)
    yes = pos_weight * y
    return _scaled((yes + 1 - y) * sigmoid_op(x) - yes, weight)


def _bce_logits_target_slope(x: Any, y: Any, weight: Any, pos_weight: Any) -> Any:
    if pos_weight is None:
        return _scaled(-x + 0 * y, weight)
    return _scaled(_log_sigmoid(-x) - pos_weight * _log_sigmoid(x) + 0 * y, weight)


bce_logits_op = loss_record(
    "binary_cross_entropy_with_logits",
    _bce_logits,
    {"x": _bce_logits_slope, "y": _bce_logits_target_slope},
    ("x", "y", "weight", "pos_weight"),
    layout=lambda losses, operands: as_iterated(losses, operands[1:2]),  # as the target lies
    refuses=no_kernel("log_sigmoid_cpu", "bic"),
    samples=lambda: [
        *loss_samples((-3, 3), (0, 1))(),
        Sample(*_logits(2, 3), T(2, 3, low=0.5, high=2, grad=False)),
        Sample(*_logits(2, 3), T(3, low=0.5, high=2, grad=False), reduction="none"),
        Sample(*_logits(2, 3), pos_weight=T(3, low=0.5, high=2, grad=False)),
        Sample(
            *_logits(2, 2),
            T(2, 1, low=0.5, high=2, grad=False),
            pos_weight=T(2, low=0.5, high=2, grad=False, seed=1),
            reduction="sum",
        ),
    ],
)


def _logits(*shape: int) -> tuple[T, T]:
    return T(*shape, low=-3, high=3), T(*shape, low=0.1, high=0.9, seed=1)


@loss(
    "binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, "
    "bool? size_average=None, bool? reduce=None, str reduction='mean', "
    "Tensor? pos_weight=None)"
)
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, pos_weight: Tensor | None
) -> Tensor:
    """Binary cross entropy of `sigmoid(input)`, without its rounding."""
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    x, y = input._data, target._data
    refuse(bce_logits_op, x.dtype)
    if y.dtype.kind not in "fV":
        raise RuntimeError(
            f"result type {spoken(input)} can't be cast to the desired output type {spoken(target)}"
        )
    compute = None
    if weight is not None or pos_weight is not None or x.dtype is not y.dtype:
        if pos_weight is not None:
            check_broadcast(pos_weight._data.shape, x.shape)
        if weight is not None:
            check_broadcast(x.shape, weight._data.shape)
        refuse_gradients("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
        found = [v for v in (input, target, weight, pos_weight) if v is not None]
        if any(v._data.dtype != x.dtype for v in found):
            compute = compute_dtype(found, "common")
    inputs = (input, target, weight, pos_weight)
    if compute is None or compute == y.dtype:
        return apply(bce_logits_op, inputs, {"reduction": reduction}, compute)  # type: ignore[no-any-return]
    # PyTorch writes into what it makes of the target, which keeps its dtype.
    each: Any = apply(bce_logits_op, inputs, {"reduction": "none"}, compute).to(target.dtype)
    if reduction == "none":
        return each  # type: ignore[no-any-return]
    return each.mean() if reduction == "mean" else each.sum()  # type: ignore[no-any-return]


# --- of margins ----------------------------------------------------------------------------------


def _soft_margin_slope(x: Any, y: Any) -> Any:
    # d/dx log(1 + exp(-y x)) = -y / (1 + exp(y x))
    return -y / (1 + np.exp(y * x))


soft_margin_op = Op(
    "soft_margin_loss",
    lambda x, y, reduction: fold(np.log1p(np.exp(-y * x)), reduction),
    ("x", "y"),
    layout=as_iterated,
    vjp={"x": lambda g, x, y, reduction: _soft_back(g, x, y, reduction)},
    jvp={"x": lambda t, x, y, reduction: fold(t * _soft_margin_slope(x, y), reduction)},
    public="nn.functional.soft_margin_loss",
    samples=loss_samples((-2, 2), (-2, 2), y_grad=False),
)


def _soft_back(g: Any, x: Any, y: Any, reduction: str) -> Any:
    slope = conj(_soft_margin_slope(x, y))
    return share(g, slope.size, reduction) * slope


@loss(
    "soft_margin_loss(Tensor input, Tensor target, bool? size_average=None, "
    "bool? reduce=None, str reduction='mean')"
)
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """log(1 + exp(-y x)), for targets of -1 and 1."""
    require_pair("soft_margin_loss", input, target)
    refuse_gradients("soft_margin_loss", target=target)
    x, y = input._data, target._data
    check_expandable(y.shape, x.shape)  # the target to the input, never the other way
    if x.dtype.kind in "biu":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {spoken(input)}"
        )
    if x.dtype.kind == "c" and modes.grad and input.requires_grad:
        raise RuntimeError(
            "soft_margin_loss does not support automatic differentiation for outputs with complex "
            "dtype."
        )
    if y.dtype != x.dtype:
        target = target.to(input.dtype)
    return apply(soft_margin_op, (input, target), {"reduction": reduction})  # type: ignore[no-any-return]


@loss(
    "multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, "
    "bool? size_average=None, bool? reduce=None, str reduction='mean')"
)
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str
) -> Tensor:
    """Binary cross entropy of logits, averaged over the classes (the last dimension)."""
    negative: Any = -input
    loss: Any = -(target * logsigmoid(input) + (1 - target) * logsigmoid(negative))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(input.dim() - 1) / input.size(-1)  # a weight may have more dimensions
    return reduced(loss, reduction)  # type: ignore[no-any-return]
