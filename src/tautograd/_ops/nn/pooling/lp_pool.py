"""`lp_pool`: the p-norm of every window, from means of powers."""

from __future__ import annotations

import math
from typing import Any

from ...declare.public import NN_FUNCTIONAL, public
from ...declare.signature_line import declared
from ...declare.signatures.kinds import is_int


def _norm(rank: int, input: Any, p: Any, kernel: Any, stride: Any, ceil: bool) -> Any:
    """(mean of x^p, times the number of elements) ^ (1/p), of the mean's size where it is negative."""
    each = (kernel,) * rank if is_int(kernel) else tuple(kernel)
    if isinstance(p, (int, float)) and math.isinf(p):
        largest = NN_FUNCTIONAL[f"max_pool{rank}d"]
        if p > 0:
            return largest(input.abs(), kernel, stride, 0, 1, ceil)
        return -largest(-input.abs(), kernel, stride, 0, 1, ceil)
    pool, powers = NN_FUNCTIONAL[f"avg_pool{rank}d"], input.pow(p)
    if stride is not None and not (isinstance(stride, (tuple, list)) and not stride):
        means = pool(powers, kernel, stride, 0, ceil)
    else:
        means = pool(powers, kernel, padding=0, ceil_mode=ceil)
    size: Any = NN_FUNCTIONAL["relu"](means.abs())
    return (means.sign() * size).mul(math.prod(each)).pow(1.0 / p)


for _rank, _where in ((1, "along the last dimension"), (2, "of an image"), (3, "of a volume")):
    public(namespace=NN_FUNCTIONAL, method=False, out=False)(
        declared(
            f"lp_pool{_rank}d(Tensor input, float norm_type, int[{_rank}] kernel_size, "
            f"int[{_rank}]? stride=None, bool ceil_mode=False) -> Tensor",
            _norm,
            _rank,
            doc=f"The norm of every window {_where}.",
        )
    )
