"""RMSprop: gradients divided by their running root mean square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._tensor.tensor import Tensor
from ._checks import check_settings, chosen
from ._elementwise import USUAL_SETTINGS, Elementwise, Group, advance, number
from ._formulas import add, addcdiv, addcmul, decayed, lerp, multiply, sqrt

__all__ = ["RMSprop"]


class RMSprop(Elementwise):
    """RMSprop (Hinton, 2012), with momentum and, centered, the variance for the mean square."""

    _defaults_of_old = {"momentum": 0, "centered": False} | USUAL_SETTINGS

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = chosen(
            locals(),
            "lr momentum alpha eps centered weight_decay capturable foreach maximize "
            "differentiable",
        )
        super().__init__(params, defaults)

    def _names(self, group: Group) -> tuple[str, ...]:
        momentum = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def _flags(self, group: Group) -> tuple[Any, ...]:
        return *super()._flags(group), group["momentum"] > 0, bool(group["centered"])

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        advance(scalars[0])
        alpha = group["alpha"]
        return {
            "decay": group["weight_decay"],
            "alpha": alpha,
            "weight": 1 - alpha,
            "eps": group["eps"],
            "momentum": group["momentum"],
            "size": -number(group["lr"]),
        }

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        maximize, decays, has_momentum, centered = flags
        squares, *others = states
        g = decayed(p, g, c, maximize, decays)
        squares = variance = addcmul(multiply(squares, c.alpha), g, g, c.weight)
        if centered:
            mean = others[-1] = lerp(others[-1], g, c.weight)
            variance = addcmul(squares, mean, -mean)
        scale = add(sqrt(variance), c.eps)
        if has_momentum:
            others[0] = addcdiv(multiply(others[0], c.momentum), g, scale)
            return add(p, others[0], c.size), (squares, *others)
        return addcdiv(p, g, scale, c.size), (squares, *others)
