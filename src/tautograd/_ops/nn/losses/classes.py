"""Losses of classes: negative log-likelihood, and cross entropy.

The likelihoods of each example's own class are picked along the dimension of classes (the second, or
the only one). `cross_entropy` is `log_softmax` and then that, two nodes as in PyTorch; with targets
that are probabilities, or smoothed ones, it is a sum over all classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import require_all
from ...._autograd.apply import apply
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import refuse
from ...declare.record import Op, renamed
from ...declare.samples import Sample, T
from ...declare.undefined_dtypes import no_kernel, refuse_gradients
from ...elementwise.division import div_op
from ...indexing.gathering import scatter_op
from ...indexing.index_arguments import spoken
from ...reductions.softmaxes import log_softmax, log_softmax_op
from ...shape.views import reshape_to
from .reduction import loss, reduced, sum_of

_ndarray = np.ndarray
_div_by_count = renamed(div_op, "DivBackward1")

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


def _check_target(input: Tensor, target: Tensor) -> None:
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


def _ignored(target: Any, classes: int, ignore_index: int) -> int | None:
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


def _likelihood(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """Minus the log-likelihood of each target's class, weighted by class."""
    _check_target(input, target)
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
        "ignore_index": _ignored(target._data, classes, ignore_index),
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
)(_likelihood)


# --- cross entropy -------------------------------------------------------------------------------


@loss(
    "cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
    "int ignore_index=-100, bool? reduce=None, str reduction='mean', float label_smoothing=0.0)"
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
    if weight is None and reduction != "none" and _is_wide_on_gpu(x, y):
        return _in_one(input, target, ignore_index, reduction)
    if x.dtype.char in "fd" and x.size:
        likelihoods = apply(log_softmax_op, (input,), {"dim": dim})
    else:
        likelihoods = log_softmax(input, dim)
    return _likelihood(likelihoods, target, weight, ignore_index, reduction)


# --- the same in one step, of many classes on a GPU --------------------------------------------------

_MANY = 1024  # classes, from which on likelihoods are worth not being written to memory


def _loss_and_kept(x: Any, target: Any, ignore_index: Any, reduction: str) -> tuple[Any, Any]:
    """The loss, and what its gradient may be found from: likelihoods, or what a kernel keeps instead."""
    likelihoods = log_softmax_op(x, dim=1)
    loss = nll_op(likelihoods, target, None, ignore_index=ignore_index, reduction=reduction)
    return loss, likelihoods


def _slopes(g: Any, x: Any, target: Any, out1: Any, ignore_index: Any, reduction: str) -> Any:
    """By the rules of the two records that it is made of."""
    shape = tuple(x.shape)
    found = nll_op.vjp[0].rule(g, target, None, shape, ignore_index, reduction)
    return log_softmax_op.vjp[0].rule(found, log_softmax_op(x, dim=1), 1)


cross_entropy_op = Op(
    "cross_entropy_of_many",
    _loss_and_kept,
    ("x", "target"),
    vjp={"x": _slopes},
    node="NllLossBackward0",
    outputs=2,
    differentiable_outputs=(0,),
    internal=True,
)


def _is_wide_on_gpu(x: Any, y: Any) -> bool:
    """Whether these are rows of many classes and a target for each, where there are kernels for them."""
    if modes.way[0] is None:  # first: an array that is not there yet would have to be
        return False
    there = getattr(getattr(x, "value", x), "has_kernels", False)
    if not there or x.ndim != 2 or x.dtype.char not in "fd":
        return False
    rows, classes = x.shape
    return bool(classes >= _MANY and rows and y.shape == (rows,) and y.dtype == np.int64)


def _in_one(input: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor:
    _check_target(input, target)
    ignored = _ignored(target._data, input._data.shape[1], int(ignore_index))
    parameters = {"ignore_index": ignored, "reduction": reduction}
    found: tuple[Tensor, ...] = apply(cross_entropy_op, (input, target), parameters)
    return found[0]


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
    own: Any = _likelihood(likelihoods, target, weight, ignore_index, reduction)
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
