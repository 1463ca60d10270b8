"""Adam: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from ._checks import check, check_settings, chosen
from ._elementwise import Elementwise, Group, advance, number
from ._formulas import add, addcdiv, divide, moments, sqrt

__all__ = ["Adam"]


class Adam(Elementwise):
    """Adam (Kingma and Ba, 2015), with AMSGrad (Reddi et al., 2018) and decoupled weight decay."""

    _for_sparse_gradients = "SparseAdam"
    _defaults_of_old = {  # noqa: RUF012
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
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
        _check_tensor("lr", lr, foreach, capturable)
        check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        kinds = [isinstance(beta, Tensor) for beta in betas]
        check(
            all(kinds) or all(isinstance(beta, float) for beta in betas),
            "betas must be either both floats or both Tensors",
        )
        for i, beta in enumerate(betas):
            _check_tensor(f"betas[{i}]", beta, foreach, capturable)
            check(not kinds[i] or beta.numel() == 1, f"Tensor betas[{i}] must be 1-element")  # type: ignore[union-attr]
        betas = tuple(b.squeeze() if isinstance(b, Tensor) and b.ndim else b for b in betas)  # type: ignore[assignment]
        defaults = chosen(
            locals(),
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable "
            "fused decoupled_weight_decay",
        )
        super().__init__(params, defaults)
        self._allow_fused(fused, foreach, differentiable)

    def _names(self, group: Group) -> tuple[str, ...]:
        return _WITH_LARGEST if group["amsgrad"] else _NAMES

    def _flags(self, group: Group) -> tuple[Any, ...]:
        if group["foreach"] and not group["capturable"]:
            _check_tensor("lr", group["lr"], True, False, RuntimeError)
        decay = group["weight_decay"]
        decays = isinstance(decay, Tensor) or decay != 0
        # Without weight decay it makes no difference how it is done.
        return bool(group["maximize"]), decays, decays and bool(group["decoupled_weight_decay"])

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        step = advance(scalars[0])
        lr, decay = group["lr"], number(group["weight_decay"])
        beta1, beta2 = group["betas"]
        if not (type(lr) is type(beta1) is type(beta2) is float):
            lr, beta1, beta2 = number(lr), number(beta1), number(beta2)
        return {
            "decay": decay,
            "keep": 1 - lr * decay,
            "weight1": 1 - beta1,
            "beta2": beta2,
            "weight2": 1 - beta2,
            "root": (1 - beta2**step) ** 0.5,
            "eps": group["eps"],
            "size": -(lr / (1 - beta1**step)),
        }

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        m, v, *largest = states
        p, g, m, v = moments(p, g, (m, v), c, flags)
        if largest:
            largest = [np.maximum(largest[0], v)]
        denominator = add(divide(sqrt(largest[0] if largest else v), c.root), c.eps)
        return addcdiv(p, m, denominator, c.size), (m, v, *largest)


_NAMES = "exp_avg", "exp_avg_sq"
_WITH_LARGEST = (*_NAMES, "max_exp_avg_sq")


def _check_tensor(
    name: str, value: Any, foreach: Any, capturable: Any, error: type[Exception] = ValueError
) -> None:
    if isinstance(value, Tensor) and foreach and not capturable:
        raise error(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
