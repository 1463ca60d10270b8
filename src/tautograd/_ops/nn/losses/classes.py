"""Negative log-likelihood of classes.

The likelihoods of each example's own class are picked along the dimension of classes (the second, or
the only one).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import require_all
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import refuse
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...declare.undefined_dtypes import no_kernel, refuse_gradients
from ...indexing.gathering import scatter_op
from ...indexing.index_arguments import spoken
from ...shape.views import reshape_to
from .reduction import loss, sum_of

_ndarray = np.ndarray

# --- the record ----------------------------------------------------------------------------------


def _class_dim(x: Any) -> int:
    return 1 if len(x) > 1 else 0


def _factors(like: Any, target: Any, weight: Any, ignore_index: int | None) -> Any:
    """What each example counts, as an array of its own dtype; None: one each."""
    if ignore_index is None and weight is None:
        return None
    if weight is None:
        return np.astype(target != ignore_index, like.dtype)
    if ignore_index is None:
        return _taken(weight, target)
    found = _taken(weight, np.where(target == ignore_index, 0, target))
    return np.where(target == ignore_index, 0, found)


def _taken(weight: Any, target: Any) -> Any:
    flat = np.take_along_axis(weight, np.reshape(target, (-1,)), 0)
    return np.reshape(flat, target.shape)


def _total(like: Any, target: Any, factors: Any) -> Any:
    """What a mean divides by."""
    return target.size if factors is None else sum_of(factors)


def _places(target: Any, ignore_index: int | None, dim: int) -> Any:
    if ignore_index is not None:
        target = np.where(target == ignore_index, 0, target)
    return np.expand_dims(target, dim)


def _nll(x: Any, target: Any, weight: Any, ignore_index: int | None, reduction: str) -> Any:
    dim = _class_dim(x.shape)
    if ignore_index is None and type(x) is _ndarray and type(target) is _ndarray and x.ndim == 2:
        own = x[np.arange(x.shape[0]), target]
    else:
        own = np.squeeze(np.take_along_axis(x, _places(target, ignore_index, dim), dim), dim)
    factors = _factors(x, target, weight, ignore_index)
    if factors is not None:
        own = np.where(factors == 0, 0, own * factors)
    if reduction == "none":
        return -own
    loss = -sum_of(own)
    return loss if reduction == "sum" else loss / _total(x, target, factors)


def _nll_vjp(
    g: Any,
    target: Any,
    weight: Any,
    x_shape: tuple[int, ...],
    ignore_index: int | None,
    reduction: str,
) -> Any:
    dim = _class_dim(x_shape)
    factors = _factors(g, target, weight, ignore_index)
    share = -g / _total(g, target, factors) if reduction == "mean" else -g
    if factors is not None:
        share = np.where(factors == 0, 0, share * factors)
    plain = type(target) is _ndarray and isinstance(share, (np.ndarray, np.generic))
    if plain and len(x_shape) == 2:
        found = np.zeros_like(share, shape=x_shape)
        own = target if ignore_index is None else np.where(target == ignore_index, 0, target)
        found[np.arange(x_shape[0]), own] = share
        return found
    share = np.expand_dims(np.broadcast_to(share, np.shape(target)), dim)
    zeros = np.zeros_like(share, shape=x_shape)
    return scatter_op(zeros, _places(target, ignore_index, dim), share, dim=dim)


def _index(*shape: int, low: int = 0, high: int) -> T:
    return T(*shape, low=low, high=high, dtype="int64")


def _weights(count: int) -> T:
    return T(count, low=0.5, high=2, grad=False)


def _record(name: str, node: str, kernel: str, samples: Any) -> Op:
    return Op(
        name,
        _nll,
        ("x", "target", "weight"),
        vjp={"x": _nll_vjp},
        jvp={
            "x": lambda t, target, weight, ignore_index, reduction: _nll(
                t, target, weight, ignore_index, reduction
            )
        },
        node=node,
        refuses=no_kernel(kernel, "bic"),
        public="nn.functional.nll_loss",
        samples=samples,
    )


nll_op = _record(
    "nll_loss",
    "NllLossBackward0",
    "nll_loss_out_frame",
    lambda: [
        Sample(T(3, 4), _index(3, high=4)),
        Sample(T(4), _index(high=4)),
        Sample(T(4), _index(high=4), _weights(4), reduction="none"),
        Sample(T(3, 4, layout="transposed"), _index(3, high=4), reduction="sum"),
        *(Sample(T(3, 4), _index(3, high=4), _weights(4), reduction=r) for r in ("mean", "none")),
        Sample(T(6, 3), _index(6, high=3), _weights(3), ignore_index=1),
        Sample(T(6, 3), _index(6, high=3), ignore_index=0, reduction="none"),
        Sample(T(0, 3), _index(0, high=3), reduction="none"),
    ],
)
nll2d_op = _record(
    "nll_loss2d",
    "NllLoss2DBackward0",
    "nll_loss2d_forward_out_frame",
    lambda: [
        Sample(T(2, 3, 2, 2), _index(2, 2, 2, high=3)),
        Sample(T(2, 3, 2, 2), _index(2, 2, 2, high=3), _weights(3), reduction="sum"),
        Sample(T(2, 3, 4), _index(2, 4, high=3), ignore_index=2),
        Sample(T(2, 3, 4), _index(2, 4, high=3), _weights(3), ignore_index=1, reduction="none"),
        Sample(T(2, 3, 2, 2, 2), _index(2, 2, 2, 2, high=3)),
    ],
)

# --- negative log-likelihood ---------------------------------------------------------------------


def check_target(input: Tensor, target: Tensor) -> None:
    x, y = input._data, target._data
    given = tuple(y.shape)
    if x.ndim == 0:
        raise ValueError(f"Expected 1 or more dimensions (got {x.ndim})")
    if x.ndim != 1 and x.shape[0] != (y.shape[0] if y.ndim else 1):
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size "
            f"({y.shape[0] if y.ndim else 1})."
        )
    if y.dtype.char not in "lqB":
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {spoken(target)}")
    if x.ndim == 3 and given != (x.shape[0], x.shape[2]):
        raise RuntimeError(
            f"Expected target size {[x.shape[0], *x.shape[2:]]}, got {list(y.shape)}"
        )
    if x.ndim > 3 and given != (x.shape[0], *x.shape[2:]):
        if x.ndim == 4 and y.ndim == 3:
            raise RuntimeError(
                f"size mismatch (got input: {list(x.shape)} , target: {list(y.shape)}"
            )
        raise ValueError(f"Expected target size {[x.shape[0], *x.shape[2:]]}, got {list(y.shape)}")
    if x.ndim <= 2 and y.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")


def _check_weight(input: Tensor, weight: Tensor, classes: int) -> None:
    refuse_gradients("nll_loss_forward", weight=weight)
    w = weight._data
    if w.ndim != 1 or w.shape[0] != classes:
        if input._data.ndim > 2:
            raise RuntimeError("weight tensor should be defined either for all or no classes")
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(w.shape)}"
        )
    if w.dtype != input._data.dtype:
        raise RuntimeError(f"expected scalar type {spoken(input)} but found {spoken(weight)}")


def ignored(target: Any, classes: int, ignore_index: int) -> int | None:
    """The class to leave out, or None where no target has it; a wrong target is an error."""
    if type(target) is _ndarray:
        if not target.size:
            return None
        low, high = target.min(), target.max()
        if low >= 0 and high < classes:
            if not low <= ignore_index <= high:
                return None
            return ignore_index if (target == ignore_index).any() else None
    require_all(
        target,
        lambda y: ((y >= 0) & (y < classes)) | (y == ignore_index),
        lambda found: IndexError(f"Target {found} is out of bounds."),
    )
    return ignore_index


def likelihood(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """Minus the log-likelihood of each target's class, weighted by class."""
    check_target(input, target)
    ignore_index = int(ignore_index)  # a tensor of one element will do
    x = input._data
    classes = x.shape[1 if x.ndim > 1 else 0]
    op = nll_op if x.ndim <= 2 else nll2d_op
    refuse(op, x.dtype)
    if weight is not None:
        _check_weight(input, weight, classes)
    y = target._data
    if y.dtype.char == "B":
        target = target.long()
    if x.ndim == 1 and y.ndim == 1:  # one example, in a batch of one
        if y.shape[0] != 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {y.shape[0]}"
            )
        target = target.reshape(())
    parameters = {
        "ignore_index": ignored(target._data, classes, ignore_index),
        "reduction": reduction,
    }
    if x.ndim == 3 or x.ndim > 4:  # as PyTorch does it, with all places in one dimension
        flat = reshape_to(input, (*x.shape[:2], 1, -1))
        places = reshape_to(target, (y.shape[0], 1, -1))
        loss: Any = apply(op, (flat, places, weight), parameters)
        return reshape_to(loss, y.shape) if reduction == "none" else loss
    return apply(op, (input, target, weight), parameters)  # type: ignore[no-any-return]


nll_loss = loss(
    "nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
    "int ignore_index=-100, bool? reduce=None, str reduction='mean')"
)(likelihood)
