"""ASGD: gradient descent with the average of its iterates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .._tensor.tensor import Tensor
from ._checks import check_settings, chosen
from ._elementwise import USUAL_SETTINGS, Elementwise, Group, State, advance, number, scalar
from ._formulas import add, decayed, multiply

__all__ = ["ASGD"]


class ASGD(Elementwise):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

    _scalars = ("step", "eta", "mu")
    _formula_varies = True
    _capturable_names = "params, mus, etas, and state_steps"
    _defaults_of_old = USUAL_SETTINGS
    _shaped = ("ax",)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_settings(lr=lr, weight_decay=weight_decay)
        defaults = chosen(
            locals(),
            "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable",
        )
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        start = {"eta": scalar(float(group["lr"]), group), "mu": scalar(1.0, group)}
        return super()._new_state(p, group) | start

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        steps, etas, mus = scalars
        step, eta, mu = steps.item(0) + 1, etas.item(0), mus.item(0)
        lr, lambd = number(group["lr"]), group["lambd"]
        # Of the next step: tensors of the default dtype, whichever the states are loaded in.
        shrunk = 1 + lambd * lr * step
        if isinstance(group["lr"], Tensor) and shrunk < 0:  # a tensor's power is real, or none
            shrunk = math.nan
        try:
            eta_next = complex(lr / (shrunk ** group["alpha"])).real
        except OverflowError:
            eta_next = 0.0
        except ZeroDivisionError:
            if not (group["foreach"] or isinstance(group["lr"], Tensor)):
                raise  # a number is divided; a tensor's quotient is infinite
            eta_next = lr * math.inf
        advance(steps)  # from here on nothing can fail
        etas[...] = scalar(eta_next, group)._data
        mus[...] = scalar(1 / max(1, step - group["t0"]), group)._data
        constants = {"decay": group["weight_decay"], "keep": 1 - lambd * eta, "size": -eta}
        return constants if mu == 1 else constants | {"mu": mu}

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        maximize, decays = flags
        (average,) = states
        g = decayed(p, g, c, maximize, decays)
        p = add(multiply(p, c.keep), g, c.size)
        if hasattr(c, "mu"):
            average = add(average, multiply(add(p, -average), c.mu))
        else:
            average = p
        return p, (average,)
