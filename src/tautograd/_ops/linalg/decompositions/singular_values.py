"""Singular values and their vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.result_layout import by_place, in_c_order
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import require_tensor
from ...declare.public import LINALG, public
from ...declare.record import Op
from ...declare.return_types import RETURN_TYPES
from ...declare.samples import Sample, T
from ..matrices import (
    adjoint,
    by_columns,
    diagonal_matrix,
    diagonal_of,
    product,
    scale_columns,
    scale_rows,
)
from ..matrix_checks import LinAlgError, check_float, check_kernel, check_matrix
from .spectra import check_gauge, divided, gaps, over, wants_derivative


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


def _thin(out: Any, full_matrices: bool) -> Any:
    """U, S and V^H of the reduced form: what else there is in the full one has no derivative."""
    u, s, vh = out
    k = s.shape[-1]
    return (u[..., :k], s, vh[..., :k, :]) if full_matrices else (u, s, vh)


def _skew(x: Any) -> Any:
    return x - adjoint(x)


def _over_columns(x: Any, s: Any) -> Any:
    return over(x, np.expand_dims(s, -2))


def _gradient(g: Any, x: Any, out: Any, full_matrices: bool) -> Any:
    """gA = U (skew(U^H gU)/E S + S skew(V^H gV)/E + diag(gS)) V^H, E[i,j] = S[j]^2 - S[i]^2, and
    what gU and gV have outside the spaces of U and V."""
    u, s, vh = _thin(out, full_matrices)
    gu, gs, gvh = _thin(g, full_matrices)
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    from_u, from_v = _skew(product(adjoint(u), gu)), _skew(product(vh, adjoint(gvh)))
    gap = gaps(s * s)
    inner = scale_columns(divided(from_u, gap), s) + scale_rows(divided(from_v, gap), s)
    if x.dtype.kind == "c":
        phases = diagonal_of(from_u)
        check_gauge("svd_backward", phases + diagonal_of(from_v), "singular vectors")
        gs = gs + over(phases, 2 * s)
    gradient = product(u, inner + diagonal_matrix(gs), vh)
    if m > k:
        outside = gu - product(u, adjoint(u), gu)
        gradient = gradient + product(_over_columns(outside, s), vh)
    if n > k:
        outside = gvh - product(gvh, adjoint(vh), vh)
        gradient = gradient + product(u, adjoint(_over_columns(adjoint(outside), s)))
    return gradient


def _tangent(t: Any, x: Any, out: Any, full_matrices: bool) -> Any:
    u, s, vh = _thin(out, full_matrices)
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    change = product(adjoint(u), t, adjoint(vh))
    ds = np.real(diagonal_of(change))
    gap = gaps(s * s)
    right, left = scale_columns(change, s), scale_rows(change, s)
    inner_u = divided(right + adjoint(right), gap)
    inner_v = divided(left + adjoint(left), gap)
    if x.dtype.kind == "c":
        phases = diagonal_matrix(1j * np.imag(diagonal_of(change)) / (2 * s))
        inner_u, inner_v = inner_u + phases, inner_v - phases
    du, dv = product(u, inner_u), product(adjoint(vh), inner_v)
    if m > k:
        moved = product(t, adjoint(vh))
        du = du + _over_columns(moved - product(u, adjoint(u), moved), s)
    if n > k:
        moved = product(adjoint(t), u)
        dv = dv + _over_columns(moved - product(adjoint(vh), vh, moved), s)
    dvh = adjoint(dv)
    if full_matrices:
        du, dvh = _padded(du, out[0].shape), _padded(dvh, out[2].shape)
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


svd_op: Op = Op(
    "linalg_svd",
    _svd,
    ("x",),
    layout=by_place(None, in_c_order, None),
    vjp={"x": _gradient},
    jvp={"x": _tangent},
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


def _check(function: str, A: Any, driver: str | None) -> None:
    check_matrix("linalg.svd", A, "A", function)
    check_float("linalg.svd", A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )
    check_kernel("linalg_svd_cpu", A)


@public(method=False, namespace=LINALG)
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and V^H with `A = U @ diag(S) @ Vh`, the singular values S in descending order."""
    _check("linalg_svd", A, driver)
    found = apply(svd_op, (A,), {"full_matrices": full_matrices, "compute_uv": True})
    return RETURN_TYPES["linalg_svd"](found)


@public(method=False, namespace=LINALG)
def svdvals(A: Any, *, driver: str | None = None) -> Tensor:
    """The singular values of matrices, in descending order."""
    _check("linalg_svdvals", A, driver)
    parameters = {"full_matrices": False, "compute_uv": wants_derivative(A)}
    result: Tensor = apply(svd_op, (A,), parameters)[1]
    return result


@public("svd")
def old_svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """`linalg.svd` by its old name, which gives V rather than its conjugate transpose."""
    require_tensor("svd", input)
    rank = input._data.ndim
    if rank < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {rank} dimensions "
            "instead"
        )
    if not compute_uv:
        m, n = input._data.shape[-2:]
        batch = input._data.shape[:-2]
        zeros = [input.new_zeros((*batch, k, k)) for k in (m, n)]
        return RETURN_TYPES["svd"]((zeros[0], svdvals(input), zeros[1]))
    u, s, vh = svd(input, not some)
    return RETURN_TYPES["svd"]((u, s, vh.mH))
