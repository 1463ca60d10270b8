"""Histograms: how many elements fall into each bin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._tensor.tensor import Tensor
from .elementwise import refuse, require_tensor
from .public import public
from .record import Op
from .reducing import spoken
from .refusals import no_kernel
from .return_types import RETURN_TYPES
from .samples import Sample, T

_NO_BINS = "torch.histogram(): bins must be > 0, but got {} for dimension 0"


def _edges(low: Any, high: Any, bins: int, x: Any) -> Any:
    return np.linspace(low, high, bins + 1, dtype=x.dtype)


def _bin_counts(x: Any, edges: Any, weight: Any, uniform: bool) -> Any:
    """Sums of weights per bin; bins are open to the right, but for the last."""
    flat = np.reshape(x, (-1,))
    bins = edges.shape[0] - 1
    inside = (flat >= edges[0]) & (flat <= edges[-1])
    places = np.searchsorted(edges, flat, side="right") - 1
    if uniform:  # PyTorch computes the bin of evenly spaced ones, and corrects it by one
        width = edges[-1] - edges[0]
        places = np.astype((flat - edges[0]) * (bins / width), np.int64)
        places = np.minimum(np.maximum(places, 0), bins - 1)
        places = np.where(flat < np.take(edges, places), places - 1, places)
        places = np.where(flat >= np.take(edges, np.minimum(places + 1, bins)), places + 1, places)
    places = np.minimum(np.maximum(places, 0), bins - 1)
    total = np.zeros_like(edges, shape=(bins,))
    amount = np.ones_like(flat) if weight is None else np.reshape(weight, (-1,))
    np.add.at(total, places, np.where(inside, amount, 0))
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
    lambda x, edges: _bin_counts(x, edges, None, True),
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
    refuse(histc_op, input._data.dtype)
    if bins <= 0:
        raise RuntimeError(_NO_BINS.format(bins))
    low, high = _span("torch.histc", input._data, float(min), float(max))
    return apply(histc_op, (input,), {"edges": _edges(low, high, bins, input._data)})


def _histogram(x: Any, weight: Any, edges: Any, density: bool) -> Any:
    hist = _bin_counts(x, edges[0], weight, edges[1])
    if density:
        hist = hist / np.sum(hist) / np.diff(edges[0])
    return hist, np.copy(edges[0])


def _histogram_span(input: Tensor, given: Any) -> tuple[float, float]:
    """The outer edges; a range without width is widened by a half to either side."""
    if given is not None:
        low, high = (float(edge) for edge in given)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(
                f"torch.histogramdd(): dimension 0's range [{low:g}, {high:g}] is not finite"
            )
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd(): min should not exceed max, but got min {low:g} max {high:g} "
                "for dimension 0"
            )
    elif not input._data.size:
        low, high = 0.0, 1.0
    else:
        if input.dtype.is_half:
            raise NotImplementedError(f"\"histogramdd\" not implemented for '{spoken(input)}'")
        low, high = _span("torch.histogramdd()", input._data, 0.0, 0.0)
    return (low - 0.5, high + 0.5) if low == high else (low, high)


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
    refuses=no_kernel("histogramdd", "bic"),
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
    refuse(histogram_op, input._data.dtype)
    data = input._data
    if weight is not None and weight._data.shape != data.shape:
        raise RuntimeError(
            "torch.histogramdd(): if weight tensor is provided it should have the same shape as "
            "the input tensor excluding its innermost dimension"
        )
    if isinstance(bins, Tensor):
        edges, uniform = bins._data, False
    else:
        if bins <= 0:
            raise RuntimeError(_NO_BINS.format(bins))
        edges, uniform = _edges(*_histogram_span(input, range), bins, data), True
    parameters = {"edges": (edges, uniform), "density": density}
    return RETURN_TYPES["histogram"](apply(histogram_op, (input, weight), parameters))
