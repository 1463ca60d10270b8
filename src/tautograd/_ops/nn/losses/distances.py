"""Distances between rows (`cdist`, `pdist`, `pairwise_distance`), and cosine similarity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...._arrays.dtypes import LEGACY_NAMES, promote_types
from ...._arrays.result_layout import in_c_order
from ...._autograd.apply import apply
from ...._autograd.grad_mode import no_grad
from ...._autograd.node import rename_node
from ...declare.elementwise_calls import refuse, require_tensor
from ...declare.promotion import plain_number
from ...declare.public import FUNCTIONS, NN_FUNCTIONAL, public
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...declare.undefined_dtypes import no_kernel
from ...reductions.vector_norms import (
    norm,
    norm_slope,
    norm_slope_along,
    vector_norm,
    vector_norm_of,
)

# --- between the rows of two matrices ------------------------------------------------------------


def _differences(x: Any, y: Any) -> Any:
    return np.expand_dims(x, -2) - np.expand_dims(y, -3)


def _row_norms(x: Any, p: float) -> Any:
    """The p-norm of each row."""
    return vector_norm_of(x, p, (x.ndim - 1,))


def _pull(g: Any, x: Any, y: Any, out: Any, p: float) -> Any:
    """The gradient of each distance with respect to the difference that it measures."""
    if p == 0:
        return np.zeros_like(_differences(x, y))
    wide = np.expand_dims(g, -1), np.expand_dims(out, -1)
    return norm_slope(wide[0], _differences(x, y), wide[1], p, (-1,))


def _push(t: Any, difference: Any, out: Any, p: float) -> Any:
    """The tangent of each distance, given that of the difference."""
    if p == 0:
        return np.zeros_like(out)
    return norm_slope_along(t, difference, out, p, (t.ndim - 1,), False)


cdist_op = Op(
    "cdist",
    lambda x, y, p: _row_norms(_differences(x, y), p),
    ("x", "y"),
    vjp={
        "x": lambda g, x, y, out, p: np.sum(_pull(g, x, y, out, p), axis=-2),
        "y": lambda g, x, y, out, p: -np.sum(_pull(g, x, y, out, p), axis=-3),
    },
    jvp={
        "x": lambda t, x, y, out, p: _push(
            np.broadcast_to(np.expand_dims(t, -2), np.shape(_differences(x, y))),
            _differences(x, y),
            out,
            p,
        ),
        "y": lambda t, x, y, out, p: (
            -_push(
                np.broadcast_to(np.expand_dims(t, -3), np.shape(_differences(x, y))),
                _differences(x, y),
                out,
                p,
            )
        ),
    },
    refuses=no_kernel("cdist", "h"),
    samples=lambda: [
        Sample(T(3, 4), T(2, 4, seed=1)),
        Sample(T(2, 3, 4), T(3, 4, seed=1), 1),
        *(Sample(T(3, 2), T(4, 2, seed=1), p) for p in (0.0, 0.5, 1.5, 3.0, math.inf)),
        Sample(T(0, 2), T(3, 2, seed=1)),
        Sample(T(3, 0), T(2, 0)),
    ],
)


def _euclidean(x: Any, y: Any) -> Any:
    """√(|x|² + |y|² - 2 x·y): one matrix product instead of all differences."""
    squares = np.sum(x * x, axis=-1)[..., :, None] + np.sum(y * y, axis=-1)[..., None, :]
    return np.sqrt(np.maximum(squares - 2 * np.matmul(x, np.swapaxes(y, -1, -2)), 0))


def _pull_euclidean(g: Any, x: Any, y: Any, out: Any) -> Any:
    """Σ_r w_r (x - y_r) with w = g / distance."""
    w = np.where(out == 0, 0, g / np.where(out == 0, 1, out))
    return x * np.sum(w, axis=-1)[..., None] - np.matmul(w, y)


def _push_euclidean(t: Any, x: Any, y: Any, out: Any) -> Any:
    along = np.sum(t * x, axis=-1)[..., :, None] - np.matmul(t, np.swapaxes(y, -1, -2))
    return np.where(out == 0, 0, along / np.where(out == 0, 1, out))


euclidean_op = Op(
    "_euclidean_dist",
    _euclidean,
    ("x", "y"),
    layout=in_c_order,
    vjp={
        "x": _pull_euclidean,
        "y": lambda g, x, y, out: _pull_euclidean(
            np.swapaxes(g, -1, -2), y, x, np.swapaxes(out, -1, -2)
        ),
    },
    jvp={
        "x": _push_euclidean,
        "y": lambda t, x, y, out: np.swapaxes(
            _push_euclidean(t, y, x, np.swapaxes(out, -1, -2)), -1, -2
        ),
    },
    node="EuclideanDistBackward0",
    public="cdist",
    samples=lambda: [Sample(T(26, 3), T(4, 3, seed=1)), Sample(T(2, 3, 3), T(2, 27, 3, seed=1))],
)

_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": True,
    "donot_use_mm_for_euclid_dist": False,
}
_MANY = 25  # from more rows than this on, a matrix product is faster


@public(method=False, out=False)
def cdist(
    x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = "use_mm_for_euclid_dist_if_necessary"
) -> Any:
    """The p-norm of the difference of every row of `x1` and every row of `x2`."""
    if not isinstance(compute_mode, str) or compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    require_tensor("cdist", x1, "x1")
    require_tensor("cdist", x2, "x2", 2)
    for x, label in ((x1, "X1"), (x2, "X2")):
        if x._data.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {label} got: {x._data.ndim}D"
            )
    for x, label in ((x1, "X1"), (x2, "X2")):
        if not x.dtype.is_floating_point:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {label} got: {LEGACY_NAMES[x.dtype]}"
            )
    columns = x1._data.shape[-1], x2._data.shape[-1]
    if columns[0] != columns[1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {columns[0]} X2: {columns[1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(
            f"expected scalar type {LEGACY_NAMES[x1.dtype]} but found {LEGACY_NAMES[x2.dtype]}"
        )
    by_product = _MODES[compute_mode]
    if by_product is None:
        by_product = max(x1._data.shape[-2], x2._data.shape[-2]) > _MANY
    if p == 2 and by_product and columns[0]:
        distances = apply(euclidean_op, (x1, x2))
        return distances.view(distances.shape)  # PyTorch's result is a view, too
    if x1._data.size and x2._data.size:
        refuse(cdist_op, x1._data.dtype)
    return apply(cdist_op, (x1, x2), {"p": float(p)})


# --- between the rows of one matrix --------------------------------------------------------------


def _pairs(n: int) -> tuple[Any, Any]:
    return np.triu_indices(n, 1)


def _pair_differences(x: Any) -> Any:
    first, second = _pairs(x.shape[0])
    return np.take(x, first, axis=0) - np.take(x, second, axis=0)


def _pdist_vjp(g: Any, x: Any, out: Any, p: float) -> Any:
    from ...indexing.gathering import scatter_add_op

    difference = _pair_differences(x)
    if p == 0 or not difference.shape[0]:
        return np.zeros_like(x)
    pull = norm_slope(np.expand_dims(g, -1), difference, np.expand_dims(out, -1), p, (-1,))
    total = np.zeros_like(x)
    for rows, sign in zip(_pairs(x.shape[0]), (1, -1), strict=True):
        places = np.broadcast_to(rows[:, None], difference.shape)
        total = scatter_add_op(total, places, sign * pull, dim=0)
    return total


pdist_op = Op(
    "pdist",
    lambda x, p: _row_norms(_pair_differences(x), p),
    ("x",),
    vjp={"x": _pdist_vjp},
    jvp={"x": lambda t, x, out, p: _push(_pair_differences(t), _pair_differences(x), out, p)},
    refuses=no_kernel("pdist", "h"),
    samples=lambda: [
        Sample(T(4, 3)),
        Sample(T(1, 3, grad=False)),
        *(Sample(T(4, 2), p) for p in (0.5, 1, 1.5, 3.0, math.inf)),
    ],
)


@public(method=False, out=False)
def pdist(input: Any, p: float = 2) -> Any:
    """The p-norm of the difference of every two rows, those of the first row first."""
    require_tensor("pdist", input)
    if input._data.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input._data.ndim}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input._data.shape[0] > 1:
        refuse(pdist_op, input._data.dtype)
    return apply(pdist_op, (input,), {"p": float(p)})


@public(method=False, out=False)
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of each row of `x1 - x2 + eps`."""
    require_tensor("pairwise_distance", x1, "x1")
    require_tensor("pairwise_distance", x2, "x2", 2)
    difference: Any = x1 - x2 + float(plain_number(eps))  # which makes integers real
    out = norm(difference, p, max(x1._data.ndim, x2._data.ndim) - 1, keepdim)
    rename_node(out._node, "NormBackward1")
    return out


@public(method=False, out=False)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between `x1` and `x2` along `dim`, with norms of at least `eps`."""
    require_tensor("cosine_similarity", x1, "x1")
    require_tensor("cosine_similarity", x2, "x2", 2)
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps}")
    common = promote_types(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is "
            f"{LEGACY_NAMES[common]}"
        )
    directions = []
    for x in FUNCTIONS["broadcast_tensors"](x1.to(common), x2.to(common)):
        length: Any = vector_norm(x, 2, dim, True).clone()
        with no_grad():  # what is less than eps keeps its gradient, as in PyTorch
            length.clamp_min_(eps)
        directions.append(x / length)
    return (directions[0] * directions[1]).sum(dim)


for function in (pdist, pairwise_distance, cosine_similarity):
    NN_FUNCTIONAL[function.__name__] = function
