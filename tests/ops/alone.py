"""What PyTorch gives for one element by itself, where that is not what it gives among others.

Its vectorised kernels and the scalar ones that finish a row are two implementations (see
`tests.kernels`), and those of a few functions contradict each other: in fmod and remainder a quotient
that overflows makes the result NaN among others, while alone it is exact; softshrink makes 0 of what
lies within lambd among others, while alone it keeps its sign. Where tautograd differs from the one it
must agree with the other.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from .cases import TORCH, Call, is_elementwise, program_of
from .measure import flatten

MOST = 1000  # elements; a record that differs in more differs in kind


def values_alone(call: Call, where: Any, fn: Any = None) -> np.ndarray | None:
    """PyTorch's results at the places given, each computed by itself; NaN elsewhere."""
    if not is_elementwise(call.op) or not 0 < np.sum(where) <= MOST:
        return None
    reference = Call(TORCH, call.op, call.sample, call.dtype, False)
    program = program_of(TORCH, call.op) if fn is None else fn
    found: np.ndarray | None = None
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for place in np.argwhere(where):
            args = [_at(a, where.shape, place) for a in reference.args]
            kwargs = {k: _at(v, where.shape, place) for k, v in reference.kwargs.items()}
            value = TORCH.array(flatten(program(*args, **kwargs), TORCH)[0])
            if found is None:
                found = np.full(
                    where.shape, np.nan, value.dtype if value.dtype.kind == "c" else float
                )
            found[tuple(place)] = value.reshape(())
    return found


def _at(value: Any, shape: tuple[int, ...], place: Any) -> Any:
    """One element of a tensor, as a tensor of one element (a 0-dim one stays as it is)."""
    if not isinstance(value, torch.Tensor) or not value.ndim:
        return value
    return value.broadcast_to(shape)[tuple(place)].clone().reshape(1)
