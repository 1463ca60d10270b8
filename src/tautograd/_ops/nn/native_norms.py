"""Norms by kernels, for NumPy's own arrays in row-major order; None where that does not apply.

Weights and biases that are not there are ones and zeros, which cost less than a second kernel would.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.kernels import FEWEST, kernel

_ndarray = np.ndarray
_COLUMNS = 64  # of a unit where columns are added up (`_kernels/rows.py`)
_SHORTEST = 8  # numbers of a channel that lie together: with fewer, vectors are mostly empty


def _is_worth_it(x: Any) -> bool:
    return type(x) is _ndarray and x.size >= FEWEST


def _or_ones(weight: Any, width: int, dtype: Any) -> Any:
    return np.ones(width, dtype) if weight is None else weight


def _or_zeros(bias: Any, width: int, dtype: Any) -> Any:
    return np.zeros(width, dtype) if bias is None else bias


def row_norms(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalised rows, their means and one over their deviations."""
    if not _is_worth_it(x):
        return None
    width = x.shape[-1]
    if any(v is not None and v.shape != (width,) for v in (weight, bias)):
        return None
    weight, bias = _or_ones(weight, width, x.dtype), _or_zeros(bias, width, x.dtype)
    run = kernel("layer_norm", x, weight, bias)
    if run is None:
        return None
    out = np.empty(x.shape, x.dtype)
    mean, inverse = (np.empty((*x.shape[:-1], 1), x.dtype) for _ in range(2))
    run(x.size // width, x.size, x, weight, bias, out, mean, inverse, width, eps)
    return out, mean, inverse


def row_gradients(
    g: Any, x: Any, weight: Any, mean: Any, inverse: Any, needs: tuple[bool, ...]
) -> Any:
    """Gradients of rows, weight and bias, those that are needed."""
    if not _is_worth_it(x) or type(g) is not _ndarray:
        return None
    width = x.shape[-1]
    filled = _or_ones(weight, width, x.dtype)
    g = np.ascontiguousarray(g)
    if kernel("layer_norm_gradient", g, x, filled, mean, inverse) is None:
        return None
    found: list[Any] = [None, None, None]
    rows = x.size // width
    if needs[0]:
        run: Any = kernel("layer_norm_gradient", g, x, filled, mean, inverse)
        found[0] = np.empty(x.shape, x.dtype)
        run(rows, x.size, g, x, filled, mean, inverse, found[0], width)
    if needs[1] or needs[2]:
        run = kernel("norm_columns", g, x, mean, inverse)
        by_weight, by_bias = np.empty(width, x.dtype), np.empty(width, x.dtype)
        run(-(-width // _COLUMNS), x.size, g, x, mean, inverse, by_weight, by_bias, rows, width)
        found[1:] = [by_weight if needs[1] else None, by_bias if needs[2] else None]
    return found


def channels(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """A batch's normalised channels, their means, one over their deviations, and their variances."""
    if not _is_worth_it(x) or x.ndim < 3:
        return None
    batch, count, size = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    if size < _SHORTEST:
        return None
    weight, bias = _or_ones(weight, count, x.dtype), _or_zeros(bias, count, x.dtype)
    run = kernel("batch_norm", x, weight, bias)
    if run is None:
        return None
    out = np.empty(x.shape, x.dtype)
    mean, inverse, variance = (np.empty(count, x.dtype) for _ in range(3))
    memory = (x, weight, bias, out, mean, inverse, variance)
    run(count, x.size, *memory, batch, count, size, eps)
    return out, mean, inverse, variance


def channel_gradients(g: Any, x: Any, weight: Any, mean: Any, inverse: Any) -> Any:
    """Gradients of a batch, its weight and its bias."""
    if not _is_worth_it(x) or type(g) is not _ndarray or x.ndim < 3:
        return None
    batch, count, size = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    weight = _or_ones(weight, count, x.dtype)
    g = np.ascontiguousarray(g)
    if size < _SHORTEST:
        return None
    run = kernel("batch_norm_gradient", g, x, weight, mean, inverse)
    if run is None:
        return None
    out = np.empty(x.shape, x.dtype)
    by_weight, by_bias = (np.empty(count, x.dtype) for _ in range(2))
    run(count, x.size, g, x, weight, mean, inverse, out, by_weight, by_bias, batch, count, size)
    return out, by_weight, by_bias
