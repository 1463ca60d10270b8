"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._tensor.tensor import Tensor
from ._checks import check_settings, chosen
from ._elementwise import Group, State, TwoMoments, advance, at, number, scalar
from ._formulas import add, addcdiv, divide, moments, sqrt

__all__ = ["NAdam"]


class NAdam(TwoMoments):
    """Adam that looks ahead along its momentum (Dozat, 2016)."""

    _scalars = ("step", "mu_product")
    _capturable_names = "params, mu_products and state_steps"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        check_settings(momentum_decay=momentum_decay)
        defaults = chosen(
            locals(),
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize "
            "foreach capturable differentiable",
        )
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        return super()._new_state(p, group) | {"mu_product": scalar(1.0, group)}

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        steps, products = scalars
        advance(steps)
        step = steps.item(0)
        lr, decay = number(group["lr"]), group["weight_decay"]
        beta1, beta2 = group["betas"]

        def momentum(step: float) -> Any:
            return beta1 * (1.0 - 0.5 * (0.96 ** (step * group["momentum_decay"])))

        mu, mu_next = momentum(step), momentum(step + 1)
        products *= mu
        product = at(products)
        return {
            "decay": decay,
            "keep": 1 - lr * decay,
            "weight1": 1 - beta1,
            "beta2": beta2,
            "weight2": 1 - beta2,
            "correction": 1 - beta2**step,
            "eps": group["eps"],
            "size_now": -lr * (1.0 - mu) / (1.0 - product),
            "size_next": -lr * mu_next / (1.0 - product * mu_next),
        }

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        p, g, m, v = moments(p, g, states, c, flags)
        denominator = add(sqrt(divide(v, c.correction)), c.eps)
        p = addcdiv(p, g, denominator, c.size_now)
        return addcdiv(p, m, denominator, c.size_next), (m, v)
