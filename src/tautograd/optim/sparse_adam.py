"""SparseAdam: Adam for gradients that are mostly absent, as those of `Embedding(sparse=True)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._tensor.tensor import Tensor
from ._checks import check, check_settings
from .optimizer import Optimizer

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that updates only the elements that have a gradient; dense gradients are refused."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        check(lr > 0.0, f"Invalid learning rate: {lr}")
        check(eps > 0.0, f"Invalid epsilon value: {eps}")
        check_settings(betas=betas)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, defaults)
        for kind, needs in (
            ("sparse", "requires dense parameter tensors"),
            ("complex", "does not support complex parameters"),
        ):
            found = [
                [i, j]
                for i, group in enumerate(self.param_groups)
                for j, p in enumerate(group["params"])
                if (p.is_complex() if kind == "complex" else p.is_sparse)
            ]
            check(not found, f"{kind.title()} params at indices {found}: SparseAdam {needs}")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients."""
        return self._step_with(closure)

    def _check_parameter(self, parameter: Tensor) -> None:
        super()._check_parameter(parameter)
        if not parameter._grad.is_sparse:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )

    def _update_group(self, group: dict[str, Any], number: int) -> None:
        """A no-op: sparse gradients have been taken out of the group, and others were refused."""
