"""`lp_pool`: the p-norm of every window, from means of powers."""

from __future__ import annotations

import math
from typing import Any

from ...._tensor.tensor import Tensor
from ...declare.public import NN_FUNCTIONAL, public
from ...declare.signatures.kinds import is_int
from .pool_functions import avg_pool1d, avg_pool2d, avg_pool3d


def _norm(pool: Any, rank: int, input: Any, p: Any, kernel: Any, stride: Any, ceil: bool) -> Any:
    """(mean of x^p, times the number of elements) ^ (1/p), of the mean's size where it is negative."""
    each = (kernel,) * rank if is_int(kernel) else tuple(kernel)
    if isinstance(p, (int, float)) and math.isinf(p):
        largest = NN_FUNCTIONAL[f"max_pool{rank}d"]
        if p > 0:
            return largest(input.abs(), kernel, stride, 0, 1, ceil)
        return -largest(-input.abs(), kernel, stride, 0, 1, ceil)
    powers = input.pow(p)
    if stride is not None and not (isinstance(stride, (tuple, list)) and not stride):
        means = pool(powers, kernel, stride, 0, ceil)
    else:
        means = pool(powers, kernel, padding=0, ceil_mode=ceil)
    size: Any = NN_FUNCTIONAL["relu"](means.abs())
    return (means.sign() * size).mul(math.prod(each)).pow(1.0 / p)


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def lp_pool1d(
    input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of every window along the last dimension."""
    return _norm(avg_pool1d, 1, input, norm_type, kernel_size, stride, ceil_mode)  # type: ignore[no-any-return]


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def lp_pool2d(
    input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of every window of an image."""
    return _norm(avg_pool2d, 2, input, norm_type, kernel_size, stride, ceil_mode)  # type: ignore[no-any-return]


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def lp_pool3d(
    input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of every window of a volume."""
    return _norm(avg_pool3d, 3, input, norm_type, kernel_size, stride, ceil_mode)  # type: ignore[no-any-return]
