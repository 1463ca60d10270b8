"""Shared helpers: broadcasting parameters, probabilities and logits, lazy attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Generic, TypeVar, overload

import tautograd as torch
from tautograd import Tensor
from tautograd.nn import functional as F
from tautograd.overrides import is_tensor_like

from .._ops.declare.python_surface import speak

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060

Number = (int, float, bool)
"""The types of parameters without a shape."""


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Broadcast all values to tensors of one shape; numbers take the dtype and device of the first tensor."""
    tensors = [is_tensor_like(value) for value in values]
    if not all(t or isinstance(v, Number) for t, v in zip(tensors, values, strict=True)):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    options: dict[str, Any] = {"dtype": torch.get_default_dtype()}
    first = next((value for value in values if isinstance(value, Tensor)), None)
    if first is not None:
        options = {"dtype": first.dtype, "device": first.device}
    made: list[Any] = [
        value if is_tensor else torch.tensor(value, **options)
        for is_tensor, value in zip(tensors, values, strict=True)
    ]
    return tuple(torch.broadcast_tensors(*made))


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value.reshape((*value.shape[:-dim], -1)).sum(-1) if dim else value


# --- probabilities and logits --------------------------------------------------------------------


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities clamped a rounding error away from 0 and 1, so that their logits are finite."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities: of one outcome from its log-odds, or of the classes along the last dimension."""
    return torch.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds of one outcome, or log-probabilities of classes."""
    safe = clamp_probs(probs)
    log = torch.log(safe)
    return log - torch.log1p(-safe) if is_binary else log


# --- lazy attributes -----------------------------------------------------------------------------

Owner = TypeVar("Owner")
Result = TypeVar("Result")


class lazy_property(Generic[Owner, Result]):  # noqa: N801
    """An attribute computed lazily by a method, with gradients on; it can also be set."""

    def __init__(self, wrapped: Callable[[Owner], Result]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, obj_type: Any = None) -> Any: ...
    @overload
    def __get__(self, instance: Owner, obj_type: Any = None) -> Result: ...
    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property[Any, Any], property):  # noqa: N801
    """Shown on the class itself: documentation tools look for a `property`."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


# --- lower triangles as vectors ------------------------------------------------------------------


def _tril_mask(n: int, diag: int, device: Any) -> Tensor:
    places = torch.arange(n, device=device)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below diagonal `diag`, row by row, along a last dimension."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _tril_mask(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The square matrices whose elements on and below diagonal `diag` are these, row by row."""
    # The length is n (n + 1) / 2 + n diag, minus what lies outside; solved for n.
    b = 1 + 2 * diag
    exact = (-b + (b**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(exact)
    if n - exact > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _tril_mask(n, diag, vec.device)] = vec
    return mat


speak(globals(), __all__)
