"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, make
from ._checks import check, chosen
from ._elementwise import Elementwise, Group, State, number
from ._formulas import add, decayed, detached, multiply

__all__ = ["SGD"]


class SGD(Elementwise):
    """Steps against the gradient, or against a decaying sum of the gradients so far."""

    _scalars = ()
    _defaults_of_old = {  # noqa: RUF012
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        check(not lr < 0.0, f"Invalid learning rate: {lr}")
        check(not momentum < 0.0, f"Invalid momentum value: {momentum}")
        check(not weight_decay < 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = chosen(
            locals(),
            "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused",
        )
        check(
            not (nesterov and (momentum <= 0 or dampening != 0)),
            "Nesterov momentum requires a momentum and zero dampening",
        )
        super().__init__(params, defaults)
        self._allow_fused(fused, foreach, differentiable)

    def _update_group(self, group: Group, number: int) -> None:
        """Handle parameters at their first step, whose momentum is the gradient, as a separate group."""
        if group["momentum"] == 0:
            super()._update_group({**group, "first": False}, number)
            return
        # PyTorch stores None as the momentum of a parameter that never had a gradient.
        params = [p for p in group["params"] if p._grad is not None]
        new = [p for p in params if self.state[p].get("momentum_buffer") is None]
        if not new:
            super()._update_group({**group, "first": False}, number)
            return
        for p in new:
            self.state[p]["momentum_buffer"] = make(np.zeros_like(p._grad._data))
        fresh = set(new)
        old = [p for p in params if p not in fresh]
        super()._update_group({**group, "params": new, "first": True}, number)
        super()._update_group({**group, "params": old, "first": False}, number)

    def _states_of(self, members: list[Tensor], group: Group) -> list[State]:
        return super()._states_of(members, group) if group["momentum"] != 0 else [{}] * len(members)

    def _names(self, group: Group) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _flags(self, group: Group) -> tuple[Any, ...]:
        decay = group["weight_decay"]
        return (
            bool(group["maximize"]),
            isinstance(decay, Tensor) or decay != 0,
            group["momentum"] != 0,
            bool(group["nesterov"]),
            group["first"],
        )

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        return {
            "decay": number(group["weight_decay"]),
            "momentum": group["momentum"],
            "weight": 1 if group["momentum"] == 0 or group["first"] else 1 - group["dampening"],
            "size": -number(group["lr"]),
        }

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        maximize, decays, has_momentum, nesterov, first = flags
        g = decayed(p, g, c, maximize, decays)
        if has_momentum:
            (total,) = states
            total = detached(g) if first else add(multiply(total, c.momentum), g, c.weight)
            states = (total,)
            g = add(g, total, c.momentum) if nesterov else total
        return add(p, g, c.size), states
