"""QR factors: a matrix with orthonormal columns times an upper triangular one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._autograd.apply import apply
from ...declare.elementwise_calls import require_tensor
from ...declare.public import LINALG, public
from ...declare.record import Op
from ...declare.return_types import RETURN_TYPES
from ...declare.samples import Sample, T
from ..matrices import adjoint, by_columns, identity, product
from ..matrix_checks import check_float, check_kernel, check_matrix
from ..solvers.triangular_solve import triangular_op


def _qr(x: Any, mode: str) -> Any:
    if mode == "r":
        return np.zeros_like(x, shape=(0,)), by_columns(np.linalg.qr(x, "r"))
    q, r = np.linalg.qr(x, "complete" if mode == "complete" else "reduced")
    return by_columns(q), by_columns(r)


def _check_differentiable(x: Any, mode: str) -> None:
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )


def _over(x: Any, r: Any, adjoined: bool = False) -> Any:
    """X R^-1, or X R^-H."""
    factor = adjoint(r) if adjoined else r
    return triangular_op(factor, x, upper=not adjoined, left=False, unitriangular=False)


def _from_triangle(x: Any) -> Any:
    """The Hermitian matrix with this upper triangle and the real part of its diagonal."""
    above = np.triu(x, 1)
    diagonal = (np.real(x) if x.dtype.kind == "c" else x) * identity(x)
    return above + adjoint(above) + diagonal


def _to_triangle(x: Any) -> Any:
    """The upper triangle of X + X^H with half of the diagonal."""
    both = x + adjoint(x)
    return np.triu(both) - both * identity(x) * 0.5


def _gradient(g: Any, x: Any, out: Any, mode: str) -> Any:
    """gA = (gQ + Q herm(triu(gR R^H - Q^H gQ))) R^-H. What is right of the square part of a wide R
    is Q^H Y, with Y the columns of A above it: gY = Q gV, and Q gets Y gV^H."""
    _check_differentiable(x, mode)
    (q, r), (gq, gr) = out, g
    m, n = x.shape[-2:]
    rest = None
    if n > m:
        v, gv = r[..., m:], gr[..., m:]
        r, gr = r[..., :m], gr[..., :m]
        gq = gq + product(q, v, adjoint(gv))
        rest = np.matmul(q, gv)
    inner = np.matmul(gr, adjoint(r)) - np.matmul(adjoint(q), gq)
    square = _over(gq + np.matmul(q, _from_triangle(inner)), r, adjoined=True)
    return square if rest is None else np.concatenate((square, rest), axis=-1)


def _tangent(t: Any, x: Any, out: Any, mode: str) -> Any:
    """With M = Q^H dA R^-1: dR = triu(M + M^H) R (half of the diagonal), dQ = (dA - Q dR) R^-1."""
    _check_differentiable(x, mode)
    q, r = out
    m, n = x.shape[-2:]
    right = None
    if n > m:
        v, right = r[..., m:], t[..., m:]
        r, t = r[..., :m], t[..., :m]
    moved = _over(t, r)
    inner = _to_triangle(np.matmul(adjoint(q), moved))
    dq = moved - np.matmul(q, inner)
    dr = np.matmul(inner, r)
    if right is not None:
        more = np.matmul(adjoint(q), right - np.matmul(dq, v))
        dr = np.concatenate((dr, more), axis=-1)
    return dq, dr


qr_op: Op = Op(
    "linalg_qr",
    _qr,
    ("x",),
    vjp={"x": _gradient},
    jvp={"x": _tangent},
    outputs=2,
    public="linalg.qr",
    samples=lambda: [
        Sample(T(3, 3)),
        Sample(T(2, 4, 2, layout="transposed")),
        Sample(T(2, 4), "complete"),
        Sample(T(2, 3)),
        Sample(T(1, 1)),
        Sample(T(0, 2)),
        Sample(T(2, 0)),
        Sample(T(0, 2, 2), mode="complete"),
    ],
)


@public(method=False, namespace=LINALG)
def qr(A: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R upper triangular, with `A = Q @ R`."""
    require_tensor("linalg_qr", A, "A")
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "r", "complete"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    check_float("linalg.qr", A)
    check_kernel("geqrf_cpu", A, even_empty=True)
    return RETURN_TYPES["linalg_qr"](apply(qr_op, (A,), {"mode": mode}))


@public("qr")
def old_qr(input: Any, some: bool = True) -> Any:
    """`linalg.qr` by its old name."""
    require_tensor("qr", input)
    return RETURN_TYPES["qr"](qr(input, "reduced" if some else "complete"))
