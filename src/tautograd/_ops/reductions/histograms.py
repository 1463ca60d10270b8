"""Histograms: how many elements fall into each bin, in one dimension and in several."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.checks import require_all
from ..._arrays.dtypes import LEGACY_NAMES
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor, make
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.out_rules import cpp_name
from ..declare.public import public
from ..declare.record import Op
from ..declare.return_types import RETURN_TYPES
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel
from ..indexing.gathering import scatter_add_op

_NO_BINS = "torch.histogram(): bins must be > 0, but got {} for dimension {}"
_NAME = "torch.histogramdd:"

# How the bin of an element is found: by its distance from the first edge, by that and a look at the
# neighbours, or by a search among edges that are not evenly spaced.
_LINEAR, _NEIGHBOURS, _SEARCH = "linear", "neighbours", "search"


def _edges(low: Any, high: Any, bins: int, like: Any) -> Any:
    """Evenly spaced edges, counted from both ends as PyTorch does."""
    if bins >= 2**63 - 1:
        raise RuntimeError("numel: integer multiplication overflow")
    real = like.dtype if like.dtype.kind == "f" and like.dtype.itemsize > 2 else np.float32
    start, end = (np.full_like(like, edge, shape=(1,), dtype=real) for edge in (low, high))
    step = (end - start) / bins
    i = np.arange(bins + 1, dtype=real, like=like)
    edges = np.where(i < (bins + 1) // 2, start + step * i, end - step * (bins - i))
    return np.astype(edges, like.dtype)


def _span(data: Any, widen: float) -> tuple[Any, Any]:
    """From the least to the largest value, wider if they are one."""
    low, high = np.min(data), np.max(data)
    return np.where(low == high, low - widen, low), np.where(low == high, high + widen, high)


def _require_finite(low: Any, high: Any, message: str) -> None:
    """Refuse a range, of numbers or of arrays that hold one each, that goes on for ever."""

    def refusal(found: Any) -> RuntimeError:
        bounds = np.ravel(found.array)
        known = f"[{float(bounds[0]):g}, {float(bounds[1]):g}]" if bounds.size == 2 else "values"
        return RuntimeError(message.format(known))

    both = np.asarray([low, high]) if isinstance(low, float) else np.stack([low, high])
    require_all(both, np.isfinite, refusal, waits=True)


def _places(x: Any, edges: Any, how: str) -> tuple[Any, Any]:
    """Each element's bin, and whether it lies in any; bins are open above, but for the last."""
    bins = edges.shape[0] - 1
    inside = (x >= edges[0]) & (x <= edges[-1])
    if how == _SEARCH:
        places = np.searchsorted(edges, x, side="right") - 1
    else:
        distance = np.where(inside, x - edges[0], 0)
        places = np.astype(distance * bins / (edges[-1] - edges[0]), np.int64)
    if how == _NEIGHBOURS:
        places = np.minimum(np.maximum(places, 0), bins - 1)
        places = np.where(x < np.take(edges, places), places - 1, places)
        places = np.where(x >= np.take(edges, np.minimum(places + 1, bins)), places + 1, places)
    return np.minimum(np.maximum(places, 0), bins - 1), inside


def _counts(columns: list[Any], edges: Any, hows: Any, weight: Any) -> Any:
    """Sums of weights per bin, given one column of coordinates per dimension."""
    sizes = [e.shape[0] - 1 for e in edges]
    place: Any = 0
    inside: Any = True
    for column, e, how, size in zip(columns, edges, hows, sizes, strict=True):
        found, within = _places(column, e, how)
        place, inside = place * size + found, inside & within
    amount = np.ones_like(columns[0]) if weight is None else np.reshape(weight, (-1,))
    amount = np.where(inside, amount, 0)
    total = np.zeros_like(amount, shape=(math.prod(sizes),))
    total = scatter_add_op(total, np.where(inside, place, 0), amount, dim=0)
    return np.reshape(total, tuple(sizes))


def _dense(hist: Any, edges: Any) -> Any:
    """Counts as a density, which integrates to one."""
    hist = hist / np.sum(hist)
    for d, e in enumerate(edges):
        shape = tuple([-1 if k == d else 1 for k in range(len(edges))])
        hist = hist / np.reshape(np.diff(e), shape)
    return hist


# --- histc ---------------------------------------------------------------------------------------


histc_op = Op(
    "histc",
    lambda x, edges: _counts([np.reshape(x, (-1,))], (edges,), (_LINEAR,), None),
    ("x",),
    refuses=no_kernel("histogram_cpu", "i")
    | no_kernel("linspace_cpu", "b")
    | no_kernel("aminmax_cpu", "c"),
    samples=lambda: [
        Sample(T(20), 5),
        Sample(T(4, 5), 4, -1, 1.5),
        Sample(T(0), 3),
        Sample(T(3, kind="zeros"), 4),
        Sample(T()),
    ],
)


@public()
def histc(input: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    """How many elements fall into each of evenly spaced bins."""
    require_tensor("histc", input)
    if float(min) > float(max):
        raise RuntimeError("torch.histc: max must be larger than min")
    refuse(histc_op, input._data.dtype)
    if bins <= 0:
        raise RuntimeError(_NO_BINS.format(bins, 0))
    low: Any = float(min)
    high: Any = float(max)
    if low == high:
        low, high = _span(input._data, 1.0) if input._data.size else (low - 1.0, high + 1.0)
    _require_finite(low, high, "torch.histc: range of {} is not finite")
    return apply(histc_op, (input,), {"edges": _edges(low, high, bins, input._data)})


# --- histograms with weights, densities and edges ------------------------------------------------


def _no_derivative(g: Any) -> Any:
    raise RuntimeError("derivative for aten::histogram is not implemented")


def _histogram(x: Any, weight: Any, edges: Any, hows: Any, density: bool) -> Any:
    columns = [np.reshape(x, (-1,))]
    hist = _counts(columns, edges, hows, weight)
    return _dense(hist, edges) if density else hist, np.copy(edges[0])


def _histogramdd(x: Any, weight: Any, edges: Any, hows: Any, density: bool) -> Any:
    rows = np.reshape(x, (-1, x.shape[-1]))
    hist = _counts([rows[:, d] for d in range(len(edges))], edges, hows, weight)
    return _dense(hist, edges) if density else hist


histogram_op = Op(
    "histogram",
    _histogram,
    ("x", "weight"),
    vjp={"x": _no_derivative, "weight": _no_derivative},
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
histogramdd_op = Op(
    "histogramdd",
    _histogramdd,
    ("x", "weight"),
    opmath=False,
    refuses=no_kernel("histogramdd", "bic"),
    samples=lambda: [
        Sample(T(20, 2, grad=False), [3, 4]),
        Sample(T(4, 5, 2, grad=False), [2, 3], range=[-1.0, 1.5, -2.0, 1.0]),
        Sample(T(12, 2, grad=False), 3, weight=T(12, grad=False, seed=1), density=True),
        Sample(
            T(12, 2, grad=False),
            [T(4, kind="ascending", grad=False), T(3, kind="ascending", grad=False)],
        ),
    ],
)


def _outer_edges(column: Any, given: Any, d: int, half: str) -> tuple[Any, Any]:
    """The first and last edge; a range without width is widened by a half to either side."""
    low: Any = 0.0
    high: Any = 1.0
    if given is not None:
        low, high = (float(edge) for edge in given)
        if low == high:
            low, high = low - 0.5, high + 0.5
    elif column.size and half:
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{half}'")
    elif column.size:
        low, high = _span(column, 0.5)
    _require_finite(low, high, f"{_NAME} dimension {d}'s range {{}} is not finite")
    if isinstance(low, float) and low > high:
        raise RuntimeError(
            f"{_NAME} min should not exceed max, but got min {low:g} max {high:g} for dimension {d}"
        )
    return low, high


def _check_edges(input: Tensor, edges: Tensor, d: int) -> None:
    if edges.dtype is not input.dtype:
        raise RuntimeError(
            f"{_NAME} input tensor and bins tensors should have the same dtype, but got input with "
            f"dtype {cpp_name(input.dtype)} and bins for dimension {d} with dtype "
            f"{cpp_name(edges.dtype)}"
        )
    if edges._data.ndim != 1:
        raise RuntimeError(
            f"{_NAME} bins tensor should have one dimension, but got {edges._data.ndim} dimensions "
            f"in the bins tensor for dimension {d}"
        )
    if not edges._data.size:
        raise RuntimeError(
            f"{_NAME} bins tensor should have at least 1 element, but got 0 elements in the bins "
            f"tensor for dimension {d}"
        )


def _check_weight(input: Tensor, weight: Any, rows: tuple[int, ...]) -> None:
    if weight is None:
        return
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"{_NAME} if weight tensor is provided, input tensor and weight tensor should have the "
            f"same dtype, but got input({cpp_name(input.dtype)}), and "
            f"weight({cpp_name(weight.dtype)})"
        )
    if weight._data.size != math.prod(rows):
        raise RuntimeError(
            f"{_NAME} if weight tensor is provided it should have the same shape as the input "
            f"tensor excluding its innermost dimension, but got input with shape {[*rows, 1]} and "
            f"weight with shape {list(weight._data.shape)}"
        )


def _all_edges(
    input: Tensor, columns: list[Any], bins: Any, range: Any
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """The edges of each dimension, and how to find a place among them."""
    half = LEGACY_NAMES[input.dtype] if input.dtype.is_half else ""
    edges, hows = [], []
    for d, (column, wanted) in enumerate(zip(columns, bins, strict=True)):
        if isinstance(wanted, Tensor):
            _check_edges(input, wanted, d)
            edges.append(wanted._data)
            hows.append(_SEARCH)
            continue
        if wanted <= 0:
            raise RuntimeError(_NO_BINS.format(wanted, d))
        span = None if range is None else range[2 * d : 2 * d + 2]
        edges.append(_edges(*_outer_edges(column, span, d, half), wanted, input._data))
        hows.append(_NEIGHBOURS)
    return tuple(edges), tuple(hows)


def _edges_out(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """Both of `out` have the input's dtype."""
    given = args[0] if args else kwargs.get("input")
    if isinstance(given, Tensor) and isinstance(out, (tuple, list)):
        for what, where, each in zip(
            ("hist", "bin_edges"), ("", " for dimension 0"), out, strict=False
        ):
            if isinstance(each, Tensor) and each.dtype is not given.dtype:
                raise RuntimeError(
                    f"torch.histogram: input tensor and {what} tensor should have the same dtype, but got "
                    f"input {cpp_name(given.dtype)} and {what} {cpp_name(each.dtype)}{where}"
                )
    return args


@public(out=_edges_out)
def histogram(
    input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts (or sums of weights, or a density) per bin, and the edges of the bins."""
    require_tensor("histogram", input)
    refuse(histogram_op, input._data.dtype)
    _check_weight(input, weight, (input._data.size,))
    edges, hows = _all_edges(input, [input._data], [bins], range)
    parameters = {"edges": edges, "hows": hows, "density": density}
    return RETURN_TYPES["histogram"](apply(histogram_op, (input, weight), parameters))


@public(out=False, method=False)
def histogramdd(
    input: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """The histogram of points in several dimensions (the last dimension), and all edges."""
    require_tensor("histogramdd", input)
    shape = input._data.shape
    if len(shape) < 2:
        raise RuntimeError(f"{_NAME} input tensor should have at least 2 dimensions")
    count = shape[-1]
    bins = [bins] * count if isinstance(bins, int) else list(bins)
    if len(bins) != count:
        if bins and isinstance(bins[0], Tensor):
            raise RuntimeError(
                f"{_NAME} expected {count} sequences of bin edges for a {count}-dimensional "
                f"histogram but got {len(bins)}"
            )
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(
            f"{_NAME} for a {count}-dimensional histogram range should have {2 * count} elements, "
            f"but got {len(range)}"
        )
    refuse(histogramdd_op, input._data.dtype)
    _check_weight(input, weight, shape[:-1])
    columns = [input._data[..., d] for d in np.arange(count)]
    edges, hows = _all_edges(input, columns, bins, range)
    parameters = {"edges": edges, "hows": hows, "density": density}
    hist = apply(histogramdd_op, (input, weight), parameters)
    shown = [b if isinstance(b, Tensor) else make(e) for b, e in zip(bins, edges, strict=True)]
    return RETURN_TYPES["histogramdd"]((hist, tuple(shown)))
