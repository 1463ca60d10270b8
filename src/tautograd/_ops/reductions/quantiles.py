"""Medians, modes and quantiles: what sorting tells about a distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.checks import require_between
from ..._arrays.dtypes import float32, float64
from ..._arrays.sums import contiguous
from ..._tensor.creation import tensor
from ..._tensor.tensor import Tensor
from ..declare.dims import no_signature
from ..declare.elementwise_calls import require_tensor
from ..declare.out_rules import EXPECTED_QUANTILE, same_as_input, values_and_indices
from ..declare.public import FUNCTIONS, public
from ..declare.record import Op
from ..declare.return_types import RETURN_TYPES
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel
from .extremes import _average, _share, _ties_or_nan
from .reducing import axis_of, place_at, places_along, reduce_with, take_at
from .sorting import order_of, sort
from .sums_and_means import over_all

# --- medians -------------------------------------------------------------------------------------


def _median_rank(x: Any, dim: int, skip_nan: bool) -> Any:
    """Which element of the sorted line is the median; NaN, sorted last, wins unless skipped."""
    n = x.shape[dim]
    nans = np.sum(np.isnan(x), axis=dim, keepdims=True, dtype=np.int64)
    if skip_nan:
        return np.maximum(n - nans - 1, 0) // 2
    return np.where(nans > 0, n - nans, (n - 1) // 2)


def _median_dim(x: Any, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Any, Any]:
    if not x.ndim:
        return np.copy(x), np.zeros_like(x, dtype=np.int64)
    indices = np.take_along_axis(order_of(x, dim), _median_rank(x, dim, skip_nan), axis=dim)
    values = np.take_along_axis(x, indices, axis=dim)
    if not keepdim:
        values, indices = np.squeeze(values, axis=dim), np.squeeze(indices, axis=dim)
    return contiguous(values), contiguous(indices)


def _median(x: Any, skip_nan: bool) -> Any:
    if 0 in x.shape:
        # What NaN becomes in whole numbers: the lowest, of which narrow ones keep the last bits.
        empty = math.nan if x.dtype.kind in "fV" else np.iinfo(x.dtype).min * (x.dtype.itemsize > 2)
        return np.full_like(x, empty, shape=())
    return _median_dim(np.reshape(x, (-1,)), 0, False, skip_nan)[0]


_ALONG = [
    Sample(T(5, kind="distinct"), 0),
    Sample(T(3, 4, kind="distinct"), 1),
    Sample(T(2, 3, 4, kind="distinct"), -2, True),
    Sample(T(3, 4, kind="distinct", layout="transposed"), 0),
    Sample(T(), 0),
    Sample(T(2, 0, 3), 0),
]


_MEDIAN_VALUES = (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
    "torch.{out}Tensor does not equal torch.{input}Tensor (while checking arguments for median_cpu)"
)
_MEDIAN_INDICES = (
    "Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.{out}Tensor "
    "instead (while checking arguments for median_cpu)"
)


def _declare_median(name: str, skip_nan: bool) -> None:
    refused = no_kernel("median_cpu", "bc")
    full = Op(
        name,
        lambda x: _median(x, skip_nan),
        ("x",),
        vjp={"x": lambda g, x, out: _share(g, _ties_or_nan(x, out), None)},
        jvp={"x": lambda t, x, out: _average(t, _ties_or_nan(x, out), None, False)},
        refuses=refused,
        samples=lambda: [*over_all(kind="distinct"), Sample(T(3, 4, kind="ties"))],
    )
    along = Op(
        f"{name}_dim",
        lambda x, dim, keepdim: _median_dim(x, dim, keepdim, skip_nan),
        ("x",),
        vjp={"x": lambda g, x_shape, out1, dim, keepdim: place_at(g, out1, x_shape, dim, keepdim)},
        jvp={"x": lambda t, out1, dim, keepdim: (take_at(t, out1, dim, keepdim), None)},
        outputs=2,
        differentiable_outputs=(0,),
        node=f"{name.capitalize()}Backward1",
        public=name,
        refuses=refused,
        samples=lambda: _ALONG,
    )

    def call(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if not isinstance(input, Tensor):
            require_tensor(name, input)
        if dim is None:
            return reduce_with(full, name, input, {})
        shape = input._data.shape
        axis = axis_of(dim, len(shape), name)
        if shape and shape[axis] == 0:
            raise IndexError(f"median(): Expected reduction dim {axis} to have non-zero size.")
        return RETURN_TYPES[name](
            reduce_with(along, name, input, {"dim": axis, "keepdim": keepdim})
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "The lower median of everything, or along `dim` with its index; NaN " + (
        "is left out." if skip_nan else "makes it NaN."
    )
    public(name, out=values_and_indices(_MEDIAN_VALUES, _MEDIAN_INDICES))(call)


_declare_median("median", False)
_declare_median("nanmedian", True)


# --- mode ----------------------------------------------------------------------------------------


def _mode(x: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The longest run of equal elements in the sorted line; the smallest value, where runs tie."""
    if not x.ndim:
        return np.copy(x), np.zeros_like(x, dtype=np.int64)
    order = order_of(x, dim)
    line = np.moveaxis(np.take_along_axis(x, order, axis=dim), dim, -1)
    places = places_along(x, line.shape[-1])
    starts = np.where(line[..., 1:] != line[..., :-1], places[1:], 0)
    starts = np.concatenate((np.zeros_like(starts, shape=(*line.shape[:-1], 1)), starts), axis=-1)
    lengths = places - np.maximum.accumulate(starts, axis=-1)
    # The end of the first longest run; being a stable order, it is the last such element of x.
    best = np.moveaxis(np.argmax(lengths, axis=-1, keepdims=True), -1, dim)
    indices = np.take_along_axis(order, best, axis=dim)
    values = np.take_along_axis(x, indices, axis=dim)
    if not keepdim:
        values, indices = np.squeeze(values, axis=dim), np.squeeze(indices, axis=dim)
    return contiguous(values), contiguous(indices)


mode_op = Op(
    "mode",
    _mode,
    ("x",),
    vjp={"x": lambda g, x_shape, out1, dim, keepdim: place_at(g, out1, x_shape, dim, keepdim)},
    jvp={"x": lambda t, out1, dim, keepdim: (take_at(t, out1, dim, keepdim), None)},
    outputs=2,
    differentiable_outputs=(0,),
    refuses=no_kernel("mode_cpu", "c"),
    samples=lambda: [
        *_ALONG,
        Sample(T(3, 4, kind="distinct")),
        Sample(T(9, kind="ties")),
        Sample(T(6, 3, kind="ties"), 0),
    ],
)


@public(
    out=values_and_indices(
        "expected scalar type '{input}' but got '{out}' for values output",
        "expected scalar type '{input}' but got '{out}' for indices output",
    )
)
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent value along `dim` (the smallest of several), and its last place."""
    if not isinstance(input, Tensor):
        require_tensor("mode", input)
    shape = input._data.shape
    axis = axis_of(dim, len(shape), "mode")
    if shape and shape[axis] == 0:
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    return RETURN_TYPES["mode"](
        reduce_with(mode_op, "mode", input, {"dim": axis, "keepdim": keepdim})
    )


# --- quantiles -----------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _checked_q(name: str, input: Tensor, q: Any) -> Any:
    if not isinstance(q, Tensor):
        if isinstance(q, bool) or not isinstance(q, (int, float)):
            raise no_signature(name, q)
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        return tensor(float(q), dtype=input.dtype)
    if q._data.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    require_between(
        q._data,
        0,
        1,
        lambda _: RuntimeError(f"{name}() q values must be in the range [0, 1]"),
        waits=True,
    )
    return q


def _quantile(
    name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool
) -> Any:
    """Sort, find each quantile's rank, and interpolate between the two elements beside it."""
    require_tensor(name, input)
    axis = None if dim is None else axis_of(dim, input._data.ndim, name)
    if not input._data.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype not in (float32, float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    q = _checked_q(name, input, q)
    ndim = input._data.ndim
    lines = _lines(input, axis)
    ordered = sort(lines, -1).values
    found = _interpolate(ordered, q, interpolation, skip_nan)
    # `found` has the quantiles last; PyTorch has them first, and none for a single number.
    if axis is not None and ndim:
        found = found.unsqueeze(axis) if keepdim else found
    elif keepdim:
        found = found.view([1] * ndim + [-1])
    if not keepdim and axis is None:
        found = found.view([-1])
    if not q._data.ndim:
        return found.squeeze(-1)
    return found.movedim(-1, 0)


def _lines(input: Any, axis: int | None) -> Any:
    if axis is None or not input._data.ndim:
        return input.flatten()
    return input.movedim(axis, -1)


def _interpolate(ordered: Any, q: Any, interpolation: str, skip_nan: bool) -> Any:
    n = ordered._data.shape[-1]
    nans = FUNCTIONS["isnan"](ordered.detach())
    if skip_nan:
        last = (nans.logical_not().sum(-1, keepdim=True) - 1).clamp(min=0).to(ordered.dtype)
        ranks = q * last
    else:
        ranks = FUNCTIONS["where"](nans.any(-1, keepdim=True), float(n - 1), q * (n - 1)).to(
            ordered.dtype
        )
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.detach().long()
    low = ordered.gather(-1, below)
    if interpolation not in ("linear", "midpoint"):
        return low
    weight = FUNCTIONS["full_like"](ranks, 0.5) if interpolation == "midpoint" else ranks - below
    above = ranks.detach().ceil().long()
    return FUNCTIONS["lerp"](low, ordered.gather(-1, above), weight)


@public(out=same_as_input(EXPECTED_QUANTILE))
def quantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The q-th quantiles along `dim`, or of everything."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@public(out=same_as_input(EXPECTED_QUANTILE))
def nanquantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The q-th quantiles of what is not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
