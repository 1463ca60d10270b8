"""Optimizer settings: which ones a parameter group has, and checks with PyTorch's errors."""

from __future__ import annotations

from typing import Any

from .._arrays.dtypes import LEGACY_NAMES
from .._tensor.tensor import Tensor


def chosen(arguments: dict[str, Any], names: str) -> dict[str, Any]:
    """Those of a constructor's arguments that a group has, in PyTorch's order."""
    return {name: arguments[name] for name in names.split()}


def check(condition: Any, text: str) -> None:
    if not condition:
        raise ValueError(text)


def check_learning_rate(lr: Any, text: str = "Invalid learning rate: ") -> None:
    check(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
    check(lr >= 0.0, f"{text}{lr}")


def check_settings(**settings: Any) -> None:
    """Check the settings that mean the same in every optimizer, in the order given."""
    for name, value in settings.items():
        if name == "lr":
            check_learning_rate(value)
        elif name == "betas":
            for i in range(2):
                check(0.0 <= value[i] < 1.0, f"Invalid beta parameter at index {i}: {value[i]}")
        else:
            check(value >= 0.0, f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_fused(fused: Any, foreach: Any, differentiable: Any) -> None:
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_dtype(name: str, parameter: Tensor) -> None:
    """Refuse a parameter that no formula can update: integers, and single-byte floats."""
    kind = parameter.dtype
    if kind.is_complex or (kind.is_floating_point and kind.itemsize > 1):
        return
    if kind.is_floating_point:
        raise NotImplementedError(f"\"{name}.step\" not implemented for '{LEGACY_NAMES[kind]}'")
    raise RuntimeError(
        f"{name}.step(): result type Float can't be cast to the desired output type {LEGACY_NAMES[kind]}"
    )
