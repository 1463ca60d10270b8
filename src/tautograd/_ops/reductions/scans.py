"""Running recurrences on whole arrays: what gradients of running products are made of."""

from __future__ import annotations

from typing import Any

import numpy as np


def linear_scan(a: Any, b: Any, dim: int) -> Any:
    """s_i = b_i + a_i s_(i-1), by doubling: log n steps of whole arrays, and no division."""
    n, shift = a.shape[dim], 1
    along: tuple[slice, ...] = (slice(None),) * dim
    while shift < n:
        head, tail, back = (
            (*along, part) for part in (slice(0, shift), slice(shift, None), slice(0, n - shift))
        )
        b = np.concatenate((b[head], b[tail] + a[tail] * b[back]), axis=dim)
        a = np.concatenate((a[head], a[tail] * a[back]), axis=dim)
        shift *= 2
    return b


def exclusive_product(x: Any, dim: int) -> Any:
    """The product of everything before each element."""
    along: tuple[slice, ...] = (slice(None),) * dim
    first = np.ones_like(x[(*along, slice(0, 1))])
    return np.concatenate((first, np.cumprod(x, axis=dim)[(*along, slice(0, -1))]), axis=dim)
