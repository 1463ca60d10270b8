"""Windows: weights that fade a stretch of a signal in and out.

Each is a formula at M points; one that is not symmetric is periodic, that is, its M + 1st point would be
its first again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import tautograd as torch

from .._ops.declare.python_surface import speak
from .._tensor.tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _checked(name: str, M: int, options: dict[str, Any]) -> dict[str, Any]:
    """Where the window goes, with its dtype filled in."""
    unknown = options.keys() - {"dtype", "layout", "device", "requires_grad"}
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown.pop()}'")
    dtype = options.get("dtype") or torch.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    layout = options.get("layout", torch.strided)
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return {**options, "dtype": dtype}


def _window(
    M: int,
    options: dict[str, Any],
    span: tuple[Any, Any],
    formula: Callable[[Tensor], Tensor],
    one: bool = False,
) -> Tensor:
    """The formula at M points from one end of the span to the other."""
    if M == 0:
        return torch.empty((0,), **options)
    if M == 1 and one:
        return torch.ones((1,), **options)
    return formula(torch.linspace(span[0], span[1], steps=M, **options))


def _length(M: int, sym: bool) -> int:
    """How many steps a whole period has."""
    return M if M > 1 and not sym else M - 1


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Tensor:
    """e^{-|t - center| / tau}."""
    options = _checked("exponential", M, options)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = _length(M, sym) / 2.0 if center is None or M == 0 else center
    span = (-middle / tau, (M - 1 - middle) / tau)
    return _window(M, options, span, lambda t: torch.exp(-torch.abs(t)))


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Half a wave of a sine."""
    options = _checked("cosine", M, options)
    step = math.pi / (_length(M, sym) + 1) if M else 0.0
    return _window(M, options, (0.5 * step, (M - 0.5) * step), torch.sin)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """A bell of this standard deviation."""
    options = _checked("gaussian", M, options)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    start, unit = -_length(M, sym) / 2.0, 1 / (std * math.sqrt(2))
    span = (start * unit, (start + M - 1) * unit)
    return _window(M, options, span, lambda t: torch.exp(-(t**2)))


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """I₀(√(β² - t²)) / I₀(β), with t from -β to β."""
    options = _checked("kaiser", M, options)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    edge = torch.tensor(beta, dtype=options["dtype"], device=options.get("device"))
    step = 2.0 * edge / max(_length(M, sym), 1)
    last = torch.minimum(edge, -edge + (M - 1) * step)
    span = (-edge.item(), last.item())
    return _window(
        M,
        options,
        span,
        lambda t: torch.i0(torch.sqrt(edge * edge - torch.pow(t, 2))) / torch.i0(edge),
        one=True,
    )


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A triangle."""
    options = _checked("bartlett", M, options)
    step = 2 / max(_length(M, sym), 1)
    span = (-1, -1 + (M - 1) * step)
    return _window(M, options, span, lambda t: 1 - torch.abs(t), one=True)


def general_cosine(M: int, *, a: Any, sym: bool = True, **options: Any) -> Tensor:
    """Σᵢ (-1)ⁱ aᵢ cos(i t) over one period."""
    options = _checked("general_cosine", M, options)
    if M > 1:
        if not isinstance(a, Iterable):
            raise TypeError("Coefficients must be a list/tuple")
        a = list(a)
        if not a:
            raise ValueError("Coefficients cannot be empty")
    step = 2 * math.pi / max(_length(M, sym), 1)

    def sum_of_waves(t: Tensor) -> Tensor:
        signed = torch.tensor(
            [(-1) ** i * weight for i, weight in enumerate(a)], dtype=t.dtype, device=t.device
        ).unsqueeze(-1)
        counts = torch.arange(len(a), dtype=t.dtype, device=t.device).unsqueeze(-1)
        return (signed * torch.cos(counts * t)).sum(0)

    return _window(M, options, (0, (M - 1) * step), sum_of_waves, one=True)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """α - (1 - α) cos t over one period."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.54 - 0.46 cos t over one period."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """(1 - cos t) / 2 over one period."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.42 - 0.5 cos t + 0.08 cos 2t over one period."""
    options = _checked("blackman", M, options)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Four waves, with low side lobes."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


speak(globals(), __all__)
