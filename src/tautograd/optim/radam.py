"""RAdam: Adam that takes plain momentum steps until its variance can be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._tensor.tensor import Tensor
from ._checks import check_settings, chosen
from ._elementwise import Group, TwoMoments, advance, number
from ._formulas import add, divide, moments, multiply, over, sqrt

__all__ = ["RAdam"]


class RAdam(TwoMoments):
    """Adam with a rectified learning rate (Liu et al., 2020)."""

    _formula_varies = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = chosen(
            locals(),
            "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
            "differentiable",
        )
        super().__init__(params, defaults)

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        advance(scalars[0])
        step = scalars[0].item(0)
        lr, decay = number(group["lr"]), group["weight_decay"]
        beta1, beta2 = group["betas"]
        correction2 = 1 - beta2**step
        # The length of the average, at its longest and now (rho in the paper).
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction2
        if length > 5.0:
            rectified = (length - 4) * (length - 2) * longest
            rectified = (rectified / ((longest - 4) * (longest - 2) * length)) ** 0.5
            adaptive = {"root": correction2**0.5, "rectified": rectified}
        else:
            adaptive = {}
        return {
            "decay": decay,
            "keep": 1 - lr * decay,
            "weight1": 1 - beta1,
            "beta2": beta2,
            "weight2": 1 - beta2,
            "correction1": 1 - beta1**step,
            "lr": lr,
            "eps": group["eps"],
            **adaptive,
        }

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        p, g, m, v = moments(p, g, states, c, flags)
        update = multiply(divide(m, c.correction1), c.lr)
        if hasattr(c, "rectified"):
            update = multiply(update, over(c.root, add(sqrt(v), c.eps)))
            update = multiply(update, c.rectified)
        return add(p, -update), (m, v)
