"""Jacobians as PyTorch's `gradcheck` once handed them out: `get_numerical_jacobian` and its analytical twin."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, make
from ..api import grad
from .common import as_tuple
from .differences import numerical


def _warn(name: str, instead: str) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it "
        f"and it will be removed in a future version of PyTorch. {instead}",
        FutureWarning,
        stacklevel=3,
    )


def _check_grad_out(grad_out: float) -> None:
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_numerical_jacobian and get_analytical_jacobian no longer "
            f"support values of grad_out != 1.0; got {grad_out}"
        )


def _wanted(inputs: Any) -> list[Tensor]:
    return [x for x in as_tuple(inputs) if isinstance(x, Tensor) and x.requires_grad]


def get_numerical_jacobian(
    fn: Callable[[Any], Any],
    inputs: Any,
    target: Any = None,
    eps: float = 1e-3,
    grad_out: float = 1.0,
) -> list[Tensor]:
    """The Jacobian of the first output by each input that wants a gradient, a row per entry of the input."""
    _warn("get_numerical_jacobian", "If you have a specific use for this, file an issue.")
    _check_grad_out(grad_out)
    given = as_tuple(inputs)
    chosen = _wanted(given if target is None else target)

    def called(*args: Any) -> Any:
        return fn(args)

    places = [next(i for i, x in enumerate(given) if x is tensor) for tensor in chosen]
    return [make(np.asarray(numerical(called, given, nr, eps)[0])) for nr in places]


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobian by backward; then whether two passes agree, and gradients have size and dtype of inputs."""
    _warn("get_analytical_jacobian", "If you have a specific use for this, file an issue.")
    _check_grad_out(grad_out)
    wanted = _wanted(inputs)
    sizes_fit = types_fit = True
    passes = []
    for _ in range(2):
        rows = []
        for index in np.ndindex(output._data.shape):
            unit = make(np.zeros_like(output._data))
            unit._data[index] = 1
            found = grad(output, wanted, unit, retain_graph=True, allow_unused=True)
            for x, g in zip(wanted, found, strict=True):
                sizes_fit &= g is None or g.shape == x.shape
                types_fit &= g is None or g.dtype is x.dtype
            rows.append([_column(x, g) for x, g in zip(wanted, found, strict=True)])
        passes.append([np.stack(column, axis=1) for column in zip(*rows, strict=True)])
    first, second = passes
    reentrant = all(
        np.max(np.abs(a - b), initial=0) <= nondet_tol for a, b in zip(first, second, strict=True)
    )
    return tuple(make(j) for j in first), bool(reentrant), bool(sizes_fit), bool(types_fit)


def _column(x: Tensor, gradient: Any) -> Any:
    if gradient is None:
        return np.zeros_like(x._data, shape=(x._data.size,))
    return np.reshape(gradient._data, (-1,))
