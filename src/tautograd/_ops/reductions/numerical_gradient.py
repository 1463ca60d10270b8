"""`gradient`: derivatives of sampled functions by finite differences of second order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dims
from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, public


@public(out=False, method=False)
def gradient(input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    """The derivative along each of `dim`, from neighbours on either side.

    `spacing` is the distance between samples (one number, or one per dimension), or a tensor of
    coordinates per dimension. The ends use one side only, to the first or second order.
    """
    require_tensor("gradient", input)
    ndim = input._data.ndim
    if input._data.dtype == np.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    many = isinstance(spacing, (tuple, list))
    count = len(spacing) if many else None
    if count is not None:
        _check_spacing(count, ndim, dim)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    axes = wrap_dims(dim, ndim, "gradient")
    for axis in axes:
        if ndim and input._data.shape[axis] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    steps = spacing if many else [1.0 if spacing is None else spacing] * len(axes)
    return tuple(
        _along(input, step, axis, edge_order) for step, axis in zip(steps, axes, strict=True)
    )


def _check_spacing(count: int, ndim: int, dim: Any) -> None:
    if dim is None and count != ndim:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {ndim}', since dim argument was not given, but got a list of "
            f"length {count}"
        )
    dims = 1 if isinstance(dim, int) else None if dim is None else len(dim)
    if dims is not None and count != dims:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
            f"arguments to have the same length, but got a spacing argument of length {count} and "
            f"a dim argument of length {dims}."
        )


def _along(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    """The derivative along one dimension: first end, middle, last end."""
    n = f._data.shape[axis]

    def part(start: int, length: int = 1) -> Any:
        return f.narrow(axis, start % n, length)

    if isinstance(step, Tensor) and not step._data.ndim:
        step = step.item()
    if isinstance(step, Tensor):
        first, middle, last = _uneven(part, step, f, axis, edge_order)
    else:
        first, middle, last = _even(part, step, n, edge_order)
    return FUNCTIONS["cat"]([first, middle, last], axis)


def _even(part: Any, step: Any, n: int, edge_order: int) -> Any:
    middle = (part(2, n - 2) - part(0, n - 2)) / (2.0 * step) if n > 2 else part(0, 0) / step
    if edge_order == 1:
        return (part(1) - part(0)) / step, middle, (part(-1) - part(-2)) / step
    first = (-1.5 * part(0) + 2 * part(1) - 0.5 * part(2)) / step
    return first, middle, (0.5 * part(-3) - 2 * part(-2) + 1.5 * part(-1)) / step


def _uneven(part: Any, points: Any, f: Any, axis: int, edge_order: int) -> Any:
    """Weights from the parabola through three points whose distances are h and k."""
    n = f._data.shape[axis]
    width = points.diff()
    shape = [1] * f._data.ndim
    shape[axis] = -1
    h, k = width[:-1].view(shape), width[1:].view(shape)
    middle = (
        -k / (h * (h + k)) * part(0, n - 2)
        + (k - h) / (h * k) * part(1, n - 2)
        + h / (k * (h + k)) * part(2, n - 2)
    )
    if edge_order == 1:
        first, last = (part(1) - part(0)) / width[0], (part(-1) - part(-2)) / width[-1]
        return first, middle, last
    h, k = width[0], width[1]
    first = (
        -(2.0 * h + k) / (h * (h + k)) * part(0)
        + (h + k) / (h * k) * part(1)
        - h / (k * (h + k)) * part(2)
    )
    h, k = width[-1], width[-2]
    last = (
        h / (k * (h + k)) * part(-3)
        - (h + k) / (h * k) * part(-2)
        + (2.0 * h + k) / (h * (h + k)) * part(-1)
    )
    return first, middle, last
