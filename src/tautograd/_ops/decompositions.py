"""Singular values, eigenvalues and their vectors.

Vectors are defined up to a factor (a sign; a phase for complex numbers), so only functions that do not
depend on it have a gradient. Where one does, the rules refuse, as PyTorch's do. Equal singular values
or eigenvalues leave a whole space to choose vectors from: gradients through vectors are then infinite,
those through values alone are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._autograd.modes import modes
from .._tensor.tensor import Tensor
from .elementwise import conj, require_tensor
from .linalg import solution
from .matrices import (
    adjoint,
    by_columns,
    diagonal_matrix,
    diagonal_of,
    identity,
    raw,
    scale_columns,
    scale_rows,
)
from .matrix_checks import LinAlgError, check_float, check_matrix, check_square
from .product_checks import spoken
from .public import LINALG, public
from .record import Op
from .return_types import RETURN_TYPES
from .samples import Sample, T


def _mm(*factors: Any) -> Any:
    product = factors[0]
    for factor in factors[1:]:
        product = np.matmul(product, factor)
    return product


def _check_gauge(name: str, phase: Any, what: str) -> None:
    """Refuse a loss that depends on the phase of complex vectors, which nothing determines."""
    values = raw(phase)
    if isinstance(values, np.ndarray) and not np.allclose(np.imag(values), 0, 1e-2, 1e-2):
        raise RuntimeError(
            f"{name}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. "
            "The specified loss function depends on this "
            + ("phase term, making it" if "svd" in name else "quantity, so it is")
            + " ill-defined."
        )


def _divided(x: Any, gaps: Any) -> Any:
    """Off-diagonal entries over differences of values; nothing over nothing is nothing."""
    void = (raw(x) == 0) & (raw(gaps) == 0)
    mask = identity(x)
    return x / (np.where(void, 1, gaps) * (1 - mask) + mask) * (1 - mask)


def _gaps(values: Any) -> Any:
    """The entry at i, j is values[j] - values[i]."""
    return np.expand_dims(values, -2) - np.expand_dims(values, -1)


# --- singular values ------------------------------------------------------------------------------------


def _svd(x: Any, full_matrices: bool, compute_uv: bool) -> Any:
    try:
        if compute_uv:
            u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
            return by_columns(u), s, by_columns(vh)
        s = np.linalg.svd(x, compute_uv=False)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained "
            "non-finite values."
        ) from None
    empty = np.zeros_like(x, shape=(0,))
    return empty, s, empty


def _thin(x: Any, out: Any, full_matrices: bool) -> Any:
    """U, S and V^H of the reduced form: what else there is in the full one has no derivative."""
    u, s, vh = out
    k = s.shape[-1]
    return (u[..., :k], s, vh[..., :k, :]) if full_matrices else (u, s, vh)


def _skew(x: Any) -> Any:
    return x - adjoint(x)


def _svd_gradient(g: Any, x: Any, out: Any, full_matrices: bool) -> Any:
    """gA = U (skew(U^H gU)/E S + S skew(V^H gV)/E + diag(gS)) V^H, E[i,j] = S[j]^2 - S[i]^2, and
    what gU and gV have outside the spaces of U and V."""
    u, s, vh = _thin(x, out, full_matrices)
    gu, gs, gvh = _thin(x, g, full_matrices)
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    from_u, from_v = _skew(_mm(adjoint(u), gu)), _skew(_mm(vh, adjoint(gvh)))
    gaps = _gaps(s * s)
    inner = scale_columns(_divided(from_u, gaps), s) + scale_rows(_divided(from_v, gaps), s)
    if x.dtype.kind == "c":
        phases = diagonal_of(from_u)
        _check_gauge("svd_backward", phases + diagonal_of(from_v), "singular vectors")
        gs = gs + _over(phases, 2 * s)
    inner = inner + diagonal_matrix(gs)
    gradient = _mm(u, inner, vh)
    if m > k:
        outside = gu - _mm(u, adjoint(u), gu)
        gradient = gradient + _mm(_over_columns(outside, s), vh)
    if n > k:
        outside = gvh - _mm(gvh, adjoint(vh), vh)
        gradient = gradient + _mm(u, adjoint(_over_columns(adjoint(outside), s)))
    return gradient


def _over(x: Any, s: Any) -> Any:
    """x / s, and nothing for nothing over nothing."""
    return x / np.where((raw(x) == 0) & (raw(s) == 0), 1, s)


def _over_columns(x: Any, s: Any) -> Any:
    return _over(x, np.expand_dims(s, -2))


def _svd_tangent(t: Any, x: Any, out: Any, full_matrices: bool) -> Any:
    u, s, vh = _thin(x, out, full_matrices)
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    change = _mm(adjoint(u), t, adjoint(vh))
    ds = np.real(diagonal_of(change))
    gaps = _gaps(s * s)
    right, left = scale_columns(change, s), scale_rows(change, s)
    inner_u = _divided(right + adjoint(right), gaps)
    inner_v = _divided(left + adjoint(left), gaps)
    if x.dtype.kind == "c":
        phases = diagonal_matrix(1j * np.imag(diagonal_of(change)) / (2 * s))
        inner_u, inner_v = inner_u + phases, inner_v - phases
    du, dv = _mm(u, inner_u), _mm(adjoint(vh), inner_v)
    if m > k:
        moved = _mm(t, adjoint(vh))
        du = du + _over_columns(moved - _mm(u, adjoint(u), moved), s)
    if n > k:
        moved = _mm(adjoint(t), u)
        dv = dv + _over_columns(moved - _mm(adjoint(vh), vh, moved), s)
    dvh = adjoint(dv)
    if full_matrices:
        du = _padded(du, out[0].shape)
        dvh = _padded(dvh, out[2].shape)
    return du, ds, dvh


def _padded(x: Any, shape: Any) -> Any:
    """Zeros for the vectors that only the full form has."""
    missing = (shape[-2] - x.shape[-2], shape[-1] - x.shape[-1])
    for axis, count in zip((-2, -1), missing, strict=True):
        if count:
            size = list(x.shape)
            size[axis] = count
            x = np.concatenate((x, np.zeros_like(x, shape=tuple(size))), axis=axis)
    return x


svd_op = Op(
    "linalg_svd",
    _svd,
    ("x",),
    vjp={"x": _svd_gradient},
    jvp={"x": _svd_tangent},
    outputs=3,
    public="linalg.svd",
    samples=lambda: [
        Sample(T(3, 3)),
        Sample(T(4, 2), full_matrices=False),
        Sample(T(2, 2, 3, layout="transposed"), full_matrices=False),
        Sample(T(1, 1)),
        Sample(T(0, 2), full_matrices=False),
        Sample(T(0, 2, 2)),
    ],
)


@public(method=False, namespace=LINALG)
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and V^H with `A = U @ diag(S) @ Vh`, the singular values S in descending order."""
    check_matrix("linalg.svd", A, "A", "linalg_svd")
    check_float("linalg.svd", A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )
    found = apply(svd_op, (A,), {"full_matrices": full_matrices, "compute_uv": True})
    return RETURN_TYPES["linalg_svd"](found)


def _wants_derivative(x: Tensor) -> bool:
    return (modes.grad and x.requires_grad) or bool(modes.forward_level)


@public(method=False, namespace=LINALG)
def svdvals(A: Any, *, driver: str | None = None) -> Tensor:
    """The singular values of matrices, in descending order."""
    check_matrix("linalg.svd", A, "A", "linalg_svdvals")
    check_float("linalg.svd", A)
    parameters = {"full_matrices": False, "compute_uv": _wants_derivative(A)}
    result: Tensor = apply(svd_op, (A,), parameters)[1]
    return result


@public("svd")
def old_svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """`linalg.svd` by its old name, which gives V rather than its conjugate transpose."""
    require_tensor("svd", input)
    if input._data.ndim < 2:
        raise RuntimeError("linalg.svd: The input tensor A must have at least 2 dimensions.")
    if not compute_uv:
        m, n = input._data.shape[-2:]
        batch = input._data.shape[:-2]
        zeros = [input.new_zeros((*batch, k, k)) for k in (m, n)]
        return RETURN_TYPES["svd"]((zeros[0], svdvals(input), zeros[1]))
    u, s, vh = svd(input, not some)
    return RETURN_TYPES["svd"]((u, s, vh.mH))


# --- eigenvalues of symmetric and Hermitian matrices ----------------------------------------------------


def _eigh(x: Any, UPLO: str, compute_v: bool) -> Any:
    try:
        if compute_v:
            values, vectors = np.linalg.eigh(x, UPLO)
            return values, by_columns(vectors)
        return np.linalg.eigvalsh(x, UPLO), np.zeros_like(x, shape=(0,))
    except np.linalg.LinAlgError:  # PyTorch's LAPACK passes NaN through
        bad = np.isnan(np.sum(x, axis=(-2, -1)))
        if not np.any(bad):
            raise
        clean = np.where(np.expand_dims(bad, (-1, -2)), identity(x), x)
        values, vectors = _eigh(clean, UPLO, compute_v)
        values = np.where(np.expand_dims(bad, -1), np.nan, values)
        return values, np.where(
            np.expand_dims(bad, (-1, -2)), np.nan, vectors
        ) if compute_v else vectors


def _eigh_gradient(g: Any, x_dtype: Any, out: Any) -> Any:
    """gA = V ((V^H gV)/E + diag(gL)) V^H, E[i,j] = L[j] - L[i]."""
    values, vectors = out
    g_values, g_vectors = g
    inner = _mm(adjoint(vectors), g_vectors)
    if x_dtype.kind == "c":
        _check_gauge("linalg_eigh_backward", diagonal_of(inner), "eigenvectors")
    inner = _divided(inner, _gaps(values)) + diagonal_matrix(g_values)
    return _mm(vectors, inner, adjoint(vectors))


def _eigh_tangent(t: Any, out: Any) -> Any:
    values, vectors = out
    change = _mm(adjoint(vectors), t, vectors)
    return np.real(diagonal_of(change)), _mm(vectors, _divided(change, _gaps(values)))


eigh_op = Op(
    "linalg_eigh",
    _eigh,
    ("x",),
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
    check_float("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return apply(eigh_op, (A,), {"UPLO": UPLO.upper(), "compute_v": compute_v})


@public(method=False, namespace=LINALG)
def eigh(A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices; one triangle is read."""
    return RETURN_TYPES["linalg_eigh"](_call_eigh("linalg_eigh", A, UPLO, True))


@public(method=False, namespace=LINALG)
def eigvalsh(A: Any, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, in ascending order."""
    wants = isinstance(A, Tensor) and _wants_derivative(A)
    result: Tensor = _call_eigh("linalg_eigvalsh", A, UPLO, wants)[0]
    return result


# --- eigenvalues of general matrices --------------------------------------------------------------------


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
    inner = _mm(adjoint(vectors), g_vectors)
    along = diagonal_of(inner)
    _check_gauge("linalg_eig_backward", along, "eigenvectors")
    inner = inner - scale_columns(_mm(adjoint(vectors), vectors), np.real(along))
    inner = _divided(inner, conj(_gaps(values))) + diagonal_matrix(g_values)
    return solution(adjoint(vectors), _mm(inner, adjoint(vectors)))


def _eig_tangent(t: Any, out: Any) -> Any:
    """dV = V X - V diag(Re V^H V X) with X = (V^-1 dA V)/E: vectors keep their length."""
    values, vectors = out
    change = solution(vectors, _mm(t, vectors))
    moved = _mm(vectors, _divided(change, _gaps(values)))
    along = np.real(diagonal_of(_mm(adjoint(vectors), moved)))
    return diagonal_of(change), moved - scale_columns(vectors, along)


eig_op = Op(
    "linalg_eig",
    _eig,
    ("x",),
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
    check_square("linalg.eig", A, "A", name)
    if A._data.dtype.kind not in "fcV":
        raise RuntimeError(f"Unknown Complex ScalarType for {spoken(A)}")
    check_float("linalg.eig", A)
    return apply(eig_op, (A,), {"compute_v": compute_v})


@public(method=False, namespace=LINALG)
def eig(A: Any) -> Any:
    """Eigenvalues and eigenvectors of square matrices, as complex numbers."""
    return RETURN_TYPES["linalg_eig"](_call_eig("linalg_eig", A, True))


@public(method=False, namespace=LINALG)
def eigvals(A: Any) -> Tensor:
    """The eigenvalues of square matrices, as complex numbers."""
    wants = isinstance(A, Tensor) and _wants_derivative(A)
    result: Tensor = _call_eig("linalg_eigvals", A, wants)[0]
    return result
