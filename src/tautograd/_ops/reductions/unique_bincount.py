"""Distinct values and counts of integers: the shape of the result hangs on values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.checks import require_nonnegative
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor, make
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.truth_values import require_truth
from ..declare.undefined_dtypes import no_kernel
from ..shape.rearranging import in_order
from .reducing import reduce_with


def _no_derivative(name: str) -> Any:
    """A rule for what has no derivative: an error when asked, never a silent zero."""

    def rule(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


# --- distinct values -----------------------------------------------------------------------------


def _unique(x: Any, dim: int | None) -> tuple[Any, Any, Any]:
    values, inverse, counts = np.unique(
        x, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    return values, np.reshape(inverse, x.shape if dim is None else (-1,)), counts


def _runs(x: Any, dim: int | None) -> tuple[Any, Any, Any]:
    """Each first element of a run of equal ones (equal slices along `dim`)."""
    lines = np.reshape(x, (-1, 1)) if dim is None else np.moveaxis(x, dim, 0)
    n = lines.shape[0]
    differ = lines[1:] != lines[:-1]
    changed = np.any(differ, axis=tuple(range(1, differ.ndim)))
    starts = np.concatenate((np.ones_like(changed, shape=(min(n, 1),)), changed))
    first = np.flatnonzero(starts)
    inverse = np.cumsum(starts) - 1
    counts = np.diff(np.append(first, n))
    if dim is None:
        return np.reshape(x, (-1,))[first], np.reshape(inverse, x.shape), counts
    return np.moveaxis(np.take(in_order(lines), first, axis=0), 0, dim), inverse, counts


_SAMPLES = [
    Sample(T(9, kind="ties")),
    Sample(T(3, 4, kind="ties"), return_inverse=True, return_counts=True),
    Sample(T()),
    Sample(T(0)),
    Sample(T(4, 3, kind="ties", layout="transposed"), return_counts=True),
]
_DIM_SAMPLES = [
    Sample(T(6, 1, kind="ties"), dim=0, return_inverse=True, return_counts=True),
    Sample(T(2, 5, low=0.0, kind="ties"), dim=1, return_inverse=True),
]


def _distinct(name: str, forward: Any, label: str, public_name: str, samples: Any) -> Op:
    return Op(
        name,
        forward,
        ("x",),
        vjp={"x": _no_derivative(label)},
        outputs=3,
        differentiable_outputs=(0,),
        public=public_name,
        refuses=no_kernel("unique", "c"),
        samples=lambda: samples,
    )


unique_op = _distinct("unique2", _unique, "_unique2", "unique", _SAMPLES)
unique_dim_op = _distinct("unique_dim", _unique, "unique_dim", "unique", _DIM_SAMPLES)
unique_consecutive_op = _distinct(
    "unique_consecutive", _runs, "unique_consecutive", "unique_consecutive", _SAMPLES + _DIM_SAMPLES
)


def _asked_for(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    if not (return_inverse or return_counts):
        return values
    return (
        values,
        *((inverse,) if return_inverse else ()),
        *((counts,) if return_counts else ()),
    )


@public(out=False)
def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
) -> Any:
    """The distinct values in order; on request where each input went, and how often each came."""
    require_tensor("unique", input)
    name = "_unique2" if dim is None else "unique_dim"
    require_truth(name, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    axis = None if dim is None else wrap_dim(dim, input._data.ndim, "unique")
    op = unique_op if axis is None else unique_dim_op
    if axis is not None:
        _check_dim("unique", input, axis)
    found = reduce_with(op, "unique", input, {"dim": axis})
    return _asked_for(found, return_inverse, return_counts)


@public(out=False)
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The first of each run of equal values."""
    require_tensor("unique_consecutive", input)
    require_truth("unique_consecutive", return_inverse=return_inverse, return_counts=return_counts)
    axis = None if dim is None else wrap_dim(dim, input._data.ndim, "unique_consecutive")
    if axis is not None:
        _check_dim("unique_consecutive", input, axis)
    found = reduce_with(unique_consecutive_op, "unique_consecutive", input, {"dim": axis})
    return _asked_for(found, return_inverse, return_counts)


def _check_dim(name: str, input: Tensor, axis: int) -> None:
    shape = input._data.shape
    if 0 in shape and shape[axis] != 0:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )


# --- counts --------------------------------------------------------------------------------------


def _bincount(x: Any, weights: Any, length: int) -> Any:
    if weights is None:
        return np.bincount(x, minlength=length)
    kind = weights.dtype if weights.dtype == np.float32 else np.dtype(np.float64)
    return np.astype(np.bincount(x, np.astype(weights, np.float64), minlength=length), kind)


bincount_op = Op(
    "bincount",
    _bincount,
    ("x", "weights"),
    opmath=False,
    refuses=no_kernel("bincount_cpu", "bhfc"),
    samples=lambda: [
        Sample(T(9, low=0.0, high=5.0, dtype="int64")),
        Sample(T(9, low=0.0, high=5.0, dtype="int64"), T(9, grad=False)),
        Sample(T(4, low=0.0, high=5.0, dtype="uint8"), minlength=8),
        Sample(T(0, dtype="int64"), minlength=3),
    ],
)


def _not_counted(_: Any) -> RuntimeError:
    return RuntimeError("bincount only supports 1-d non-negative integral inputs.")


@public(out=False)
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each non-negative integer occurs, or the sum of its weights."""
    require_tensor("bincount", input)
    refuse(bincount_op, input._data.dtype)
    data = input._data
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if data.ndim == 1 and not data.size:
        return make(np.zeros_like(data, shape=(minlength,), dtype=np.int64))
    if data.ndim != 1:
        raise _not_counted(None)
    require_nonnegative(data, _not_counted, waits=True)
    if weights is not None and weights._data.shape != data.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return apply(bincount_op, (input, weights), {"length": minlength})
