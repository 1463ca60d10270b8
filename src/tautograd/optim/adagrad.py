"""Adagrad: steps divided by the root of the sum of squared gradients so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._tensor.tensor import Tensor
from ._checks import check_settings, chosen
from ._elementwise import Elementwise, Group, State, advance, number, scalar, state_like
from ._formulas import add, addcdiv, addcmul, decayed, sqrt

__all__ = ["Adagrad"]


class Adagrad(Elementwise):
    """Adaptive subgradient steps (Duchi, Hazan and Singer, 2011)."""

    _defaults_of_old = {  # noqa: RUF012
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }
    _shaped = ("sum",)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_settings(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay)
        check_settings(initial_accumulator_value=initial_accumulator_value, eps=eps)
        defaults = chosen(
            locals(),
            "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize "
            "differentiable fused",
        )
        super().__init__(params, defaults)
        self._allow_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(self._new_state(p, group))

    def _new_state(self, p: Tensor, group: Group) -> State:
        start = self.defaults["initial_accumulator_value"]
        if p.is_complex():
            start = complex(start, start)
        return {"step": scalar(0.0, group), "sum": state_like(p, start)}

    def share_memory(self) -> None:
        """Move the sums to memory that processes share."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        advance(scalars[0])
        decayed = 1 + (scalars[0].item(0) - 1) * group["lr_decay"]
        return {
            "decay": group["weight_decay"],
            "eps": group["eps"],
            "size": -(number(group["lr"]) / decayed),
        }

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        maximize, decays = flags
        (total,) = states
        g = decayed(p, g, c, maximize, decays)
        total = addcmul(total, g, g)
        return addcdiv(p, g, add(sqrt(total), c.eps), c.size), (total,)
