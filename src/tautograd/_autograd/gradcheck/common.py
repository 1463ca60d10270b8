"""What every part of a gradient check shares: what is checked, how closely, and small helpers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import from_numpy_dtype
from ..._arrays.limits import finfo
from ..._ops.declare.promotion import plain_number
from ..._random import Generator, uniform
from ..._tensor.tensor import Tensor

# A batch holds one whole input per column; larger ones are done in parts.
BATCH_ENTRIES = 1 << 17


class GradcheckError(RuntimeError):
    """A gradient that is wrong, with the numbers that show it."""


class Check:
    """What is being checked, and how closely."""

    def __init__(
        self, func: Any, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float
    ) -> None:
        self.func = func
        self.inputs = inputs
        self.eps, self.atol, self.rtol = plain_number(eps), plain_number(atol), plain_number(rtol)
        self.nondet_tol = 0.0
        self.check_grad_dtypes = False
        self.fast = False
        # Set while one part of complex outputs (or inputs, in forward mode) is looked at.
        self.part: str | None = None
        self.complex_places: tuple[int, ...] = ()

    def with_function(self, func: Any, inputs: Any, part: str | None, places: Any) -> Check:
        copy = Check(func, inputs, self.eps, self.atol, self.rtol)
        copy.nondet_tol, copy.check_grad_dtypes, copy.fast = (
            self.nondet_tol,
            self.check_grad_dtypes,
            self.fast,
        )
        copy.part, copy.complex_places = part, tuple(places)
        return copy

    @property
    def wanted(self) -> list[int]:
        """Which inputs are differentiated."""
        return [i for i, x in enumerate(self.inputs) if isinstance(x, Tensor) and x.requires_grad]


def epsilon_of(array: Any) -> float:
    """The distance from one to the next number of an array's dtype; zero for whole numbers."""
    kind = from_numpy_dtype(array.dtype)
    return float(finfo(kind).eps) if kind.is_floating_point or kind.is_complex else 0.0


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value._data.dtype.kind in "fcV"


def direction(shape: Any, generator: Generator, dtype: Any = np.float64) -> Any:
    """A random vector of length 1 without negative entries."""
    size = int(np.prod(shape))
    vector = np.astype(uniform(generator, (size,), dtype=np.dtype(np.float32)), dtype)
    return vector / (np.linalg.norm(vector) or 1)


def recorded(outputs: tuple[Any, ...]) -> list[Tensor]:
    return [o for o in outputs if isinstance(o, Tensor) and o.requires_grad]


def unit(tensor: Tensor, index: Any, amount: Any) -> Any:
    """An array like a tensor's that is zero but for one entry."""
    step = np.zeros_like(tensor._data)
    step[index] = amount
    return step


def require_callable(name: str, func: Any) -> None:
    if not callable(func):
        raise TypeError(f"{name}(): argument 'func' must be callable, not {type(func).__name__}")


def require_float(name: str, argument: str, value: Any) -> None:
    """Refuse a step or tolerance that is no real number, before any difference is taken."""
    single = isinstance(value, Tensor) and value.numel() == 1 and not value.is_complex()
    if not single and not isinstance(value, (int, float, np.floating, np.integer)):
        raise TypeError(
            f"{name}(): argument '{argument}' must be float, not {type(value).__name__}"
        )
