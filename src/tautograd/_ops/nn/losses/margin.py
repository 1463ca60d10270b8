"""Losses of margins between classes: the right ones are to exceed the others by some amount."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import require_range
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import refuse
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...declare.undefined_dtypes import no_kernel, refuse_gradients
from ...indexing.index_arguments import spoken
from .reduction import fold, loss, share

# --- of classes ----------------------------------------------------------------------------------


def _count_up(count: int, like: Any) -> Any:
    """0, 1, …, for any type of array."""
    return np.cumsum(np.ones_like(like, shape=(count,)), axis=-1) - 1


def _is_own(x: Any, target: Any) -> Any:
    """Where the class is the target's."""
    return _count_up(x.shape[-1], target) == np.expand_dims(target, -1)


def _weight_of(weight: Any, target: Any) -> Any:
    """The weight of each target's class, as a column."""
    found = np.take_along_axis(weight, np.reshape(target, (-1,)), 0)
    return np.expand_dims(np.reshape(found, target.shape), -1)


def _own(x: Any, target: Any) -> Any:
    return np.take_along_axis(x, np.expand_dims(target, -1), -1)


def _excess(x: Any, target: Any, margin: float) -> Any:
    """How far each other class is above what it may be; 0 for the target's own."""
    over = np.maximum(margin - _own(x, target) + x, 0)
    return np.where(_is_own(x, target), 0, over)


def _multi_margin(x: Any, target: Any, weight: Any, p: int, margin: float, reduction: str) -> Any:
    over = _excess(x, target, margin)
    over = over if p == 1 else over * over
    if weight is not None:
        over = over * _weight_of(weight, target)
    return fold(np.sum(over, axis=-1) / x.shape[-1], reduction)


def _multi_margin_pull(x: Any, target: Any, weight: Any, p: int, margin: float) -> Any:
    """The slope with respect to each other class; the target's own gets minus their sum."""
    over = _excess(x, target, margin)
    pull = np.astype(over > 0, x.dtype) if p == 1 else 2 * over
    pull = pull / x.shape[-1]
    return pull if weight is None else pull * _weight_of(weight, target)


def _multi_margin_vjp(
    g: Any, x: Any, target: Any, weight: Any, p: int, margin: float, reduction: str
) -> Any:
    count = target.size
    each = share(g, count, reduction)
    each = np.expand_dims(each, -1) if reduction == "none" else each
    pull = _multi_margin_pull(x, target, weight, p, margin) * each
    total = np.sum(pull, axis=-1, keepdims=True)
    return np.where(_is_own(x, target), -total, pull)


def _multi_margin_jvp(
    t: Any, x: Any, target: Any, weight: Any, p: int, margin: float, reduction: str
) -> Any:
    pull = _multi_margin_pull(x, target, weight, p, margin)
    return fold(np.sum(pull * (t - _own(t, target)), axis=-1), reduction)


multi_margin_op = Op(
    "multi_margin_loss",
    _multi_margin,
    ("x", "target", "weight"),
    vjp={"x": _multi_margin_vjp},
    jvp={"x": _multi_margin_jvp},
    refuses=no_kernel("multi_margin_loss_cpu_kernel", "bihc"),
    public="nn.functional.multi_margin_loss",
    samples=lambda: [
        Sample(T(3, 4), _index(3, high=4)),
        Sample(T(3, 4), _index(3, high=4), 2, 0.5, reduction="none"),
        Sample(T(3, 4), _index(3, high=4), 2, weight=T(4, low=0.5, high=2, grad=False)),
        Sample(T(4), _index(high=4), reduction="sum"),
        Sample(
            T(3, 4), _index(3, high=4), weight=T(4, low=0.5, high=2, grad=False), reduction="sum"
        ),
    ],
)


def _index(*shape: int, low: int = 0, high: int) -> T:
    return T(*shape, low=low, high=high, dtype="int64")


def _check_matrix(shape: tuple[int, ...]) -> None:
    if len(shape) > 2 or (len(shape) and not shape[-1]):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(shape)}"
        )


def _check_long(target: Tensor) -> None:
    if target._data.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {spoken(target)}")


@loss(
    "multi_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, "
    "Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
    "str reduction='mean')"
)
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int, margin: float, weight: Tensor | None, reduction: str
) -> Tensor:
    """The mean over classes of max(0, margin - x[target] + x[class]) to the power of p."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    shape = tuple(input._data.shape)
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    _check_matrix(shape)
    refuse_gradients("multi_margin_loss", weight=weight)
    batch = shape[0] if len(shape) == 2 else 1
    if target._data.ndim > 1 or target._data.size != batch:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{batch}], but got "
            f"{list(target._data.shape)}. Input has shape {list(shape)}."
        )
    if weight is not None and weight._data.size != (shape[-1] if shape else 1):
        raise RuntimeError(
            f"inconsistent weight size, expected {shape[-1] if shape else 1} but got "
            f"{list(weight._data.shape)}"
        )
    refuse(multi_margin_op, input._data.dtype)
    _check_long(target)
    classes = shape[-1] if shape else 1
    y = target._data
    require_range(y, 0, classes, lambda _: RuntimeError("target out of range"))
    whole = tuple(target._data.shape)
    if len(shape) < 2 or not whole:  # one sample
        input, target = input.reshape(classes), target.reshape(())
    parameters = {"p": p, "margin": margin, "reduction": reduction}
    loss: Any = apply(multi_margin_op, (input, target, weight), parameters)
    alone = reduction == "none" and len(shape) < 2 and bool(whole)
    return loss.reshape(whole) if alone else loss  # type: ignore[no-any-return]


# --- of sets of classes --------------------------------------------------------------------------


def _members(target: Any) -> tuple[Any, Any]:
    """Which places of the target count (those before the first -1), and which classes are in it."""
    ended = np.cumsum(np.astype(target < 0, np.int64), axis=-1)
    counts = ended == 0
    classes = _count_up(target.shape[-1], target)
    hits = np.logical_and(np.expand_dims(target, -1) == classes, np.expand_dims(counts, -1))
    return counts, np.any(hits, axis=-2)


def _pairs(x: Any, target: Any) -> Any:
    """1 - x[target place] + x[class], and where that counts: places that are, classes that are not."""
    counts, inside = _members(target)
    own = np.take_along_axis(x, np.maximum(target, 0), -1)
    over = 1 - np.expand_dims(own, -1) + np.expand_dims(x, -2)
    matters = np.logical_and(np.expand_dims(counts, -1), np.logical_not(np.expand_dims(inside, -2)))
    return over, np.logical_and(matters, over > 0)


def _multilabel(x: Any, target: Any, reduction: str) -> Any:
    over, matters = _pairs(x, target)
    loss = np.sum(np.where(matters, over, 0), axis=(-2, -1)) / x.shape[-1]
    return fold(loss, reduction)


def _multilabel_vjp(g: Any, x: Any, target: Any, reduction: str) -> Any:
    _, matters = _pairs(x, target)
    hits = np.astype(matters, x.dtype) / x.shape[-1]
    classes = _count_up(x.shape[-1], target)
    own = np.astype(np.expand_dims(np.maximum(target, 0), -1) == classes, x.dtype)
    per_place = np.sum(hits, axis=-1)
    slope = np.sum(hits, axis=-2) - np.sum(np.expand_dims(per_place, -1) * own, axis=-2)
    each = share(g, x.size // x.shape[-1], reduction)
    return slope * (np.expand_dims(each, -1) if reduction == "none" else each)


def _multilabel_jvp(t: Any, x: Any, target: Any, reduction: str) -> Any:
    _, matters = _pairs(x, target)
    own = np.take_along_axis(t, np.maximum(target, 0), -1)
    change = np.expand_dims(t, -2) - np.expand_dims(own, -1)
    moved = np.sum(np.where(matters, change, 0), axis=(-2, -1)) / x.shape[-1]
    return fold(moved, reduction)


multilabel_margin_op = Op(
    "multilabel_margin_loss",
    _multilabel,
    ("x", "target"),
    vjp={"x": _multilabel_vjp},
    jvp={"x": _multilabel_jvp},
    refuses=no_kernel("multilabel_margin_loss_forward_out_frame", "bihc"),
    public="nn.functional.multilabel_margin_loss",
    samples=lambda: [
        Sample(T(3, 4), _index(3, 4, low=-1, high=4)),
        Sample(T(3, 4), _index(3, 4, low=-1, high=4), reduction="none"),
        Sample(T(4), _index(4, low=-1, high=4), reduction="sum"),
    ],
)


@loss(
    "multilabel_margin_loss(Tensor input, Tensor target, bool? size_average=None, "
    "bool? reduce=None, str reduction='mean')"
)
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """Margins of every class in a set (listed up to the first -1) over every class outside of it."""
    shape = tuple(input._data.shape)
    _check_matrix(shape)
    if tuple(target._data.shape) != shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target._data.shape)} for input of size: {list(shape)}"
        )
    refuse(multilabel_margin_op, input._data.dtype)
    _check_long(target)
    y = target._data
    classes = shape[-1] if shape else 1
    require_range(y, -1, classes, lambda _: RuntimeError("argument #2 'target' is out of range"))
    if not shape:
        input, target = input.reshape(1), target.reshape(1)
    return apply(multilabel_margin_op, (input, target), {"reduction": reduction})  # type: ignore[no-any-return]
