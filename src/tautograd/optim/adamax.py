"""Adamax: Adam with the largest gradient in place of the mean square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from ._checks import check_settings, chosen
from ._elementwise import USUAL_SETTINGS, Elementwise, Group, advance, number
from ._formulas import add, addcdiv, decayed, lerp, multiply

__all__ = ["Adamax"]


class Adamax(Elementwise):
    """The variant of Adam with the infinity norm (Kingma and Ba, 2015)."""

    _defaults_of_old = USUAL_SETTINGS
    _shaped = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = chosen(
            locals(),
            "lr betas eps weight_decay foreach maximize differentiable capturable",
        )
        super().__init__(params, defaults)

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        advance(scalars[0])
        beta1, beta2 = group["betas"]
        return {
            "decay": group["weight_decay"],
            "weight1": 1 - beta1,
            "beta2": beta2,
            "eps": group["eps"],
            "size": -(number(group["lr"]) / (1 - beta1 ** scalars[0].item(0))),
        }

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        maximize, decays = flags
        m, largest = states
        g = decayed(p, g, c, maximize, decays)
        m = lerp(m, g, c.weight1)
        largest = np.maximum(multiply(largest, c.beta2), add(np.abs(g), c.eps))
        return addcdiv(p, m, largest, c.size), (m, largest)
