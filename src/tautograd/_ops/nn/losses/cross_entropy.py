"""Cross entropy: `log_softmax` and then the negative log-likelihood, two nodes as in PyTorch.

With targets that are probabilities, or smoothed ones, it is a sum over all classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.record import renamed
from ...elementwise.division import div_op
from ...indexing.index_arguments import spoken
from ...reductions.softmaxes import log_softmax, log_softmax_op
from .classes import likelihood
from .many_classes import in_one, is_wide_on_gpu, of_half
from .reduction import loss, reduced

_div_by_count = renamed(div_op, "DivBackward1")


@loss(
    "cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
    "int ignore_index=-100, bool? reduce=None, str reduction='mean', float label_smoothing=0.0)",
    uncast=of_half,
)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    """Minus the log-likelihood of the targets (classes or probabilities) under softmax."""
    x, y = input._data, target._data
    if tuple(x.shape) == tuple(y.shape):
        return _of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    dim = 1 if x.ndim > 1 else 0
    if label_smoothing:
        return _smoothed(input, target, weight, ignore_index, reduction, label_smoothing)
    if weight is None and reduction != "none" and is_wide_on_gpu(x, y):
        return in_one(input, target, ignore_index, reduction)
    if x.dtype.char in "fd" and x.size:
        likelihoods = apply(log_softmax_op, (input,), {"dim": dim})
    else:
        likelihoods = log_softmax(input, dim)
    return likelihood(likelihoods, target, weight, ignore_index, reduction)


def _check_smoothing(label_smoothing: float) -> None:
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _by_class(weight: Any, rank: int) -> Any:
    """Class weights in the shape that multiplies likelihoods."""
    return weight.view((1, -1, *(1,) * (rank - 2))) if rank > 1 else weight


def _check_class_weight(weight: Tensor, classes: int) -> None:
    w = weight._data
    if w.ndim != 1 or w.shape[0] != classes:
        raise RuntimeError(
            "cross_entropy: weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: {list(w.shape)}"
        )


def _of_probabilities(
    input: Any, target: Any, weight: Any, ignore_index: int, reduction: str, label_smoothing: float
) -> Tensor:
    if not target.is_floating_point():
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{spoken(target)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    _check_smoothing(label_smoothing)
    shape = input._data.shape
    dim = 1 if len(shape) > 1 else 0
    classes = shape[dim]
    if weight is not None:
        _check_class_weight(weight, classes)
    likelihoods = log_softmax(input, dim)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    total = likelihoods * target
    if weight is not None:
        total = total * _by_class(weight, len(shape))
    if reduction == "none":
        return -total.sum(dim)  # type: ignore[no-any-return]
    loss = -total.sum()
    if reduction == "sum":
        return loss  # type: ignore[no-any-return]
    count = input._data.size // classes if classes else 0
    return apply(_div_by_count, (loss, np.asarray(count, loss._data.dtype)[()]))  # type: ignore[no-any-return]


def _smoothed(
    input: Any, target: Any, weight: Any, ignore_index: int, reduction: str, label_smoothing: float
) -> Tensor:
    """The likelihood of the target's class, and a share of those of all classes."""
    _check_smoothing(label_smoothing)
    rank = input._data.ndim
    dim = 1 if rank > 1 else 0
    classes = input._data.shape[dim]
    likelihoods = log_softmax(input, dim)
    own: Any = likelihood(likelihoods, target, weight, ignore_index, reduction)
    if weight is not None:
        every = -(likelihoods * _by_class(weight, rank)).sum(dim)
    else:
        every = -likelihoods.sum(dim)
    ignored = target == ignore_index
    every = every.masked_fill(ignored, 0.0)
    if reduction == "mean":
        if weight is not None:
            counted = weight.gather(0, target.masked_fill(ignored, 0).flatten())
            every = every.sum() / counted.masked_fill(ignored.flatten(), 0).sum()
        else:
            every = every.sum() / (~ignored).sum()
    else:
        every = reduced(every, reduction)
    return own * (1 - label_smoothing) + every * (label_smoothing / classes)  # type: ignore[no-any-return]
