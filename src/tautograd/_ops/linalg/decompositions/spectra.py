"""What the rules of singular values and eigenvalues share.

Vectors are defined up to a factor (a sign; a phase for complex numbers), so only functions that do
not depend on it have a gradient. Where one does, the rules refuse, as PyTorch's do. Equal values
leave a whole space to choose vectors from: gradients through vectors are then infinite, those
through values alone are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import require_all
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ..matrices import identity, raw


def check_gauge(name: str, phase: Any, what: str) -> None:
    """Refuse a loss that depends on the phase of complex vectors, which nothing determines."""
    require_all(
        np.imag(raw(phase)),
        lambda x: np.abs(x) <= 1e-2,
        lambda _: RuntimeError(
            f"{name}: The {what} in the complex case are specified up to multiplication by "
            "e^{i phi}. The specified loss function depends on this "
            + ("phase term, making it" if "svd" in name else "quantity, so it is")
            + " ill-defined."
        ),
    )


def gaps(values: Any) -> Any:
    """The entry at i, j is values[j] - values[i]."""
    return np.expand_dims(values, -2) - np.expand_dims(values, -1)


def divided(x: Any, gap: Any) -> Any:
    """Off-diagonal entries over differences of values; nothing over nothing is nothing."""
    void = (raw(x) == 0) & (raw(gap) == 0)
    mask = identity(x)
    return x / (np.where(void, 1, gap) * (1 - mask) + mask) * (1 - mask)


def over(x: Any, values: Any) -> Any:
    """x / values, and nothing for nothing over nothing."""
    return x / np.where((raw(x) == 0) & (raw(values) == 0), 1, values)


def wants_derivative(x: Any) -> bool:
    """Whether vectors have to be computed although only values are asked for."""
    return isinstance(x, Tensor) and ((modes.grad and x.requires_grad) or bool(modes.forward_level))
