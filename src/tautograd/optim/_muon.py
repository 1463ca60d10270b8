"""Muon: orthogonalised momentum, for the matrices of hidden layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from .._ops.declare.public import FUNCTIONS
from ._checks import check, check_learning_rate, chosen
from .optimizer import Optimizer

__all__ = ["Muon"]


class Muon(Optimizer):
    """Momentum orthogonalised by Newton-Schulz iterations (Jordan et al., 2024)."""

    _by_elements = False
    _takes_complex = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr, "Learning rate should be >= 0 but is: ")
        check(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        check(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        check(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            f"Adjust learning rate function {adjust_lr_fn} is not supported",
        )
        defaults = chosen(
            locals(),
            "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn",
        )
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                check(
                    p.ndim == 2,
                    "Muon only supports 2D parameters whereas we found a parameter with size: "
                    f"{p.size()}",
                )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients."""
        return self._step_with(closure)

    def _update_group(self, group: dict[str, Any], number: int) -> None:
        lr, momentum = float(group["lr"]), group["momentum"]
        for p in group["params"]:
            grad = p._grad
            if grad is None:
                continue
            self._check_dense(p)
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = FUNCTIONS["zeros_like"](grad)
            check(grad.ndim == 2, "Param gradient must be a 2D matrix")
            average = state["momentum_buffer"]
            average.lerp_(grad, 1 - momentum)
            update = grad.lerp(average, momentum) if group["nesterov"] else average
            update = orthogonalised(
                update, group["ns_coefficients"], group["ns_steps"], group["eps"]
            )
            p.mul_(1 - lr * group["weight_decay"])
            p.add_(update, alpha=-lr * _factor(group["adjust_lr_fn"], *p.shape))


def orthogonalised(matrix: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """A matrix with its singular values moved near one, by a quintic iteration in bfloat16."""
    check(steps < 100, "Number of steps must be less than 100 for computational efficiency")
    check(len(coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16()
    if tall:
        x = x.T
    x = x.div(x.norm().clamp(min=eps))  # the largest singular value is at most one
    addmm = FUNCTIONS["addmm"]
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _factor(adjust: str | None, rows: int, columns: int) -> float:
    """The factor on the learning rate that makes updates of all shapes comparable."""
    if adjust == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
