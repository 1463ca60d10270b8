"""Distinct values, counts and histograms. Their shapes hang on values, so they look at the host's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays.dtypes import LEGACY_NAMES, from_numpy_dtype
from .._autograd.apply import apply
from .._tensor.tensor import Tensor, make
from .dims import wrap_dim
from .elementwise import require_tensor
from .public import public
from .record import Op
from .reducing import reduce_with, refuse
from .refusals import no_kernel
from .return_types import RETURN_TYPES
from .samples import Sample, T


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
    changed = np.any(np.reshape(lines[1:] != lines[:-1], (max(n - 1, 0), -1)), axis=1)
    starts = np.concatenate((np.ones_like(changed, shape=(min(n, 1),)), changed))
    first = np.flatnonzero(starts)
    inverse = np.cumsum(starts) - 1
    counts = np.diff(np.append(first, n))
    if dim is None:
        return np.reshape(x, (-1,))[first], np.reshape(inverse, x.shape), counts
    return np.take(x, first, axis=dim), inverse, counts


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
    if not isinstance(sorted, bool):
        raise TypeError(f"_unique2(): argument 'sorted' must be bool, not {type(sorted).__name__}")
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
    refuses=no_kernel("bincount_cpu", "bhfc"),
    samples=lambda: [
        Sample(T(9, low=0.0, high=5.0, dtype="int64")),
        Sample(T(9, low=0.0, high=5.0, dtype="int64"), T(9, grad=False)),
        Sample(T(4, low=0.0, high=5.0, dtype="uint8"), minlength=8),
        Sample(T(0, dtype="int64"), minlength=3),
    ],
)


@public(out=False)
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
    require_tensor("bincount", input)
    refuse(bincount_op, input)
    data = input._data
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if data.ndim == 1 and not data.size:
        return make(np.zeros_like(data, shape=(minlength,), dtype=np.int64))
    if data.ndim != 1 or bool(np.any(data < 0)):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._data.shape != data.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return apply(bincount_op, (input, weights), {"length": minlength})


# --- histograms ----------------------------------------------------------------------------------


def _edges(low: Any, high: Any, bins: int, x: Any) -> Any:
    return np.linspace(low, high, bins + 1, dtype=x.dtype)


def _bin_counts(x: Any, edges: Any, weight: Any, uniform: bool) -> Any:
    """Sums of weights per bin; bins are open to the right, but for the last."""
    flat = np.reshape(x, (-1,))
    bins = edges.shape[0] - 1
    inside = (flat >= edges[0]) & (flat <= edges[-1])
    flat = flat[inside]
    places = np.searchsorted(edges, flat, side="right") - 1
    if uniform:  # PyTorch computes the bin of evenly spaced ones, and corrects it by one
        width = edges[-1] - edges[0]
        places = np.astype((flat - edges[0]) * (bins / width), np.int64)
        places = np.minimum(np.maximum(places, 0), bins - 1)
        places = np.where(flat < edges[places], places - 1, places)
        places = np.where(flat >= edges[np.minimum(places + 1, bins)], places + 1, places)
    places = np.minimum(np.maximum(places, 0), bins - 1)
    total = np.zeros_like(edges, shape=(bins,))
    amount = np.ones_like(flat) if weight is None else np.reshape(weight, (-1,))[inside]
    np.add.at(total, places, amount)
    return total


def _span(name: str, data: Any, low: float, high: float) -> tuple[float, float]:
    """The range of a histogram: as given, else from the smallest to the largest value."""
    if low == high and data.size:
        low, high = (float(v) for v in (np.min(data), np.max(data)))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min")
    return (low - 1, high + 1) if low == high and name == "torch.histc" else (low, high)


histc_op = Op(
    "histc",
    lambda x, bins, min, max: _bin_counts(x, _edges(min, max, bins, x), None, True),
    ("x",),
    refuses=no_kernel("histogram_cpu", "bic"),
    samples=lambda: [
        Sample(T(20), 5),
        Sample(T(4, 5), 4, -1, 1.5),
        Sample(T(0), 3),
        Sample(T(3, kind="zeros"), 4),
        Sample(T()),
    ],
)


@public()
def histc(input: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """How many elements fall into each of evenly spaced bins."""
    require_tensor("histc", input)
    refuse(histc_op, input)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _span("torch.histc", input._data, float(min), float(max))
    return apply(histc_op, (input,), {"bins": bins, "min": low, "max": high})


def _histogram(x: Any, weight: Any, edges: Any, density: bool) -> Any:
    hist = _bin_counts(x, edges[0], weight, edges[1])
    if density:
        hist = hist / np.sum(hist) / np.diff(edges[0])
    return hist, np.copy(edges[0])


def _no_histogram_derivative(g: Any) -> Any:
    raise RuntimeError("derivative for aten::histogram is not implemented")


histogram_op = Op(
    "histogram",
    _histogram,
    ("x", "weight"),
    vjp={"x": _no_histogram_derivative, "weight": _no_histogram_derivative},
    outputs=2,
    node="torch::autograd::NotImplemented",
    opmath=False,
    refuses=no_kernel("histogramdd", "bihc"),
    samples=lambda: [
        Sample(T(20), 5),
        Sample(T(4, 5), 4, range=(-1.0, 1.5)),
        Sample(T(12), 3, weight=T(12, low=0.0, seed=1), density=True),
        Sample(T(12), T(4, kind="ascending")),
    ],
)


@public()
def histogram(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts (or sums of weights, or a density) per bin, and the edges of the bins."""
    require_tensor("histogram", input)
    refuse(histogram_op, input)
    data = input._data
    if weight is not None and weight._data.shape != data.shape:
        raise RuntimeError(
            "torch.histogramdd(): if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension"
        )
    if isinstance(bins, Tensor):
        edges, uniform = bins._data, False
    else:
        if bins <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
        low, high = (0.0, 0.0) if range is None else (float(r) for r in range)
        low, high = _span("torch.histogramdd()", data, low, high) if range is None else (low, high)
        if range is None and low == high:
            low, high = (low - 0.5, high + 0.5) if data.size else (0.0, 1.0)
        edges, uniform = _edges(low, high, bins, data), True
    parameters = {"edges": (edges, uniform), "density": density}
    return RETURN_TYPES["histogram"](apply(histogram_op, (input, weight), parameters))


def _spoken(numpy_dtype: Any) -> str:
    return LEGACY_NAMES[from_numpy_dtype(numpy_dtype)]
