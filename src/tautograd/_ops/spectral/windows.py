"""`hann_window` and the other windows by their older names, periodic unless asked otherwise."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch

from ..._tensor.tensor import Tensor
from ..declare.guarding import by_signature

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]

_OPTIONS = {"dtype", "layout", "device", "pin_memory", "requires_grad"}


def _times(name: str, length: int, periodic: bool, options: dict[str, Any]) -> Any:
    """t = 0, 1, …, and how many steps a period has; or the window itself, where it is that short."""
    for unknown in options.keys() - _OPTIONS:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    dtype = options.get("dtype") or torch.get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )
    options = {**options, "dtype": dtype}
    wants = options.pop("requires_grad", False)
    if length < 2:
        return torch.ones(length, **options).requires_grad_(wants), 0, wants
    return torch.arange(length, **options), length if periodic else length - 1, wants


def _waves(name: str, length: int, periodic: bool, weights: Any, options: Any) -> Tensor:
    t, period, wants = _times(name, length, periodic, options)
    if not period:
        return t  # type: ignore[no-any-return]
    angle = t * (2 * math.pi / period)
    found: Any = sum((-1) ** i * w * (angle * i).cos() for i, w in enumerate(weights))
    return found.requires_grad_(wants)  # type: ignore[no-any-return]


@by_signature
def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """(1 - cos t) / 2 over one period."""
    return _waves("hann_window", window_length, periodic, (0.5, 0.5), options)


@by_signature
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Any,
) -> Tensor:
    """α - β cos t over one period."""
    return _waves("hamming_window", window_length, periodic, (alpha, beta), options)


@by_signature
def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """0.42 - 0.5 cos t + 0.08 cos 2t over one period."""
    return _waves("blackman_window", window_length, periodic, (0.42, 0.5, 0.08), options)


@by_signature
def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle."""
    t, period, wants = _times("bartlett_window", window_length, periodic, options)
    if not period:
        return t  # type: ignore[no-any-return]
    return (1 - (t * (2.0 / period) - 1).abs()).requires_grad_(wants)  # type: ignore[no-any-return]


@by_signature
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Tensor:
    """I₀(β √(1 - x²)) / I₀(β), with x from -1 to 1."""
    t, period, wants = _times("kaiser_window", window_length, periodic, options)
    if not period:
        return t  # type: ignore[no-any-return]
    place = t * (2.0 / period) - 1
    edge = torch.tensor(beta, dtype=torch.float64)
    found = torch.i0(beta * (1 - place**2).clamp_min(0).sqrt()) / torch.i0(edge).item()
    return found.requires_grad_(wants)
