"""GELU of large float32 arrays, some elements at a time: what is in between stays in the cache.

Each element is computed as it would be otherwise, to the last bit. Threads do not help here: each step on a
block is so short that they would mostly wait for the interpreter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._arrays.error_function import can_erf, erf

ROOT_HALF, ROOT_2_OVER_PI = math.sqrt(0.5), math.sqrt(2 / math.pi)
BLOCK = 1 << 15


def can_block(*arrays: Any) -> bool:
    """Whether these arrays are of one shape and can be gone through in blocks."""
    return all(can_erf(x) and x.shape == arrays[0].shape for x in arrays)


def gelu(x: Any) -> Any:
    """x times how much of the standard normal distribution lies below it."""
    out = np.empty_like(x)
    for values, results in _blocks(x, out):
        np.multiply(_share(values), values, out=results)
    return out


def gelu_gradient(g: Any, x: Any) -> Any:
    """A gradient times the slope of GELU."""
    out = np.empty_like(x)
    for gradients, values, results in _blocks(g, x, out):
        density = values * values
        density *= -0.5
        np.exp(density, out=density)
        density *= 0.5 * ROOT_2_OVER_PI
        density *= values
        density += _share(values)
        np.multiply(gradients, density, out=results)
    return out


def _blocks(*arrays: Any) -> Iterator[list[Any]]:
    flat = [np.reshape(array, -1) for array in arrays]
    for start in range(0, flat[0].size, BLOCK):
        yield [array[start : start + BLOCK] for array in flat]


def _share(x: Any) -> Any:
    share = erf(x * ROOT_HALF)
    share += 1
    share *= 0.5
    return share
