"""Norms of vectors: `linalg.vector_norm`, `norm` and `dist`; their gradients are safe at zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, as_dtype, from_numpy_dtype
from ..._arrays.sums import contiguous, exact_sum
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import check_broadcast, conj, require_tensor
from ..declare.out_rules import norm_result
from ..declare.promotion import compute_dtype, plain_number
from ..declare.public import LINALG, public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..elementwise.rounding import sign_op
from .reducing import axes_of, count, reduce_with, restore
from .sums_and_means import over_dims


def vector_norm_of(x: Any, ord: float, dim: Any = None, keepdim: bool = False) -> Any:
    a = np.abs(x)
    if ord != 0 and count(x.shape, dim) <= 1:  # exact, whatever the power
        return exact_sum(a, dim, keepdim)
    if ord == math.inf:
        return contiguous(np.max(a, axis=dim, keepdims=keepdim, initial=0))
    if ord == -math.inf:
        return contiguous(np.min(a, axis=dim, keepdims=keepdim))
    if ord == 0:
        return exact_sum(np.astype(a != 0, a.dtype), dim, keepdim)
    if ord == 1:
        return exact_sum(a, dim, keepdim)
    if ord == 2:
        return np.sqrt(exact_sum(a * a, dim, keepdim))
    return exact_sum(a**ord, dim, keepdim) ** (1 / ord)


def _sign(x: Any) -> Any:
    """x / |x|, and 0 at 0."""
    if x.dtype.kind != "c":
        return sign_op(x)
    a = np.abs(x)
    return np.where(a == 0, 0, x / np.where(a == 0, 1, a))


def _safe(quotient: Any, norm: Any) -> Any:
    """The sub-gradient 0 where the norm is 0."""
    return np.where(norm == 0, 0, quotient)


def norm_slope(g: Any, x: Any, norm: Any, ord: float, dim: Any) -> Any:
    """g d norm / d conj(x) = g sgn(x) |x|^(p-1) / norm^(p-1); g and norm broadcast against x."""
    if ord == 1:
        return g * _sign(x)
    if ord == 2:
        return g * _safe(x / norm, norm)
    a = np.abs(x)
    if abs(ord) == math.inf:
        # Not `norm`: in half precision the rounded result may equal no element.
        top = (np.max if ord > 0 else np.min)(a, axis=dim, keepdims=dim is not None)
        ties = (a == top) | (np.isnan(a) & np.isnan(top))
        shared = np.sum(ties, axis=dim, keepdims=dim is not None, dtype=a.dtype)
        return _sign(x) * (g / shared * ties)
    if ord < 1:
        return g * _sign(x) * _safe(a ** (ord - 1), x) * norm ** (1 - ord)
    scale = _safe(g / norm ** (ord - 1), norm)
    if ord < 2:
        return _sign(x) * a ** (ord - 1) * scale
    return x * a ** (ord - 2) * scale


def _norm_vjp(g: Any, x: Any, out: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    if ord == 0:
        return None  # a count has no gradient
    g, norm = (restore(v, x.shape, dim, keepdim) for v in (g, out))
    return norm_slope(g, x, norm, ord, dim)


def norm_slope_along(t: Any, x: Any, out: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    if ord == 0:
        return np.zeros_like(out)
    norm = restore(out, x.shape, dim, keepdim)
    direction = norm_slope(np.ones_like(norm), x, norm, ord, dim)
    along = np.real(conj(direction) * t) if x.dtype.kind == "c" else direction * t
    return np.sum(along, axis=dim, keepdims=keepdim)


vector_norm_op = Op(
    "linalg_vector_norm",
    vector_norm_of,
    ("x",),
    vjp={"x": _norm_vjp},
    jvp={"x": norm_slope_along},
    public="linalg.vector_norm",
    samples=lambda: [
        *(Sample(*s.args[:1], 2, *s.args[1:], **s.kwargs) for s in over_dims()),
        Sample(T(3, 4)),
        Sample(T()),
        Sample(T(0, 2)),
        Sample(T(2, 0, 3), 3, 1),
        *(
            Sample(T(3, 4, kind="distinct", low=-1.0, high=2.3), ord, dim)
            for ord in (0, 0.5, 1, 1.5, 2.5, 3, -0.5, -1, -2, math.inf)
            for dim in (None, 1)
        ),
        # Drawn so that no complex number comes near 0, where its modulus bends too much for
        # differences.
        *(
            Sample(T(3, 4, kind="distinct", low=-1.0, high=2.3, seed=1), -math.inf, dim)
            for dim in (None, 1)
        ),
        Sample(T(2, 0), math.nan, 1),
        Sample(T(2, 3, dtype="float32"), 2, 1, dtype="float64"),
    ],
)


@public("vector_norm", namespace=LINALG, method=False, out=norm_result)
def vector_norm(
    input: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """(Σ |x|^ord)^(1/ord) over `dim`, or of everything."""
    if not isinstance(input, Tensor):
        require_tensor("linalg_vector_norm", input)
    if isinstance(ord, complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )
    if isinstance(ord, bool) or not isinstance(ord, (int, float, np.number)):
        raise TypeError(
            "linalg_vector_norm(): argument 'ord' (position 2) must be Number, not "
            f"{type(ord).__name__}"
        )
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{LEGACY_NAMES[input.dtype]}"
        )
    if dtype is not None:
        _check_dtype(input, as_dtype(dtype))
    dims = axes_of(dim, input._data.ndim, "linalg_vector_norm")
    if ord < 0 or ord == math.inf:
        _check_identity(input._data.shape, ord, dims, dim)
    parameters = {"ord": plain_number(ord), "dim": dims, "keepdim": keepdim}
    return reduce_with(vector_norm_op, "linalg_vector_norm", input, parameters, dtype)


def _check_dtype(x: Tensor, dtype: Any) -> None:
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be floating point or complex, but got "
            f"{LEGACY_NAMES[dtype]}"
        )
    if dtype.is_complex != x.dtype.is_complex:
        kind = "complex" if x.dtype.is_complex else "real"
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got "
            f"{LEGACY_NAMES[dtype]}"
        )


def _check_identity(shape: tuple[int, ...], ord: Any, dims: Any, given: Any) -> None:
    if count(shape, dims) == 0:
        if dims is None:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because "
                "the operation does not have an identity"
            )
        named = (given,) if len(dims) == 1 and not isinstance(given, (tuple, list)) else given
        empty = next(name for name, d in zip(named, dims, strict=True) if shape[d] == 0)
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on the dimension {empty}because "
            "this dimension is empty and the operation does not have an identity"
        )


@public(out=norm_result)
def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """The p-norm over `dim` or of everything; "fro" is 2, "nuc" the nuclear norm of matrices."""
    if not isinstance(input, Tensor):
        require_tensor("norm", input)
    if p is None:
        p = 2.0
    if p == "fro" and (dim is None or isinstance(dim, int) or len(dim) <= 2):
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if not isinstance(p, str):
        return vector_norm(input, p, dim, keepdim, dtype=dtype)
    pair = dim
    if dim is None:
        pair = (0, 1) if p == "nuc" and input._data.ndim == 2 else (-2, -1)
    elif isinstance(dim, int):
        pair = (dim,)
    return LINALG["matrix_norm"](input, p, pair, keepdim, dtype=dtype)


# --- the distance between two tensors ------------------------------------------------------------


def _dist_vjp(g: Any, x: Any, y: Any, out: Any, p: float) -> Any:
    return None if p == 0 else norm_slope(g, _difference(x, y, out), out, p, None)


def _difference(x: Any, y: Any, norm: Any) -> Any:
    """x - y in the dtype that the norm was computed in."""
    if x.dtype == y.dtype or "c" in (x.dtype.kind, y.dtype.kind):
        return x - y
    return np.astype(x, norm.dtype) - np.astype(y, norm.dtype)


dist_op = Op(
    "dist",
    lambda x, y, p: vector_norm_of(x - y, p),
    ("x", "y"),
    vjp={
        "x": _dist_vjp,
        "y": lambda g, x, y, out, p: _dist_vjp(g, y, x, out, p),
    },
    jvp={
        "x": lambda t, x, y, out, p: _dist_jvp(t, _difference(x, y, out), out, p),
        "y": lambda t, x, y, out, p: -_dist_jvp(t, _difference(x, y, out), out, p),
    },
    samples=lambda: [
        Sample(T(3, 4), T(3, 4, seed=1)),
        Sample(T(3, 4), T(4, seed=1), 3),
        Sample(T(), T(seed=1), 1),
        Sample(T(0, 2), T(2, seed=1)),
        *(Sample(T(5), T(5, seed=1), p=p) for p in (0.5, 1, 1.5, math.inf, -math.inf)),
    ],
)


def _dist_jvp(t: Any, difference: Any, out: Any, p: float) -> Any:
    wide = np.broadcast_to(t, difference.shape)
    return norm_slope_along(wide, difference, out, p, None, False)


@public()
def dist(input: Any, other: Any, p: Any = 2) -> Any:
    """The p-norm of `input - other`."""
    require_tensor("dist", input)
    require_tensor("dist", other, "other", 2)
    if "b" in (input._data.dtype.kind, other._data.dtype.kind):
        input - other  # an error: bools have no difference
    compute = compute_dtype((input, other), "common")
    if compute.kind in "biu":
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{LEGACY_NAMES[from_numpy_dtype(compute)]} instead."
        )
    check_broadcast(input._data.shape, other._data.shape)
    return apply(dist_op, (input, other), {"p": plain_number(p)}, compute)
