"""Adafactor: second moments stored as one row and one column per matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._arrays.dtypes import from_numpy_dtype
from .._arrays.limits import finfo
from .._tensor.tensor import Tensor
from ._checks import check, check_learning_rate, chosen
from ._elementwise import scalar
from .optimizer import Optimizer

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adaptive learning rates with sublinear memory (Shazeer and Stern, 2018)."""

    _by_elements = False
    _takes_complex = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr, "Learning rate should be >= 0 but is: ")
        check(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        check(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        check(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        check(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = chosen(locals(), "lr beta2_decay eps d weight_decay foreach maximize")
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            for p in group["params"]:
                saved = self.state.get(p)
                if saved and not isinstance(saved["step"], Tensor):
                    saved["step"] = scalar(float(saved["step"]), group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients."""
        return self._step_with(closure)

    def _update_group(self, group: dict[str, Any], number: int) -> None:
        for p in group["params"]:
            if p._grad is None:
                continue
            self._check_dense(p)
            state = self.state[p]
            if not state:
                state.update(_new_state(p._grad, group))
            _update(p, -p._grad if group["maximize"] else p._grad, state, group)


def _new_state(grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
    state: dict[str, Any] = {"step": scalar(0.0, group)}
    if grad.ndim > 1:
        *leading, rows, columns = grad.shape
        state["row_var"] = grad.new_zeros([*leading, rows, 1])
        state["col_var"] = grad.new_zeros([*leading, 1, columns])
    else:
        state["variance"] = grad.new_zeros(grad.shape)
    return state


def _update(p: Tensor, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    steps = state["step"]._data
    np.add(steps, 1, out=steps)
    step = steps.item()
    lr = float(group["lr"])
    eps1, eps2 = group["eps"]
    if eps1 is None:
        eps1 = finfo(from_numpy_dtype(p._data.dtype)).eps
    weight = step ** group["beta2_decay"]
    size = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / step**0.5)
    if group["weight_decay"] != 0:
        p.mul_(1 - lr * group["weight_decay"])
    if grad.ndim > 1:
        row, column = state["row_var"], state["col_var"]
        row.lerp_(grad.norm(dim=-1, keepdim=True).square().div(grad.shape[-1]), weight)
        column.lerp_(grad.norm(dim=-2, keepdim=True).square().div(grad.shape[-2]), weight)
        variance = row @ column
        variance.div_(row.mean(dim=-2, keepdim=True).clamp(min=eps1))
    else:
        state["variance"].lerp_(grad * grad, weight)
        variance = state["variance"].clone()
    update = variance.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
    clip = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
    p.add_(update, alpha=-size / clip)
