"""Determinants and their logarithms.

The gradient of a determinant is its matrix of cofactors. That exists for singular matrices too,
so it comes from the singular values rather than from the inverse: nothing is divided by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.result_layout import each, in_c_order
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import conj, require_tensor
from ..declare.public import LINALG, public
from ..declare.record import Op
from ..declare.return_types import RETURN_TYPES
from ..declare.samples import Sample, T
from .decompositions.singular_values import svd_op
from .matrices import adjoint, diagonal_matrix, diagonal_of, identity, product, scale_columns, turn
from .matrix_checks import check_float, check_kernel, check_square
from .solvers.inverses import inverse_of

# --- cofactors -----------------------------------------------------------------------------------


def _left_out(values: Any) -> Any:
    """For each value the product of all the others."""
    spread = np.expand_dims(values, -2)
    mask = identity(values)
    return np.prod(spread * (1 - mask) + mask, axis=-1)


def _two_left_out(values: Any) -> Any:
    """For each pair i != k the product of all values but those two; 0 for i = k."""
    mask = identity(values)
    either = np.maximum(np.expand_dims(mask, -2), np.expand_dims(mask, -3))
    spread = np.expand_dims(values, (-2, -3))
    return np.prod(spread * (1 - either) + either, axis=-1) * (1 - mask)


def _parts(x: Any) -> tuple[Any, Any, Any, Any]:
    """U, S and V^H of A, and det(U) det(V^H) as a matrix of one element."""
    u, s, vh = svd_op(x, full_matrices=False, compute_uv=True)
    return u, s, vh, _as_matrix(det_op(u)) * _as_matrix(det_op(vh))


def _as_matrix(x: Any) -> Any:
    return np.expand_dims(x, (-1, -2))


def _cofactors(x: Any) -> Any:
    """cof(U S V^H) = cof(U) cof(S) cof(V^H)."""
    u, s, vh, unit = _parts(x)
    return unit * np.matmul(scale_columns(conj(u), _left_out(s)), conj(vh))


def _cofactors_of_diagonal(s: Any, e: Any) -> Any:
    """The derivative of cof at diag(s) along E: made of products of all but two values."""
    pairs = _two_left_out(s)
    along = np.sum(pairs * np.expand_dims(diagonal_of(e), -2), axis=-1)
    return diagonal_matrix(along) - turn(e) * pairs


def _cofactors_gradient(g: Any, x: Any) -> Any:
    u, s, vh, unit = _parts(x)
    inner = _cofactors_of_diagonal(s, product(turn(u), g, turn(vh)))
    return conj(unit) * product(u, inner, vh)


def _cofactors_tangent(t: Any, x: Any) -> Any:
    u, s, vh, unit = _parts(x)
    inner = _cofactors_of_diagonal(s, product(adjoint(u), t, adjoint(vh)))
    return unit * product(conj(u), inner, conj(vh))


cofactors_op: Op = Op(
    "cofactors",
    _cofactors,
    ("x",),
    vjp={"x": _cofactors_gradient},
    jvp={"x": _cofactors_tangent},
    node="LinalgDetBackward1",
)

# --- the records ---------------------------------------------------------------------------------

det_op: Op = Op(
    "linalg_det",
    lambda x: np.linalg.det(x),
    ("x",),
    layout=in_c_order,
    # d det(A) = sum of cof(A) * dA, also where A is singular
    vjp={"x": lambda g, x: _as_matrix(g) * conj(cofactors_op(x))},
    jvp={"x": lambda t, x: np.sum(t * cofactors_op(x), axis=(-2, -1))},
    public="linalg.det",
    samples=lambda: [
        Sample(T(3, 3)),
        Sample(T(2, 2, 2, layout="transposed")),
        Sample(T(1, 1)),
        Sample(T(4, 4, seed=1)),
        Sample(T(0, 0, grad=False)),
        Sample(T(0, 2, 2, grad=False)),
    ],
)


def _slogdet_gradient(g: Any, x: Any, out: Any) -> Any:
    """d log|det(A)| = Re tr(A^-1 dA); a complex sign turns by Im tr(A^-1 dA)."""
    g_sign, g_log = g
    if x.dtype.kind == "c":
        g_log = g_log - 1j * np.imag(conj(g_sign) * out[0])
    return _as_matrix(g_log) * adjoint(inverse_of(x))


def _slogdet_tangent(t: Any, x: Any, out: Any) -> Any:
    change = np.sum(turn(inverse_of(x)) * t, axis=(-2, -1))
    if x.dtype.kind == "c":
        return 1j * np.imag(change) * out[0], np.real(change)
    return out[0] * 0, change


slogdet_op: Op = Op(
    "linalg_slogdet",
    lambda x: tuple(np.linalg.slogdet(x)),
    ("x",),
    layout=each(in_c_order),
    vjp={"x": _slogdet_gradient},
    jvp={"x": _slogdet_tangent},
    outputs=2,
    public="linalg.slogdet",
    samples=lambda: [
        Sample(T(3, 3, kind="well_conditioned")),
        Sample(T(3, 3, seed=3)),
        Sample(T(2, 2, 2, kind="well_conditioned", layout="transposed")),
        Sample(T(1, 1, kind="well_conditioned")),
        Sample(T(0, 0)),
        Sample(T(0, 2, 2)),
    ],
)

# --- the functions -------------------------------------------------------------------------------


@public("det", method=False, namespace=LINALG)
def linalg_det(A: Any) -> Tensor:
    """The determinant of square matrices."""
    check_square("linalg.det", A, "A", "linalg_det")
    check_float("linalg.det", A)
    check_kernel("lu_cpu", A)
    result: Tensor = apply(det_op, (A,))
    return result


@public(out=False)
def det(input: Any) -> Any:
    """The determinant of square matrices."""
    require_tensor("det", input)
    return linalg_det(input)


def _slogdet(A: Any) -> Any:
    check_square("linalg.slogdet", A, "A", "linalg_slogdet")
    check_float("linalg.slogdet", A, low_precision=False)
    return apply(slogdet_op, (A,))


@public("slogdet", method=False, namespace=LINALG)
def linalg_slogdet(A: Any) -> Any:
    """The sign of the determinant and the logarithm of its absolute value."""
    return RETURN_TYPES["linalg_slogdet"](_slogdet(A))


@public()
def slogdet(input: Any) -> Any:
    """The sign of the determinant and the logarithm of its absolute value."""
    require_tensor("slogdet", input)
    return RETURN_TYPES["slogdet"](_slogdet(input))


@public(out=False)
def logdet(input: Any) -> Any:
    """The logarithm of the determinant: NaN where that is negative."""
    require_tensor("logdet", input)
    check_square("logdet", input)
    check_float("logdet", input, low_precision=False)
    found: Any = apply(slogdet_op, (input,))
    sign, log = found
    if input._data.dtype.kind == "c":
        return sign.log() + log
    from ..elementwise.selection import where

    return where(sign == -1, float("nan"), log)
