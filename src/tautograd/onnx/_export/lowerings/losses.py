"""Losses."""

from __future__ import annotations

from typing import Any

from ..graph import V
from ..lowering import lower, number
from .reductions import reduced as reduce_all


def reduced(g: Any, x: Any, reduction: str) -> Any:
    kind = {"mean": "ReduceMean", "sum": "ReduceSum"}.get(reduction)
    return x if kind is None else reduce_all(g, kind, x, None, False)


def shape_of(*tensors: Any) -> tuple[Any, ...]:
    """The shape that they broadcast to."""
    rank = max(t.rank for t in tensors)
    wide = [(1,) * (rank - t.rank) + t.shape for t in tensors]
    return tuple(next((n for n in each if n != 1), 1) for each in zip(*wide, strict=True))


@lower("nll_loss", "nll_loss2d")
def _nll(g: Any, s: Any, x: V, target: V, weight: Any, ignore_index: Any, reduction: str) -> Any:
    if x.rank == 1:
        x = V.of(g.op("Unsqueeze", x, g.axes([0])), (1, *x.shape), x.dtype)
        target = g.op("Reshape", target, g.axes([1]))
        if reduction == "none":
            made = g.op(
                "NegativeLogLikelihoodLoss",
                x,
                target,
                weight,
                ignore_index=ignore_index,
                reduction="none",
            )
            return g.reshape(made, s.out.shape, given=())
    return g.op(
        "NegativeLogLikelihoodLoss",
        x,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=reduction,
    )


@lower("mse_loss")
def _mse(g: Any, s: Any, x: V, y: V, reduction: str) -> Any:
    apart = g.op("Sub", x, y)
    return reduced(g, V.of(g.op("Mul", apart, apart), shape_of(x, y), x.dtype), reduction)


def _bent(g: Any, x: V, y: V, bend: Any, kind: Any) -> tuple[Any, Any, Any]:
    """The distance, whether it is less than `bend`, and half its square."""
    apart = g.op("Abs", g.op("Sub", x, y))
    square = g.op("Mul", g.op("Mul", apart, apart), number(g, 0.5, kind))
    return apart, g.op("Less", apart, number(g, bend, kind)), square


@lower("smooth_l1_loss")
def _smooth_l1(g: Any, s: Any, x: V, y: V, beta: float, reduction: str) -> Any:
    kind = x.dtype
    apart, near, square = _bent(g, x, y, beta, kind)
    if beta == 0:
        return reduced(g, V.of(apart, shape_of(x, y), x.dtype), reduction)
    far = g.op("Sub", apart, number(g, beta / 2, kind))
    return reduced(
        g,
        V.of(
            g.op("Where", near, g.op("Div", square, number(g, beta, kind)), far),
            shape_of(x, y),
            x.dtype,
        ),
        reduction,
    )


@lower("huber_loss")
def _huber(g: Any, s: Any, x: V, y: V, delta: float, reduction: str) -> Any:
    kind = x.dtype
    apart, near, square = _bent(g, x, y, delta, kind)
    far = g.op("Mul", g.op("Sub", apart, number(g, delta / 2, kind)), number(g, delta, kind))
    return reduced(g, V.of(g.op("Where", near, square, far), shape_of(x, y), x.dtype), reduction)


@lower("binary_cross_entropy")
def _bce(g: Any, s: Any, x: V, y: V, weight: Any, reduction: str) -> Any:
    one, least = number(g, 1, x.dtype), number(g, -100.0, x.dtype)
    hit = g.op("Mul", y, g.op("Max", g.op("Log", x), least))
    miss = g.op("Mul", g.op("Sub", one, y), g.op("Max", g.op("Log", g.op("Sub", one, x)), least))
    loss = g.op("Neg", g.op("Add", hit, miss))
    return reduced(
        g,
        V.of(loss if weight is None else g.op("Mul", loss, weight), shape_of(x, y), x.dtype),
        reduction,
    )


@lower("binary_cross_entropy_with_logits")
def _bce_logits(g: Any, s: Any, x: V, y: V, weight: Any, pos_weight: Any, reduction: str) -> Any:
    """`(1 - y) x + (1 + (w - 1) y) softplus(-x)`."""
    one = number(g, 1, x.dtype)
    soft = g.op("Softplus", g.op("Neg", x))
    if pos_weight is not None:
        soft = g.op("Mul", soft, g.op("Add", one, g.op("Mul", g.op("Sub", pos_weight, one), y)))
    loss = g.op("Add", g.op("Mul", g.op("Sub", one, y), x), soft)
    return reduced(
        g,
        V.of(loss if weight is None else g.op("Mul", loss, weight), shape_of(x, y), x.dtype),
        reduction,
    )


@lower("soft_margin_loss")
def _soft_margin(g: Any, s: Any, x: V, y: V, reduction: str) -> Any:
    return reduced(
        g,
        V.of(g.op("Softplus", g.op("Neg", g.op("Mul", x, y))), shape_of(x, y), x.dtype),
        reduction,
    )
