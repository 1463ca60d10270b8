"""Sorting, and picking by rank: the order is stable, and NaN counts as the largest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.result_layout import as_first, each
from ..._arrays.sums import contiguous
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.dims import require_int
from ..declare.elementwise_calls import require_tensor
from ..declare.out_rules import EXPECTED_OUT, index_result, same_as_input, values_and_indices
from ..declare.public import public
from ..declare.record import Op
from ..declare.return_types import RETURN_TYPES
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel, refusal
from .reducing import axis_of, place_at, reduce_with, take_at

# From here on `topk` partitions before it sorts.
_PARTITION_FROM = 256


def order_of(x: Any, dim: int, descending: bool = False) -> Any:
    """The indices that sort along `dim`; equal elements keep their order either way."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    backwards = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(backwards, dim)


def _like_layout(values: Any, x: Any) -> Any:
    """Laid out in memory as the input is, if that has no gaps; else row-major."""
    if type(x) is not np.ndarray or x.ndim < 2 or x.flags.c_contiguous:
        return contiguous(values)
    out = np.empty_like(x, dtype=values.dtype)
    np.copyto(out, values)
    return out


def _sort(x: Any, dim: int, descending: bool) -> tuple[Any, Any]:
    if not x.ndim:
        return np.copy(x), np.zeros_like(x, dtype=np.int64)
    order = order_of(x, dim, descending)
    return _like_layout(np.take_along_axis(x, order, axis=dim), x), _like_layout(order, x)


def _selection(name: str, forward: Any, **record: Any) -> Op:
    """A record with values and indices, where the values are the input's at the indices."""
    return Op(
        name,
        forward,
        ("x",),
        vjp={"x": lambda g, x_shape, out1, dim: place_at(g, out1, x_shape, dim)},
        jvp={"x": lambda t, out1, dim: (take_at(t, out1, dim, True), None)},
        outputs=2,
        differentiable_outputs=(0,),
        **record,
    )


_NO_COMPLEX_SORT = refusal(" Sort does not support complex dtypes on CPU", "c")


def _sort_samples(*extra: Any, **options: Any) -> list[Sample]:
    return [
        Sample(T(5, kind="distinct"), *extra, **options),
        Sample(T(3, 4, kind="distinct"), *extra, dim=0, **options),
        Sample(T(3, 4, kind="distinct"), *extra, dim=-1, descending=True, **options),
        Sample(T(3, 4, 2, kind="distinct", layout="transposed"), *extra, dim=1, **options),
        Sample(T(), *extra, **options),
        Sample(T(1), *extra, **options),
        Sample(T(2, 0, 3), *extra, dim=1, **options),
    ]


sort_op = _selection(
    "sort", _sort, layout=each(as_first), refuses=_NO_COMPLEX_SORT, samples=_sort_samples
)
sort_stable_op = _selection(
    "sort_stable",
    _sort,
    layout=each(as_first),
    node="SortBackward1",
    public="sort",
    refuses=_NO_COMPLEX_SORT,
    samples=lambda: [
        *_sort_samples(stable=True),
        Sample(T(9, kind="ties"), stable=True),
        Sample(T(9, kind="ties"), stable=True, descending=True),
    ],
)


@public(out=values_and_indices(EXPECTED_OUT, EXPECTED_OUT))
def sort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    """Sorted values along `dim`, and where each came from."""
    if not isinstance(input, Tensor):
        require_tensor("sort", input)
    if isinstance(dim, bool):
        raise TypeError("sort() received an invalid combination of arguments - got (bool)")
    parameters = {"dim": axis_of(dim, input._data.ndim, "sort"), "descending": bool(descending)}
    op = sort_op if stable is None else sort_stable_op
    return RETURN_TYPES["sort"](reduce_with(op, "sort", input, parameters))


def _argsort_out(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """PyTorch has `out` in the form with `stable` only."""
    if "stable" not in kwargs:
        from ..declare.signatures import complaint, signatures_of

        refused = complaint(signatures_of(name), name, args, {**kwargs, "out": out}, False)
        if refused is not None:
            raise refused
    return index_result(name, args, kwargs, out)


@public(out=_argsort_out)
def argsort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """The indices that sort along `dim`."""
    if not isinstance(input, Tensor):
        require_tensor("argsort", input)
    return sort(input.detach(), dim, descending, stable=True).indices


@public(out=same_as_input(EXPECTED_OUT))
def msort(input: Any) -> Any:
    """Sorted along the first dimension."""
    return sort(input, 0).values


@counterpart(np.sort)
def _np_sort(x: Any, axis: int = -1, kind: Any = None) -> Any:
    return sort(x, axis, stable=True).values


@counterpart(np.argsort)
def _np_argsort(x: Any, axis: int = -1, kind: Any = None) -> Any:
    return argsort(x, axis)


# --- the first k ---------------------------------------------------------------------------------


def _topk(x: Any, k: int, dim: int, largest: bool) -> tuple[Any, Any]:
    if not x.ndim:
        return np.copy(x), np.zeros_like(x, dtype=np.int64)
    n = x.shape[dim]
    along: tuple[slice, ...] = (slice(None),) * dim
    if n < _PARTITION_FROM or k * 4 > n:
        order = order_of(x, dim, largest)[(*along, slice(0, k))]
    else:
        kth = n - k if largest else k - 1
        part = slice(n - k, n) if largest else slice(0, k)
        chosen = np.sort(np.argpartition(x, kth, axis=dim)[(*along, part)], axis=dim)
        inner = order_of(np.take_along_axis(x, chosen, axis=dim), dim, largest)
        order = np.take_along_axis(chosen, inner, axis=dim)
    return contiguous(np.take_along_axis(x, order, axis=dim)), contiguous(order)


def _topk_vjp(g: Any, x_shape: Any, out1: Any, dim: int) -> Any:
    return place_at(g, out1, x_shape, dim)


topk_op = Op(
    "topk",
    _topk,
    ("x",),
    vjp={"x": _topk_vjp},
    jvp={"x": lambda t, out1, dim: (take_at(t, out1, dim, True), None)},
    outputs=2,
    differentiable_outputs=(0,),
    refuses=refusal(" topk does not support complex dtypes on CPU", "c")
    | refusal("topk does not support bool dtypes on CPU", "b"),
    samples=lambda: [
        Sample(T(5, kind="distinct"), 2),
        Sample(T(3, 4, kind="distinct"), 2, 0),
        Sample(T(3, 4, kind="distinct"), 3, -1, False),
        Sample(T(2, 4, 3, kind="distinct", layout="transposed"), 2, 1),
        Sample(T(), 1),
        Sample(T(4, kind="distinct"), 0),
        Sample(T(300, kind="distinct", dtype="float32"), 3),
        Sample(T(300, kind="distinct", dtype="float32"), 3, largest=False),
    ],
)


@public(out=values_and_indices(EXPECTED_OUT, EXPECTED_OUT))
def topk(input: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) values along `dim`, in order, and where they are."""
    if not isinstance(input, Tensor):
        require_tensor("topk", input)
    k = require_int(k, "topk", "k")
    shape = input._data.shape
    axis = axis_of(dim, len(shape), "topk")
    if not 0 <= k <= (shape[axis] if shape else 1):
        raise RuntimeError("selected index k out of range")
    parameters = {"k": k, "dim": axis, "largest": bool(largest)}
    return RETURN_TYPES["topk"](reduce_with(topk_op, "topk", input, parameters))


def _kthvalue(x: Any, k: int, dim: int, keepdim: bool) -> tuple[Any, Any]:
    if not x.ndim:
        return np.copy(x), np.zeros_like(x, dtype=np.int64)
    along: tuple[slice, ...] = (slice(None),) * dim
    indices = order_of(x, dim)[(*along, slice(k - 1, k) if keepdim else k - 1)]
    return contiguous(take_at(x, indices, dim, keepdim)), contiguous(indices)


kthvalue_op = Op(
    "kthvalue",
    _kthvalue,
    ("x",),
    vjp={"x": lambda g, x_shape, out1, dim, keepdim: place_at(g, out1, x_shape, dim, keepdim)},
    jvp={"x": lambda t, out1, dim, keepdim: (take_at(t, out1, dim, keepdim), None)},
    outputs=2,
    differentiable_outputs=(0,),
    refuses=no_kernel("kthvalue_cpu", "bc"),
    samples=lambda: [
        Sample(T(5, kind="distinct"), 2),
        Sample(T(3, 4, kind="distinct"), 3, 0),
        Sample(T(3, 4, kind="distinct"), 4, -1, True),
        Sample(T(2, 4, 3, kind="distinct", layout="transposed"), 2, 1),
        Sample(T(), 1),
        Sample(T(2, 0, 3), 1, 0),
    ],
)


@public(
    out=values_and_indices(
        "output values must be of same type as input", "output indices must be of scalar type Long"
    )
)
def kthvalue(input: Any, k: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest value along `dim`, and where it is."""
    if not isinstance(input, Tensor):
        require_tensor("kthvalue", input)
    k = require_int(k, "kthvalue", "k")
    shape = input._data.shape
    axis = axis_of(dim, len(shape), "kthvalue")
    extent = shape[axis] if shape else 1
    if extent == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= extent:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    parameters = {"k": k, "dim": axis, "keepdim": keepdim}
    if not shape and input._data.dtype.kind == "b":  # fine: PyTorch runs no kernel on one number
        return RETURN_TYPES["kthvalue"](apply(kthvalue_op, (input,), parameters))
    return RETURN_TYPES["kthvalue"](reduce_with(kthvalue_op, "kthvalue", input, parameters))
