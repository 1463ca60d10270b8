"""Rows of a table by their numbers (`embedding`), and what adds up gradients row by row.

The gradient of a table is the sum of the gradients of every use of each row. For more than a few
rows that is a product with a sparse matrix of ones, which is many times faster than adding them one
by one.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..._arrays.checks import require_all, require_nonnegative, require_range
from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.sums import is_narrow
from ..._arrays.trusted import check_rows, summed_rows
from ..._autograd.apply import apply
from ..._autograd.modes import modes
from ..._autograd.views import bump
from ..._tensor.arguments import require_strided
from ..._tensor.tensor import Tensor, make
from ..declare.elementwise_calls import require_tensor
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..indexing.index_arguments import INDEX_DTYPES, out_of_range, own_copy
from .losses.reduction import function, functional

_ndarray = np.ndarray
_MANY = 1 << 14  # from how many elements on a sparse product is faster than adding in place
# Elements that are added in place in the time that SciPy's sparse arrays take to be imported.
_IMPORT = 1 << 26
_added_in_place = [0]  # of calls that a sparse product would have done faster


def rows_at(table: Any, index: Any) -> Any:
    """The rows of a table, whichever of the two is of another array type."""
    if type(table) is not _ndarray or type(index) is _ndarray:
        return np.take(table, index, axis=0)
    flat = np.reshape(index, (index.size, 1))
    rows = np.take_along_axis(table, np.broadcast_to(flat, (index.size, table.shape[1])), 0)
    return np.reshape(rows, (*index.shape, table.shape[1]))


# --- sums of rows --------------------------------------------------------------------------------


def _summed(values: Any, index: Any, count: int) -> Any:
    """Each row of `values` added to the row that `index` names, of `count` rows."""
    if is_narrow(values):
        return np.astype(_summed(np.astype(values, np.float32), index, count), values.dtype)
    if type(values) is not _ndarray or type(index) is not _ndarray:
        out = own_copy(np.zeros_like(values, shape=(count, values.shape[1])), index, values)
        np.add.at(out, index, values)
        return out
    rows, width = values.shape
    if rows * width >= _MANY and values.dtype.char in "fdFD" and _worth_importing(rows * width):
        return summed_rows(values, index, count)
    check_rows(index, count)
    out = np.zeros(count * width, values.dtype)
    places = index[:, None] * width + np.arange(width)
    np.add.at(out, places.ravel(), values.ravel())
    return out.reshape(count, width)


def _worth_importing(elements: int) -> bool:
    """Whether sparse products are there, or have been missed for as long as it takes to import them."""
    _added_in_place[0] += elements
    return _added_in_place[0] > _IMPORT or "scipy.sparse" in sys.modules


def _kept(values: Any, index: Any, count: int, padding_idx: int, scale: bool) -> Any:
    """Values without those of the padding row, each over how often its row is used if asked to."""
    if padding_idx >= 0:
        values = np.where(np.expand_dims(index == padding_idx, -1), 0, values)
    if scale:
        ones = np.ones_like(values, shape=(values.shape[0], 1))
        uses = row_sums_op(ones, index, count=count, padding_idx=-1, scale=False)
        values = values / rows_at(uses, index)
    return values


def _row_sums(values: Any, index: Any, count: int, padding_idx: int, scale: bool) -> Any:
    return _summed(_kept(values, index, count, padding_idx, scale), index, count)


row_sums_op: Op = Op(
    "embedding_dense_backward",
    _row_sums,
    ("values", "index"),
    vjp={
        "values": lambda g, index, count, padding_idx, scale: _kept(
            rows_at(g, index), index, count, padding_idx, scale
        )
    },
    jvp={
        "values": lambda t, index, count, padding_idx, scale: row_sums_op(
            t, index, count=count, padding_idx=padding_idx, scale=scale
        )
    },
    opmath=False,
    node="EmbeddingDenseBackwardBackward0",
)


def sum_rows(
    values: Any, index: Any, count: int, padding_idx: int = -1, scale: bool = False
) -> Any:
    """The sums of rows with the same index, as part of a rule."""
    return row_sums_op(values, index, count=count, padding_idx=padding_idx, scale=scale)


# --- embedding -----------------------------------------------------------------------------------


def _embedding_vjp(
    g: Any, index: Any, weight_shape: tuple[int, ...], padding_idx: int, scale: bool
) -> Any:
    count, width = weight_shape
    flat = np.reshape(index, (index.size,))
    return sum_rows(np.reshape(g, (index.size, width)), flat, count, padding_idx, scale)


embedding_op = Op(
    "embedding",
    lambda weight, index, padding_idx, scale: rows_at(weight, index),
    ("weight", "index"),
    parameters=("padding_idx", "scale"),
    vjp={"weight": _embedding_vjp},
    jvp={"weight": lambda t, index: rows_at(t, index)},
    opmath=False,
    samples=lambda: [
        Sample(T(4, 3), _index(5, high=4)),
        Sample(T(4, 3), _index(2, 3, high=4)),
        Sample(T(4, 3, layout="transposed"), _index(high=4)),
        Sample(T(4, 3), _index(0, high=4)),
        Sample(T(40, 600), _index(30, high=40)),
    ],
)


def _index(*shape: int, high: int) -> T:
    return T(*shape, low=0, high=high, dtype="int64")


def check_indices(name: str, indices: Any, what: str = "indices") -> None:
    if indices._data.dtype not in INDEX_DTYPES:
        kind = LEGACY_NAMES[indices.dtype]
        found = "CPUBoolType" if kind == "Bool" else f"torch.{kind}Tensor"
        raise RuntimeError(
            f"Expected tensor for argument #1 '{what}' to have one of the following scalar types: "
            f"Long, Int; but got {found} instead (while checking arguments for {name})"
        )


def wants_sparse(sparse: bool, weight: Tensor) -> bool:
    """Whether the gradient of a table is to be a sparse tensor, which is loaded then."""
    return bool(sparse) and modes.grad and weight.requires_grad


@function
def embedding(
    weight: Any,
    indices: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `indices` name; the row `padding_idx` gets no gradient."""
    require_tensor("embedding", weight, "weight")
    require_tensor("embedding", indices, "indices", 2)
    if weight._data.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_indices("embedding", indices)
    require_range(indices._data, 0, weight._data.shape[0], out_of_range)
    if weight._data.dtype.kind == "c" and modes.grad and weight.requires_grad:
        raise RuntimeError(
            "embedding does not support automatic differentiation for outputs with complex dtype."
        )
    parameters = {"padding_idx": padding_idx, "scale": scale_grad_by_freq}
    if wants_sparse(sparse, weight):
        from ..sparse.embeddings import sparse_embedding_op

        out: Tensor = apply(sparse_embedding_op, (weight, indices), parameters)
        return out
    found: Tensor = apply(embedding_op, (weight, indices), parameters)
    return found


lookup = embedding


def renormalise(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows in use down to a largest norm, in place."""
    if weight._data.ndim != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {weight._data.ndim}-dimensional tensor for argument "
            "#1 'self' (while checking arguments for embedding_renorm_)"
        )
    rows = np.unique(indices._data)
    if not rows.size:
        return
    if weight._data.dtype.kind in "biu":
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{LEGACY_NAMES[weight.dtype]} instead."
        )
    require_range(
        indices._data, 0, weight._data.shape[0], out_of_range
    )  # before anything is written
    data = weight._data
    with np.errstate(all="ignore"):
        wide = data[rows].astype(data.dtype if data.dtype.char in "dFD" else np.float32)
        norms = np.linalg.norm(wide, float(norm_type), axis=1)
        large = norms > max_norm
        factors = (max_norm / (norms[large] + 1e-7)).astype(wide.dtype)
        data[rows[large]] = (wide[large] * factors[:, None]).astype(data.dtype)
    bump(weight)


def padding_row(padding_idx: int | None, count: int, spoken: str = "Padding_idx") -> int:
    """The padding row counted from the start; -1: none."""
    if padding_idx is None:
        return -1
    if not -count <= padding_idx < count:
        raise AssertionError(f"{spoken} must be within num_embeddings")
    return padding_idx % count


def _embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` names.

    The row `padding_idx` gets no gradient; rows in use whose norm is above `max_norm` are scaled down
    in place.
    """
    padding = padding_row(padding_idx, weight.size(0)) if padding_idx is not None else -1
    if max_norm is not None:
        input = input.contiguous()
        check_indices("embedding", input)  # before anything is written
        renormalise(weight, input, max_norm, norm_type)
    return lookup(weight, input, padding, scale_grad_by_freq, sparse)


_embedding.__name__ = _embedding.__qualname__ = "embedding"
functional(_embedding)


@function
def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows that `indices` name down to a largest norm, in place."""
    renormalise(input, indices, max_norm, norm_type)
    return input  # type: ignore[no-any-return]


@functional
def one_hot(input: Any, num_classes: int = -1) -> Tensor:
    """Integers as vectors of zeros with a one in their place."""
    require_tensor("one_hot", input)
    require_strided("one_hot", input.layout)
    index = input._data
    if index.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not index.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return make(np.zeros_like(index, shape=(*index.shape, num_classes)))
    require_nonnegative(index, lambda _: RuntimeError("Class values must be non-negative."))
    if num_classes == -1:
        num_classes = int(np.max(index)) + 1
    require_all(
        index,
        lambda x: x < num_classes,
        lambda _: RuntimeError("Class values must be smaller than num_classes."),
    )
    classes = make(np.arange(num_classes, like=index))
    return input.unsqueeze(-1).eq(classes).long()  # type: ignore[no-any-return]
