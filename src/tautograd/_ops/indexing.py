"""`x[...]`: reading and writing parts of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._tensor.tensor import Tensor
from .public import attach
from .record import LINEAR, Op

basic_op = Op(
    "basic_index",
    lambda x, key: x[key],
    ("x",),
    vjp={"x": lambda g, key, x_shape: basic_scatter_op(g, key=key, shape=x_shape)},
    jvp=LINEAR,
    is_view=True,
    node="SliceBackward0",
)


def _scatter(x: Any, key: Any, shape: Any) -> Any:
    out = np.zeros_like(x, shape=shape)
    out[key] = x
    return out


basic_scatter_op = Op(
    "basic_scatter",
    _scatter,
    ("x",),
    vjp={"x": lambda g, key: basic_op(g, key=key)},
    jvp=LINEAR,
    opmath=False,
)


def _getitem(self: Tensor, key: Any) -> Tensor:
    """For the moment: basic indexing as one view."""
    return apply(basic_op, (self,), {"key": (*(key if isinstance(key, tuple) else (key,)), ...) if not (isinstance(key, tuple) and ... in key) and key is not ... else key})


attach("__getitem__", _getitem)
