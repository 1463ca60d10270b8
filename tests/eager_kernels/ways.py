"""Both ways of a computation: by kernels and by NumPy's functions, and arrays that find where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tautograd._arrays import kernels

UNIT = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}
DTYPES = [np.float32, np.float64]


@contextmanager
def using_kernels(on: bool) -> Iterator[None]:
    before = kernels.switch(on)
    try:
        yield
    finally:
        kernels.switch(before)


def numbers(shape: Any, dtype: Any, seed: int = 0, scale: float = 1.0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def with_specials(dtype: Any, size: int = 3001) -> Any:
    """Numbers of all magnitudes, of both signs, with NaN, infinities, zeros and denormals among them."""
    rng = np.random.default_rng(1)
    exponents = rng.uniform(-30, 6, size)
    x = (rng.choice([-1.0, 1.0], size) * 2.0**exponents).astype(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, np.finfo(dtype).tiny]
    x[:: size // 20] = (special * 3)[: len(x[:: size // 20])]
    return x


def is_within(found: Any, expected: Any, bound: Any) -> bool:
    """Whether each element is within the bound of float64's, NaN and infinities in the same places."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return False
    error = np.abs(found[finite] - expected[finite])
    return bool(np.all(error <= np.broadcast_to(bound, expected.shape)[finite]))
