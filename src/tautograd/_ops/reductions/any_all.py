"""Truth over dimensions: `any` and `all`, and how many elements are not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.sums import contiguous
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import require_tensor
from ..declare.out_rules import truth_result
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T
from .reducing import INT64, axes_of, reduce_with
from .sums_and_means import over_all, over_dims


def _truth(name: str, reduction: Any) -> None:
    """`any` or `all`: bool results, uint8 for uint8 as PyTorch keeps it."""

    def forward(x: Any, dim: Any, keepdim: bool) -> Any:
        found = contiguous(reduction(x, axis=dim, keepdims=keepdim))
        return np.astype(found, np.uint8) if x.dtype == np.uint8 else found

    op = Op(
        name,
        forward,
        ("x",),
        opmath=False,
        samples=lambda: [
            *over_all(kind="ties"),
            *over_dims(kind="ties"),
            Sample(T(2, 0, 3), 1),
            Sample(T(2, 3, kind="ties"), ()),
        ],
    )

    def call(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if not isinstance(input, Tensor):
            require_tensor(name, input)
        ndim = input._data.ndim
        dims = () if isinstance(dim, (tuple, list)) and not dim else axes_of(dim, ndim, name)
        return reduce_with(op, name, input, {"dim": dims, "keepdim": keepdim})

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Whether {'some element is' if name == 'any' else 'all elements are'} true."
    public(name, out=truth_result)(call)
    counterpart(reduction)(lambda x, axis=None, keepdims=False: call(x, axis, keepdims))


_truth("any", np.any)
_truth("all", np.all)


def _count_nonzero(x: Any, dim: Any) -> Any:
    return contiguous(np.sum(x != 0, axis=dim, dtype=INT64))


count_nonzero_op = Op(
    "count_nonzero",
    _count_nonzero,
    ("x",),
    opmath=False,
    samples=lambda: [
        *over_all(kind="ties"),
        Sample(T(3, 4, kind="ties"), 1),
        Sample(T(2, 3, 4, kind="ties"), (0, -1)),
        Sample(T(2, 0), 0),
        Sample(T(2, 3, kind="ties"), ()),
    ],
)


@public(out=False)
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many elements are not zero."""
    if not isinstance(input, Tensor):
        require_tensor("count_nonzero", input)
    dims = axes_of(dim, input._data.ndim, "count_nonzero")
    return apply(count_nonzero_op, (input,), {"dim": dims})


@counterpart(np.count_nonzero)
def _counted(x: Any, axis: Any = None) -> Any:
    return count_nonzero(x, axis)
