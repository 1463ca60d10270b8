"""Rprop: steps of their own size, which grows while the sign of the gradient stays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, make
from ._checks import check, check_settings, chosen
from ._elementwise import USUAL_SETTINGS, Elementwise, Group, State, advance, scalar, state_like
from ._formulas import add, multiply, narrow, rounded

__all__ = ["Rprop"]


class Rprop(Elementwise):
    """Resilient backpropagation (Riedmiller and Braun, 1993)."""

    _defaults_of_old = USUAL_SETTINGS
    _shaped = ("prev", "step_size")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr)
        check(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = chosen(
            locals(),
            "lr etas step_sizes foreach maximize differentiable capturable",
        )
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        lr = float(group["lr"])
        size = complex(lr, lr) if p.is_complex() else lr
        return {
            "step": scalar(0.0, group),
            "prev": state_like(p),
            "step_size": make(np.full_like(p._grad._data, size)),
        }

    def _flags(self, group: Group) -> tuple[Any, ...]:
        return (bool(group["maximize"]),)

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        advance(scalars[0])
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        return {"shrink": shrink, "grow": grow, "smallest": smallest, "largest": largest}

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        (maximize,) = flags
        previous, size = states
        if maximize:
            g = -g
        turn = multiply(g, previous)  # below zero where the sign has changed
        factor = np.where(turn > 0, narrow(c.grow), np.where(turn < 0, narrow(c.shrink), 1.0))
        size = rounded(np.minimum(np.maximum(multiply(size, factor), c.smallest), c.largest))
        # There the parameter stays, and the next sign is not compared with this one.
        g = np.where(turn < 0, 0.0, g)
        move = np.where(g > 0, -size, np.where(g < 0, size, 0.0))
        return add(p, move), (g, size)
