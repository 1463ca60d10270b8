"""Eigenvalues and their vectors, of symmetric (Hermitian) matrices and of all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.result_layout import by_place, in_c_order
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import conj
from ...declare.public import LINALG, public
from ...declare.record import Op
from ...declare.return_types import RETURN_TYPES
from ...declare.samples import Sample, T
from ..matrices import (
    adjoint,
    as_input,
    by_columns,
    diagonal_matrix,
    diagonal_of,
    identity,
    product,
    scale_columns,
)
from ..matrix_checks import check_kernel, check_square
from ..products.product_checks import spoken
from ..solvers.inverses import solution
from .spectra import check_gauge, divided, gaps, wants_derivative

# --- of symmetric and Hermitian matrices ---------------------------------------------------------


def _eigh(x: Any, UPLO: Any, compute_v: bool) -> Any:
    try:
        if compute_v:
            values, vectors = np.linalg.eigh(x, UPLO)
            return as_input(x, values, by_columns(vectors))
        return as_input(x, np.linalg.eigvalsh(x, UPLO), np.zeros_like(x, shape=(0,)))
    except np.linalg.LinAlgError:  # PyTorch's LAPACK passes NaN through
        bad = np.isnan(np.sum(x, axis=(-2, -1)))
        if not np.any(bad):
            raise
        clean = np.where(np.expand_dims(bad, (-1, -2)), identity(x), x)
        values, vectors = _eigh(clean, UPLO, compute_v)
        values = np.where(np.expand_dims(bad, -1), np.nan, values)
        if compute_v:
            vectors = np.where(np.expand_dims(bad, (-1, -2)), np.nan, vectors)
        return values, vectors


def _eigh_gradient(g: Any, x_dtype: Any, out: Any) -> Any:
    """gA = V (skew(V^H gV)/E + diag(gL)) V^H, E[i,j] = L[j] - L[i]."""
    values, vectors = out
    g_values, g_vectors = g
    inner = product(adjoint(vectors), g_vectors)
    if x_dtype.kind == "c":
        check_gauge("linalg_eigh_backward", diagonal_of(inner), "eigenvectors")
    skew = 0.5 * (inner - adjoint(inner))
    inner = divided(skew, gaps(values)) + diagonal_matrix(g_values)
    return product(vectors, inner, adjoint(vectors))


def _eigh_tangent(t: Any, out: Any) -> Any:
    values, vectors = out
    change = product(adjoint(vectors), t, vectors)
    return np.real(diagonal_of(change)), product(vectors, divided(change, gaps(values)))


eigh_op: Op = Op(
    "linalg_eigh",
    _eigh,
    ("x",),
    layout=by_place(in_c_order, None),
    vjp={"x": _eigh_gradient},
    jvp={"x": _eigh_tangent},
    outputs=2,
    public="linalg.eigh",
    samples=lambda: [
        Sample(T(3, 3, kind="symmetric")),
        Sample(T(2, 3, 3, kind="symmetric"), UPLO="U"),
        Sample(T(1, 1, kind="symmetric")),
        Sample(T(0, 0)),
        Sample(T(0, 2, 2)),
    ],
)


def _call_eigh(name: str, A: Any, UPLO: Any, compute_v: bool) -> Any:
    if not isinstance(UPLO, str):
        raise TypeError(f"{name}(): argument 'UPLO' must be str, not {type(UPLO).__name__}")
    check_square("linalg.eigh", A, "A", name)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_kernel("linalg_eigh_cpu", A)
    return apply(eigh_op, (A,), {"UPLO": UPLO.upper(), "compute_v": compute_v})


@public(method=False, namespace=LINALG)
def eigh(input: Any, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices; one triangle is read."""
    return RETURN_TYPES["linalg_eigh"](_call_eigh("linalg_eigh", input, UPLO, True))


@public(method=False, namespace=LINALG)
def eigvalsh(input: Any, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, in ascending order."""
    result: Tensor = _call_eigh("linalg_eigvalsh", input, UPLO, wants_derivative(input))[0]
    return result


# --- of general matrices -------------------------------------------------------------------------


def _eig(x: Any, compute_v: bool) -> Any:
    kind = np.result_type(x.dtype, np.complex64)
    try:
        if compute_v:
            values, vectors = np.linalg.eig(x)
            return np.astype(values, kind), by_columns(np.astype(vectors, kind))
        return np.astype(np.linalg.eigvals(x), kind), np.zeros_like(x, shape=(0,), dtype=kind)
    except np.linalg.LinAlgError:
        raise RuntimeError(
            "torch.linalg.eig: input tensor should not contain infs or NaNs."
        ) from None


def _eig_gradient(g: Any, out: Any) -> Any:
    """gA = V^-H ((V^H gV - V^H V diag(Re V^H gV))/E^* + diag(gL)) V^H, E[i,j] = L[j] - L[i]."""
    values, vectors = out
    g_values, g_vectors = g
    inner = product(adjoint(vectors), g_vectors)
    along = diagonal_of(inner)
    check_gauge("linalg_eig_backward", along, "eigenvectors")
    inner = inner - scale_columns(product(adjoint(vectors), vectors), np.real(along))
    inner = divided(inner, conj(gaps(values))) + diagonal_matrix(g_values)
    return solution(adjoint(vectors), product(inner, adjoint(vectors)))


def _eig_tangent(t: Any, out: Any) -> Any:
    """dV = V X - V diag(Re V^H V X) with X = (V^-1 dA V)/E: vectors keep their length."""
    values, vectors = out
    change = solution(vectors, product(np.astype(t, vectors.dtype), vectors))
    moved = product(vectors, divided(change, gaps(values)))
    along = np.real(diagonal_of(product(adjoint(vectors), moved)))
    return diagonal_of(change), moved - scale_columns(vectors, along)


eig_op: Op = Op(
    "linalg_eig",
    _eig,
    ("x",),
    layout=by_place(in_c_order, None),
    vjp={"x": _eig_gradient},
    jvp={"x": _eig_tangent},
    outputs=2,
    public="linalg.eig",
    samples=lambda: [
        Sample(T(3, 3, kind="symmetric")),
        Sample(T(2, 2, 2)),
        Sample(T(1, 1)),
        Sample(T(0, 0)),
        Sample(T(0, 2, 2)),
    ],
)


def _call_eig(name: str, A: Any, compute_v: bool) -> Any:
    check_square(f"linalg.{name}", A, "A", f"linalg_{name}")
    if A._data.dtype.kind not in "fcV":
        raise RuntimeError(f"Unknown Complex ScalarType for {spoken(A)}")
    check_kernel("linalg_eig_out_cpu", A, even_empty=True)
    return apply(eig_op, (A,), {"compute_v": compute_v})


@public(method=False, namespace=LINALG)
def eig(input: Any) -> Any:
    """Eigenvalues and eigenvectors of square matrices, as complex numbers."""
    return RETURN_TYPES["linalg_eig"](_call_eig("eig", input, True))


@public(method=False, namespace=LINALG)
def eigvals(input: Any) -> Tensor:
    """The eigenvalues of square matrices, as complex numbers."""
    result: Tensor = _call_eig("eigvals", input, wants_derivative(input))[0]
    return result
