"""Adam, and AdamW, whose weight decay does not go through the moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, make
from .optimizer import Optimizer

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Steps scaled by running averages of the gradient and of its square (Kingma and Ba, 2015)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if not lr >= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps >= 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        if not weight_decay >= 0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients."""
        return self._step_with(closure)

    def _update_group(self, group: dict[str, Any], number: int) -> None:
        names = ("exp_avg", "exp_avg_sq") + (("max_exp_avg_sq",) if group["amsgrad"] else ())
        by_step: dict[float, list[Tensor]] = {}
        for p in group["params"]:
            if p._grad is None:
                continue
            state = self.state[p]
            if not state:
                self._check_dense(p)
                state["step"] = make(np.zeros((), np.float32))
                for name in names:
                    state[name] = make(np.zeros_like(p._data))
            count = state["step"]._data
            np.add(count, 1, out=count)
            by_step.setdefault(count.item(), []).append(p)
        for step, members in by_step.items():
            rows = [[self.state[p][name] for p in members] for name in names]
            self._run(
                self._kernel(group, step),
                (number, step if len(by_step) > 1 else None),
                group,
                members,
                rows,
            )

    def _kernel(self, group: dict[str, Any], step: float) -> Any:
        lr, (beta1, beta2) = float(group["lr"]), group["betas"]
        decay, eps, maximize = group["weight_decay"], group["eps"], group["maximize"]
        decoupled = group.get("decoupled_weight_decay", False)
        size = lr / (1 - beta1**step)
        root = (1 - beta2**step) ** 0.5

        def kernel(p: Any, g: Any, states: tuple[Any, ...], c: Any) -> Any:
            m, v, *largest = states
            if maximize:
                g = -g
            if decay != 0:
                if decoupled:
                    p = p * c(1 - lr * decay)
                else:
                    g = g + p * c(decay)
            m = m + c(1 - beta1) * (g - m)
            v = v * c(beta2) + c(1 - beta2) * g * g
            if largest:
                largest = [np.maximum(largest[0], v)]
            denominator = np.sqrt(largest[0] if largest else v) / c(root) + c(eps)
            return p - c(size) * m / denominator, (m, v, *largest)

        return kernel


class AdamW(Adam):
    """Adam with weight decay beside the step, not in the gradient (Loshchilov and Hutter, 2019)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
