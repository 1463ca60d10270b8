"""Adadelta: steps in the units of the parameters, without a learning rate to tune."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._tensor.tensor import Tensor
from ._checks import check, check_settings, chosen
from ._elementwise import CAPTURABLE, USUAL_SETTINGS, Elementwise, Group, advance, number
from ._formulas import add, addcmul, decayed, divide, multiply, sqrt

__all__ = ["Adadelta"]


class Adadelta(Elementwise):
    """Gradients scaled by past steps over past gradients (Zeiler, 2012)."""

    _capturable_devices = CAPTURABLE[:-1]
    _defaults_of_old = USUAL_SETTINGS
    _shaped = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr)
        check(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check_settings(eps=eps, weight_decay=weight_decay)
        defaults = chosen(
            locals(),
            "lr rho eps weight_decay maximize capturable foreach differentiable",
        )
        super().__init__(params, defaults)

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        advance(scalars[0])
        rho = group["rho"]
        return {
            "decay": group["weight_decay"],
            "rho": rho,
            "weight": 1 - rho,
            "eps": group["eps"],
            "size": -number(group["lr"]),
        }

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        maximize, decays = flags
        squares, deltas = states
        g = decayed(p, g, c, maximize, decays)
        squares = addcmul(multiply(squares, c.rho), g, g, c.weight)
        ratio = divide(sqrt(add(deltas, c.eps)), sqrt(add(squares, c.eps)))
        delta = multiply(ratio, g)
        deltas = addcmul(multiply(deltas, c.rho), delta, delta, c.weight)
        return add(p, delta, c.size), (squares, deltas)
