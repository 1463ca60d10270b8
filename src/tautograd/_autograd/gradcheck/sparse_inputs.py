"""Sparse inputs of a check: what they hold are the variables, and the function makes the sparse tensors of them.

With `masked=True` those are the elements that a tensor holds; without, all of them, so each tensor is given
every element first. Finite differences and rules then have to do with dense tensors alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, make
from ..apply import apply


def of_what_is_held(
    func: Callable[..., Any], inputs: tuple[Any, ...], *, masked: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The same function of the elements that its sparse inputs hold, and those elements as inputs."""
    makers: dict[int, Callable[[Tensor], Tensor]] = {}
    given = list(inputs)
    for i, x in enumerate(inputs):
        if isinstance(x, Tensor) and x.requires_grad and hasattr(x._data, "is_sparse_array"):
            held = x._data.coalesce() if x.is_sparse else x._data
            held = held if masked else _whole(held)
            given[i] = make(np.array(held.values)).requires_grad_()
            makers[i] = _maker(held)
    if not makers:
        return func, inputs

    def of_values(*values: Any) -> Any:
        made = (makers[i](v) if i in makers else v for i, v in enumerate(values))
        return func(*made)

    return of_values, tuple(given)


def _whole(array: Any) -> Any:
    """A sparse array that holds all its elements, zeros included."""
    from ..._arrays.sparse.compressed import CompressedArray
    from ..._arrays.sparse.coo import CooArray

    dense = array.dense()
    if isinstance(array, CompressedArray):
        rows, columns = dense.shape if array.kind == "csr" else dense.shape[::-1]
        starts = np.arange(0, rows * columns + 1, columns, dtype=array.starts.dtype)
        others = np.tile(np.arange(columns, dtype=array.others.dtype), rows)
        values = (dense if array.kind == "csr" else dense.T).reshape(-1)
        return CompressedArray(array.kind, starts, others, values, array.shape)
    count = array.sparse_dim
    indices = np.indices(dense.shape[:count]).reshape(count, -1)
    values = dense.reshape(-1, *dense.shape[count:])
    return CooArray(indices, values, array.shape, True)


def _maker(held: Any) -> Callable[[Tensor], Tensor]:
    from ..._arrays.sparse.coo import CooArray
    from ..._ops.sparse.records import from_compressed_op, from_values_op

    if isinstance(held, CooArray):
        parameters = {"indices": held.indices, "size": held.shape, "coalesced": True}
        return lambda values: apply(from_values_op, (values,), parameters)
    places = {"kind": held.kind, "starts": held.starts, "others": held.others, "size": held.shape}
    return lambda values: apply(from_compressed_op, (values,), places)


def require_dense(outputs: tuple[Any, ...]) -> None:
    """Refuse sparse results: there is no Jacobian of them."""
    if any(isinstance(o, Tensor) and hasattr(o._data, "is_sparse_array") for o in outputs):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call "
            "to_dense(masked_grad=...) on the output of fn for gradcheck."
        )
