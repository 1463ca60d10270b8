"""Losses of pairs and triplets: what belongs together is to be nearer than what does not."""

from __future__ import annotations

from typing import Any

from ...._arrays.dtypes import FLOAT
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import require_tensor
from .distances import pairwise_distance
from .reduction import (
    UNREAD_MEAN,
    function,
    loss,
    numbered_reduction,
    reduced,
    require_pair,
)


def _hinge(input: Any, target: Any, margin: float) -> Any:
    require_pair("hinge_embedding_loss", input, target)
    if input.dtype.category < FLOAT:
        margin = input.new_full((), margin)  # PyTorch reads it in the dtype of the input
    apart = (margin - input).clamp_min(0)
    near = apart.masked_fill(target == 1, 0) if target.dim() else _where_not(target, 1, apart)
    return near + _where_not(target, -1, input)


def _where_not(target: Any, value: int, other: Any) -> Any:
    """`other`, and 0 where the target is this value."""
    from ...declare.public import FUNCTIONS

    return FUNCTIONS["where"](target != value, other, FUNCTIONS["zeros_like"](other))


@loss(
    "hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, "
    "bool? size_average=None, bool? reduce=None, str reduction='mean')"
)
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float, reduction: str) -> Tensor:
    """The distance itself where the target is 1, max(0, margin - distance) where it is -1."""
    found: Tensor = reduced(_hinge(input, target, margin), reduction)
    return found


@loss(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, "
    "bool? size_average=None, bool? reduce=None, str reduction='mean')"
)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str
) -> Tensor:
    """max(0, -y (x1 - x2) + margin)."""
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return _ranking(input1, input2, target, margin, reduction)


def _ranking(input1: Any, input2: Any, target: Any, margin: float, reduction: str) -> Tensor:
    if type(margin) is not float:
        margin = float(margin)  # PyTorch has no other: integers become floats by it
    loss = (-target * (input1 - input2) + margin).clamp_min(0)
    return reduced(loss, reduction)  # type: ignore[no-any-return]


def _cosine(input1: Any, input2: Any, target: Any, margin: float, reduction: str) -> Tensor:
    from ...declare.public import FUNCTIONS

    for place, label in enumerate(("input1", "input2", "target")):
        require_tensor("cosine_embedding_loss", (input1, input2, target)[place], label, place + 1)
    rank = target.dim()
    if rank not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != rank + 1 or input2.dim() != rank + 1:
        sizes = [list(v._data.shape) for v in (input1, input2)]
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes "
            f"{sizes[0]} and {sizes[1]}."
        )
    tiny = 1e-12  # what PyTorch adds to squares here
    product = (input1 * input2).sum(rank)
    squares = ((input1 * input1).sum(rank) + tiny, (input2 * input2).sum(rank) + tiny)
    cosine = product / (squares[0] * squares[1]).sqrt()
    zeros = FUNCTIONS["zeros_like"](cosine)
    far, near = (cosine - margin).clamp_min(0), 1 - cosine
    where = FUNCTIONS["where"]
    loss = where(target == 1, near, zeros) + where(target == -1, far, zeros)
    return reduced(loss, reduction)  # type: ignore[no-any-return]


@loss(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, "
    "bool? size_average=None, bool? reduce=None, str reduction='mean')"
)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    return _cosine(input1, input2, target, margin, reduction)


def _triplet(
    anchor: Any, positive: Any, negative: Any, distance: Any, margin: float, swap: bool
) -> Any:
    ranks = [v.dim() for v in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative "
            f"{ranks[2]}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        from ...declare.public import FUNCTIONS

        far = FUNCTIONS["min"](far, distance(positive, negative))
    return (margin + near - far).clamp_min(0)


@loss(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, "
    "float margin=1.0, float p=2, float eps=1e-6, bool swap=False, "
    "bool? size_average=None, bool? reduce=None, str reduction='mean')"
)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    p: float,
    eps: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    """max(0, margin + distance to the positive - distance to the negative)."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")

    def distance(x: Any, y: Any) -> Any:
        return pairwise_distance(x, y, p, eps)

    loss = _triplet(anchor, positive, negative, distance, margin, swap)
    return reduced(loss, reduction)  # type: ignore[no-any-return]


@loss(
    "triplet_margin_with_distance_loss(Tensor anchor, Tensor positive, Tensor negative, *, "
    "Any distance_function=None, float margin=1.0, bool swap=False, str reduction='mean')"
)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function: Any,
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    """`triplet_margin_loss` with a distance of your own."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    loss = _triplet(anchor, positive, negative, distance, margin, swap)
    return reduced(loss, reduction)  # type: ignore[no-any-return]


# --- as functions of the top level, which take the reduction by number ---------------------------


def _hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, reduction: int = UNREAD_MEAN
) -> Tensor:
    """The distance itself where the target is 1, max(0, margin - distance) where it is -1."""
    return reduced(_hinge(input, target, margin), numbered_reduction(reduction))  # type: ignore[no-any-return]


def _margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = UNREAD_MEAN
) -> Tensor:
    """max(0, -y (x1 - x2) + margin)."""
    return _ranking(input1, input2, target, margin, numbered_reduction(reduction))


def _cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = UNREAD_MEAN
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    return _cosine(input1, input2, target, margin, numbered_reduction(reduction))


def _triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = UNREAD_MEAN,
) -> Tensor:
    """max(0, margin + distance to the positive - distance to the negative)."""
    chosen = numbered_reduction(reduction)
    return triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=chosen)


for _fn in (
    _hinge_embedding_loss, _margin_ranking_loss, _cosine_embedding_loss, _triplet_margin_loss,
):  # fmt: skip
    _fn.__name__ = _fn.__qualname__ = _fn.__name__[1:]
    function(_fn)
