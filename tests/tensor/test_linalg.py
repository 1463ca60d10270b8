"""Linear algebra: forms of arguments, batches, dtypes, empties, `out=`, named results, errors.

Every expression runs on both engines, with the same matrices, and must give the same values,
dtypes, shapes, node names and names of fields, or the same error.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tautograd

from ..both import same
from .both_engines import agree


def _inputs(torch: Any, dtype: str, grad: bool) -> dict[str, Any]:
    """The names that expressions use; the same numbers on both engines."""
    rng = np.random.default_rng(3)

    def made(*shape: int, plus: float = 0.0) -> Any:
        values = rng.uniform(-1, 1, shape)
        if dtype.startswith("complex"):
            values = values + 1j * rng.uniform(-1, 1, shape)
        if plus:
            values = values + plus * np.eye(shape[-2], shape[-1])
        return torch.tensor(values.tolist(), dtype=getattr(torch, dtype)).requires_grad_(grad)

    names = {
        "A": made(3, 3, plus=3.0), "B": made(3, 3), "W": made(2, 4), "H": made(4, 2),
        "v": made(3), "u": made(3), "w": made(4), "K": made(2, 3, 3, plus=3.0),
        "M": made(2, 3, 3), "Q": made(4, 1, 3, 3), "X": made(2, 3), "Y": made(3, 4),
    }  # fmt: skip
    S = names["A"].detach()
    names["S"] = (S @ S.mH + 3 * torch.eye(3, dtype=S.dtype)).requires_grad_(grad)
    return {"torch": torch, "linalg": torch.linalg, "inf": float("inf"), **names}


def _table(text: str) -> list[str]:
    return [part.strip() for line in text.split("\n") for part in line.split(" ; ") if part.strip()]


def _shown(result: Any) -> Any:
    """A result with the names of its type, its fields and its nodes."""
    if isinstance(result, (tuple, list)):
        fields = list(getattr(result, "__match_args__", ()))
        return [type(result).__name__, fields, [_shown(r) for r in result]]
    if hasattr(result, "grad_fn"):
        return [result, result.grad_fn]
    return result


# --- values --------------------------------------------------------------------------------------

PRODUCTS = _table(
    """
    A @ B ; A @ v ; v @ A ; v @ u ; X @ Y ; K @ M ; K @ B ; B @ K ; K @ v ; v @ K ; Q @ K ; Q @ B
    K @ Q ; Q @ v ; A.T @ B.T ; K.mT @ M ; K @ M.mT ; A.matmul(B) ; torch.matmul(A, other=B)
    linalg.matmul(A, B) ; torch.mm(X, Y) ; X.mm(Y) ; torch.bmm(K, M) ; K.bmm(M.mT)
    torch.mv(A, v) ; A.mv(v) ; torch.dot(v, u) ; v.dot(u) ; torch.vdot(v, u) ; v.vdot(u)
    torch.inner(v, u) ; torch.inner(A, v) ; torch.inner(K, B) ; torch.inner(v[0], A) ; v.inner(A)
    torch.outer(v, w) ; v.outer(u) ; torch.ger(v, w) ; v.ger(w) ; torch.kron(v, w)
    torch.kron(A, W) ; torch.kron(v, A) ; A.kron(B) ; torch.addmm(B, A, A) ; torch.addmm(v, A, B)
    torch.addmm(B, A, B, beta=2, alpha=0.5) ; B.addmm(A, B, beta=0) ; torch.addmv(v, A, u)
    torch.addmv(v, A, u, beta=0.5, alpha=-1) ; v.addmv(A, u) ; torch.addr(A, v, u)
    A.addr(v, u, alpha=2) ; torch.addbmm(B, K, M) ; B.addbmm(K, M, beta=2) ; torch.baddbmm(B, K, M)
    K.baddbmm(K, M, alpha=3) ; torch.tensordot(K, M, 2) ; torch.tensordot(K, M, dims=1)
    torch.tensordot(A, B, dims=0) ; torch.tensordot(K, A, ([2], [0]))
    torch.tensordot(K, M, ([0, 1], [0, 2]))
    torch.chain_matmul(X, Y, H) ; linalg.multi_dot([X, Y, H]) ; linalg.multi_dot([v, A, B, u])
    linalg.multi_dot([v, A]) ; linalg.multi_dot([A, v]) ; linalg.multi_dot((X, Y)) ; torch.trace(A)
    A.trace() ; torch.trace(X) ; torch.cross(v, u) ; torch.cross(A, B, dim=0) ; v.cross(u)
    linalg.cross(K, M) ; linalg.cross(K, M, dim=1) ; linalg.vecdot(A, B) ; linalg.vecdot(v, u)
    linalg.vecdot(A, v, dim=0) ; torch.nn.functional.linear(X, A) ; torch.nn.functional.linear(v, A)
    torch.nn.functional.linear(X, A, v) ; torch.nn.functional.linear(K, A, v)
    torch.nn.functional.linear(K.mT, A, v) ; torch.nn.functional.linear(v, A, u)
    torch.nn.functional.linear(v, u) ; torch.einsum("ij,jk->ik", A, B) ; torch.einsum("ij->ji", A)
    torch.einsum("ii", A) ; torch.einsum("ii->i", A) ; torch.einsum("bij,bjk->bik", K, M)
    torch.einsum("...ij,...jk", Q, K) ; torch.einsum("i,j", v, w) ; torch.einsum("ij->", A)
    torch.einsum("bij,j", K, v) ; torch.einsum("ij,jk,kl->il", X, Y, H) ; torch.einsum("i,i", v, u)
    torch.einsum(A, [0, 1], B, [1, 2], [0, 2]) ; torch.einsum("ij,ij->i", [A, B])
    torch.einsum("b...,b...->...", K, M)
    """
)
SQUARES = _table(
    """
    linalg.det(A) ; linalg.det(K) ; torch.det(A) ; A.det() ; linalg.slogdet(A) ; torch.slogdet(K)
    A.slogdet() ; torch.logdet(A) ; K.logdet() ; linalg.inv(A) ; torch.inverse(K) ; A.inverse()
    linalg.inv_ex(A) ; linalg.inv_ex(K, check_errors=True) ; linalg.solve(A, v) ; linalg.solve(A, Y)
    linalg.solve(K, X) ; linalg.solve(K, v) ; linalg.solve(Q, K) ; linalg.solve(A, X, left=False)
    linalg.solve_ex(A, Y) ; linalg.solve_triangular(A, Y, upper=True)
    linalg.solve_triangular(K, Y, upper=False)
    linalg.solve_triangular(A, X, upper=True, left=False)
    linalg.solve_triangular(A, Y, upper=False, unitriangular=True) ; linalg.cholesky(S)
    linalg.cholesky(S, upper=True) ; linalg.cholesky_ex(S) ; torch.cholesky(S)
    S.cholesky(upper=True)
    torch.cholesky_solve(Y, linalg.cholesky(S))
    Y.cholesky_solve(linalg.cholesky(S, upper=True), True)
    torch.cholesky_inverse(linalg.cholesky(S)) ; torch.triangular_solve(Y, A) ; linalg.qr(A)
    Y.triangular_solve(A, upper=False, transpose=True) ; linalg.qr(H) ; linalg.qr(W, "complete")
    linalg.qr(H.detach(), mode="complete") ; linalg.qr(A.detach(), mode="r") ; torch.qr(A) ; H.qr()
    torch.qr(W, some=False) ; linalg.svdvals(W) ; linalg.svdvals(K) ; linalg.svd(W)[1]
    linalg.svd(H, full_matrices=False).S ; torch.svd(W).S ; torch.svd(W, compute_uv=False)
    [t.shape for t in linalg.svd(W)] ; [t.shape for t in linalg.svd(W, False)]
    [t.shape for t in torch.svd(W)] ; [t.shape for t in torch.svd(W, some=False)]
    linalg.eigvalsh(S) ; linalg.eigvalsh(S, UPLO="U") ; linalg.eigh(S).eigenvalues
    linalg.lu(A) ; linalg.lu(W) ; linalg.lu(H) ; linalg.lu_factor(K) ; linalg.lu_factor_ex(A)
    torch.lu(A) ; torch.lu(A, get_infos=True) ; A.lu() ; torch.lu_unpack(*linalg.lu_factor(A))
    torch.lu_unpack(*linalg.lu_factor(H), unpack_pivots=False)
    torch.lu_unpack(torch.zeros(2, 0, 0), torch.ones(0, dtype=torch.int32))
    linalg.lu_solve(*linalg.lu_factor(A), Y) ; torch.lu_solve(Y, *linalg.lu_factor(A))
    linalg.lu_solve(*linalg.lu_factor(A), X, left=False, adjoint=True) ; linalg.pinv(A)
    linalg.pinv(W) ; linalg.pinv(H, rtol=0.1) ; linalg.pinv(K, atol=0.5)
    linalg.pinv(S, hermitian=True)
    linalg.pinv(W, rcond=torch.tensor(1e-3, dtype=torch.float64)) ; torch.pinverse(W) ; W.pinverse()
    linalg.pinv(K, rtol=torch.tensor([1e-3, 2.0], dtype=torch.float64)) ; linalg.matrix_power(A, 0)
    linalg.matrix_power(A, 1) ; linalg.matrix_power(A, 2) ; linalg.matrix_power(K, 3)
    linalg.matrix_power(A, 7) ; linalg.matrix_power(A, -1) ; torch.matrix_power(A, -2)
    A.matrix_power(5) ; linalg.matrix_exp(A) ; torch.matrix_exp(K) ; A.matrix_exp()
    linalg.matrix_exp(A * 20) ; linalg.lstsq(A, Y) ; linalg.lstsq(H, w) ; linalg.lstsq(W, X[:, :2])
    linalg.lstsq(H, w, driver="gelsd") ; linalg.lstsq(K, M, driver="gels")
    linalg.lstsq(H, Y.T, driver="gelss", rcond=1e-2) ; linalg.matrix_rank(A) ; linalg.matrix_rank(K)
    linalg.matrix_rank(A.detach() * 0) ; linalg.matrix_rank(S, hermitian=True)
    linalg.matrix_rank(K, atol=2.5) ; linalg.matrix_rank(K, rtol=0.9) ; linalg.matrix_rank(A, 0.1)
    linalg.tensorinv(A.reshape(3, 1, 3)) ; linalg.tensorinv(A, ind=1)
    linalg.tensorsolve(A.reshape(3, 3, 1), v) ; linalg.vander(v) ; linalg.vander(W, N=3)
    linalg.diagonal(K) ; linalg.diagonal(K, offset=1, dim1=0, dim2=2)
    linalg.householder_product(H, w[:2]) ; torch.orgqr(H, w[:2])
    torch.geqrf(H.detach())
    """
)
NORMS = _table(
    "; ".join(
        f"linalg.matrix_norm(W, {ord}) ; linalg.matrix_norm(K, {ord}, keepdim=True) ; "
        f"linalg.matrix_norm(K, {ord}, dim=(0, 2)) ; linalg.norm(A, {ord}) ; "
        f"linalg.matrix_norm(K, {ord}, (2, 0), True) ; linalg.cond(A, {ord})"
        for ord in ("'fro'", "'nuc'", 1, -1, 2, -2, "inf", "-inf")
    ).replace("; ", " ; ")
    + """
    linalg.norm(A) ; linalg.norm(v) ; linalg.norm(v, 1) ; linalg.norm(K) ; linalg.norm(K, dim=1)
    linalg.norm(K, 2, dim=(1, 2)) ; linalg.norm(K, 3, dim=-1)
    linalg.norm(A, 2, dim=1, keepdim=True)
    linalg.norm(K, dim=(0, 1)) ; linalg.cond(W) ; linalg.cond(K) ; linalg.cond(A.detach() * 0)
    linalg.cond(A.detach() * 0, 1) ; linalg.cond(A.detach() * 0, 'fro')
    """
)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("expression", [*PRODUCTS, *SQUARES, *NORMS])
@same
def test_value(torch: Any, expression: str, dtype: str) -> Any:
    names = _inputs(torch, dtype, grad=True)
    with np.errstate(all="ignore"):
        return _run(expression, names)


def _run(expression: str, names: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _shown(eval(expression, names))
        except (RuntimeError, NotImplementedError, TypeError, IndexError) as error:
            return [type(error).__name__, str(error)[:40]]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("expression", PRODUCTS)
@same
def test_dtype(torch: Any, expression: str, dtype: str) -> Any:
    """In each dtype: the same dtype of the result, or the same refusal."""
    names = _inputs(torch, "float64", grad=False)
    wanted = getattr(torch, dtype)
    cast = {k: v.to(wanted) if isinstance(v, torch.Tensor) else v for k, v in names.items()}
    result = _run(expression, cast)
    return (
        [str(result[0].dtype), result[0].shape] if isinstance(result[0], torch.Tensor) else result
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool", "complex64"])
@pytest.mark.parametrize(
    "expression",
    _table(
        """
        linalg.det(A) ; linalg.slogdet(A) ; linalg.inv(A) ; linalg.inv_ex(A) ; linalg.solve(A, A)
        linalg.svd(A) ; linalg.svdvals(A) ; linalg.eigh(A) ; linalg.eig(A) ; linalg.eigvals(A)
        linalg.qr(A) ; linalg.cholesky(A) ; linalg.cholesky_ex(A) ; linalg.lu(A) ; linalg.pinv(A)
        linalg.lu_factor(A) ; linalg.lstsq(A, A) ; linalg.matrix_exp(A) ; linalg.matrix_power(A, 3)
        linalg.matrix_power(A, -1) ; linalg.matrix_rank(A) ; linalg.cond(A) ; linalg.cond(A, 1)
        linalg.matrix_norm(A) ; linalg.matrix_norm(A, 2) ; linalg.matrix_norm(A, 1) ; linalg.norm(A)
        linalg.solve_triangular(A, A, upper=True) ; linalg.tensorinv(A, 1) ; linalg.vander(A)
        linalg.householder_product(A, A[0]) ; torch.cholesky(A) ; torch.cholesky_inverse(A)
        torch.cholesky_solve(A, A) ; torch.triangular_solve(A, A) ; torch.logdet(A) ; torch.geqrf(A)
        torch.lu(A) ; torch.pinverse(A) ; torch.qr(A) ; torch.svd(A) ; linalg.vecdot(A, A)
        """
    ),
)
@pytest.mark.parametrize("shape", [(2, 2), (0, 0), (0, 2, 2)])
@same
def test_dtype_of_matrices(torch: Any, expression: str, dtype: str, shape: Any) -> Any:
    A = torch.eye(2) if shape == (2, 2) else torch.ones(shape)
    A = A.to(getattr(torch, dtype))
    result = _run(expression, {"torch": torch, "linalg": torch.linalg, "A": A})
    return _kinds(result)


def _kinds(result: Any) -> Any:
    """Dtypes and shapes in place of tensors."""
    if isinstance(result, list):
        return [_kinds(r) for r in result]
    return [str(result.dtype), result.shape] if hasattr(result, "grad_fn") else result


# --- errors --------------------------------------------------------------------------------------

ERRORS = _table(
    """
    torch.mm(X, X) ; torch.mm(v, A) ; torch.mm(A, v) ; torch.mm(A, B.float()) ; torch.mm(A, 1)
    X @ X ; A @ X ; K @ X ; v @ X ; X @ X[0, :2] ; v[0] @ v ; A @ v[0] ; A @ 1 ; 1 @ A
    torch.matmul(A, B.float()) ; torch.matmul(Q, torch.ones(3, 3, 3, dtype=A.dtype))
    torch.bmm(A, K)
    torch.bmm(K, A) ; torch.bmm(K, X[:, :, None]) ; torch.bmm(K, K.float()) ; torch.mv(X, v[:2])
    torch.mv(v, v) ; torch.mv(A, A) ; torch.mv(A, v.float()) ; torch.dot(A, v) ; torch.dot(v, w)
    torch.dot(v, u.float()) ; torch.vdot(v, A) ; torch.outer(A, v) ; torch.outer(v, A)
    torch.inner(v, w) ; torch.addmm(w, A, B) ; torch.addmm(A, v, B) ; torch.addmm(A, B, X)
    torch.addmm(A, A, B.float()) ; torch.addmm(A.float(), A, B) ; torch.addmv(w, A, v)
    torch.addmv(A, A, v) ; torch.addr(A, A, v) ; torch.addr(w, v, u) ; torch.addbmm(A, K, A)
    torch.addbmm(w, K, K) ; torch.baddbmm(w, K, K) ; torch.baddbmm(K, A, K)
    torch.baddbmm(K, K, K.float()) ; torch.baddbmm(K, K, Q) ; torch.tensordot(A, W, 1)
    torch.tensordot(A, B, -1) ; torch.tensordot(A, B, 3) ; torch.tensordot(A, B, ([0], [0, 1]))
    torch.tensordot(A, B, ([0, 0], [0, 1])) ; torch.tensordot(A, B, ([5], [0]))
    linalg.multi_dot([A]) ; linalg.multi_dot([K, A]) ; linalg.multi_dot([A, K, A])
    linalg.multi_dot([X, X]) ; linalg.multi_dot([A, B.float()]) ; torch.chain_matmul(v, A)
    torch.trace(v) ; torch.trace(K) ; torch.cross(w, w) ; linalg.cross(v, A) ; linalg.cross(W, W)
    linalg.vecdot(v, w) ; torch.einsum("ij,jk->ik", A) ; torch.einsum("ij", A, B)
    torch.einsum("i", A) ; torch.einsum("ij->k", A) ; torch.einsum("i1", A)
    torch.einsum("ij,jk", A, W)
    torch.einsum("ij->ii", A) ; torch.einsum("..ij", A) ; torch.einsum("ii", W) ; torch.einsum("ij")
    linalg.det(v) ; linalg.det(W) ; linalg.inv(X) ; linalg.inv(v) ; linalg.inv(A * 0)
    linalg.inv(K * 0)
    linalg.inv(1) ; linalg.inv_ex(A * 0, check_errors=True)
    linalg.solve(A, w) ; linalg.solve(X, v) ; linalg.solve(A * 0, v) ; linalg.solve(K * 0, v)
    linalg.solve(A, v.float()) ; linalg.solve(A, v, left=False) ; linalg.solve(A, X)
    linalg.solve_triangular(A, X, upper=True) ; linalg.solve_triangular(A, v, upper=True)
    linalg.solve_triangular(W, W, upper=True)
    linalg.cholesky(-S) ; linalg.cholesky(torch.stack((S, -S))) ; linalg.cholesky(W)
    torch.cholesky(-S)
    linalg.cholesky_ex(-S, check_errors=True) ; linalg.qr(A, "x") ; linalg.qr(v) ; linalg.svd(v)
    linalg.svd(A * float("nan")) ; linalg.eigh(W) ; linalg.eigh(A, "X") ; linalg.eigh(A, UPLO=3)
    linalg.eig(W) ; linalg.eig(A * float("nan")) ; linalg.eigvals(v) ; linalg.eigvalsh(v)
    linalg.lu(v) ; linalg.lu(A, pivot=False) ; linalg.lu_factor(A * 0) ; linalg.lu_factor(K * 0)
    linalg.lu_solve(A, torch.ones(3), Y) ; linalg.lu_solve(A, torch.ones(2, dtype=torch.int32), Y)
    linalg.lu_solve(A, torch.ones(3, dtype=torch.int32), X) ; torch.lu_unpack(A, torch.ones(3))
    linalg.pinv(v) ; linalg.pinv(W, hermitian=True) ; linalg.lstsq(v, v) ; linalg.lstsq(A, W)
    linalg.lstsq(A, Y, driver="x") ; linalg.lstsq(A, Y.float()) ; linalg.matrix_exp(W)
    linalg.matrix_exp(v) ; linalg.matrix_power(W, 2) ; linalg.matrix_power(A, 2.0)
    linalg.matrix_power(A * 0, -1) ; linalg.matrix_rank(v) ; linalg.matrix_norm(A, 3)
    linalg.matrix_norm(A, "x") ; linalg.matrix_norm(v) ; linalg.matrix_norm(A, dim=(0,))
    linalg.matrix_norm(A, dim=(0, 0)) ; linalg.matrix_norm(A, dtype=torch.int64)
    linalg.matrix_norm(A, 2, dtype=torch.float32) ; linalg.matrix_norm(A, dim=(0, 5))
    linalg.norm(K, 2) ; linalg.norm(K, dim=(0, 1, 2)) ; linalg.norm(v, "nuc") ; linalg.norm(A, "x")
    linalg.cond(A, 3) ; linalg.cond(W, 1) ; linalg.cond(v) ; linalg.tensorinv(A, 0)
    linalg.tensorinv(W, 1) ; linalg.tensorsolve(W, v) ; linalg.vander(v[0]) ; linalg.vander(v, N=0)
    linalg.householder_product(W, v) ; linalg.householder_product(v, v) ; torch.geqrf(v)
    linalg.householder_product(H, w) ; torch.cholesky_solve(v, A) ; torch.cholesky_solve(Y, W)
    torch.cholesky_inverse(W) ; torch.triangular_solve(v, A) ; torch.triangular_solve(H, A)
    torch.cholesky_inverse(A * 0) ; torch.logdet(W) ; torch.slogdet(v) ; torch.svd(v)
    torch.nn.functional.linear(X, W) ; torch.nn.functional.linear(X, A, w) ; torch.qr(v)
    torch.nn.functional.linear(v[0], A) ; torch.nn.functional.bilinear(v, w, K)
    """
)


def test_pivots_of_another_batch_are_refused() -> None:
    """PyTorch reads and writes foreign memory here."""
    with pytest.raises(RuntimeError, match=r"LU_pivots, \[2, 3\], must match"):
        tautograd.lu_unpack(tautograd.zeros(3, 3), tautograd.ones(2, 3, dtype=tautograd.int32))


@pytest.mark.parametrize("expression", ERRORS)
def test_error(expression: str) -> None:
    agree(lambda torch: eval(expression, _inputs(torch, "float64", grad=False)))


@pytest.mark.parametrize(
    "expression",
    _table(
        """
        linalg.qr(H, mode="complete")[0].sum() ; linalg.qr(A, mode="r")[1].sum()
        linalg.svd(C)[0].sum().abs() ; linalg.eigh(C)[1].sum().abs() ; linalg.eig(C)[1].sum().abs()
        torch.geqrf(A)[0].sum()
        """
    ),
)
def test_no_derivative(expression: str) -> None:
    def program(torch: Any) -> Any:
        names = _inputs(torch, "float64", grad=True)
        names["C"] = (names["B"].detach() * (1 + 2j)).requires_grad_()
        eval(expression, names).backward()

    agree(program)


def test_error_class() -> None:
    assert issubclass(tautograd.linalg.LinAlgError, RuntimeError)
    with pytest.raises(tautograd.linalg.LinAlgError, match="The diagonal element 1 is zero"):
        tautograd.linalg.inv(tautograd.zeros(2, 2))


# --- out= and in place ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    _table(
        """
        torch.mm(A, B, out=R) ; torch.matmul(K, M, out=R) ; torch.bmm(K, M, out=R)
        torch.mv(A, v, out=R) ; torch.dot(v, u, out=R) ; torch.addmm(A, A, B, out=R)
        torch.outer(v, u, out=R) ; linalg.det(A, out=R) ; linalg.inv(A, out=R)
        linalg.solve(A, v, out=R) ; linalg.cholesky(S, out=R) ; linalg.matrix_norm(A, out=R)
        linalg.matrix_norm(A, 1, out=R) ; linalg.norm(A, 2, out=R)
        linalg.matrix_power(A, 3, out=R)
        linalg.pinv(A, out=R) ; linalg.svdvals(A, out=R) ; linalg.eigvalsh(S, out=R)
        linalg.multi_dot([A, B], out=R) ; linalg.cond(A, out=R) ; linalg.tensorinv(A, 1, out=R)
        linalg.solve_triangular(A, B, upper=True, out=R) ; torch.kron(v, u, out=R)
        torch.tensordot(A, B, 1, out=R) ; torch.inverse(A, out=R) ; torch.cholesky_inverse(S, out=R)
        torch.chain_matmul(A, B, out=R) ; linalg.qr(A, out=(R, R2)) ; linalg.slogdet(A, out=(R, R2))
        linalg.lu_factor(A, out=(R, I)) ; linalg.vecdot(A, B, out=R) ; linalg.cross(A, B, out=R)
        """
    ),
)
@same
def test_out(torch: Any, expression: str) -> Any:
    names = _inputs(torch, "float64", grad=False)
    R, R2 = (torch.empty(0, dtype=torch.float64) for _ in range(2))
    outs = {"R": R, "R2": R2, "I": torch.empty(0, dtype=torch.int32)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(expression, {**names, **outs})
    first = result if isinstance(result, torch.Tensor) else result[0]
    return [first is R, result, R]


@same
def test_out_refuses_gradients(torch: Any) -> None:
    A = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.mm(A, A, out=torch.empty(2, 2))


@same
def test_in_place(torch: Any) -> Any:
    names = _inputs(torch, "float64", grad=False)
    A, B, v, u, K, M = (names[n] for n in "ABvuKM")
    return [
        A.clone().addmm_(A, B, beta=2),
        v.clone().addmv_(A, u),
        A.clone().addr_(v, u, alpha=3),
        A.clone().addbmm_(K, M),
        K.clone().baddbmm_(K, M, beta=0),
    ]


@same
def test_augmented_matmul_makes_a_new_tensor(torch: Any) -> Any:
    a = b = torch.eye(2) * 2
    a @= a
    return [a, b, a is b]


# --- singular and degenerate ---------------------------------------------------------------------


def test_gradient_of_the_determinant_of_a_singular_matrix() -> None:
    """Its cofactors, which PyTorch gives only under create_graph."""
    A = tautograd.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=tautograd.float64, requires_grad=True)
    tautograd.linalg.det(A).backward()
    np.testing.assert_allclose(A.grad.numpy(), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-12)


@same
def test_singular_values_of_equal_size(torch: Any) -> Any:
    """Gradients through values alone are finite; through vectors they are not."""
    A = (torch.eye(3, dtype=torch.float64) * 2).requires_grad_()
    (through_values,) = torch.autograd.grad(torch.linalg.svdvals(A).sum(), A)
    (symmetric,) = torch.autograd.grad(torch.linalg.eigvalsh(A).sum(), A)
    return [through_values, symmetric]


@pytest.mark.parametrize("name", ["inv_ex", "cholesky_ex", "lu_factor_ex"])
@same
def test_failure_is_reported(torch: Any, name: str) -> Any:
    function = getattr(torch.linalg, name)
    A = torch.tensor([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 3.0]]], dtype=torch.float64)
    return list(function(A))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 2, 2), (2, 3, 0)])
@pytest.mark.parametrize(
    "expression",
    _table(
        """
        A @ A.mT ; A.mT @ A ; linalg.svdvals(A) ; linalg.qr(A) ; linalg.qr(A, "complete")
        linalg.pinv(A)
        linalg.matrix_rank(A) ; linalg.matrix_norm(A) ; linalg.matrix_norm(A, 1)
        linalg.matrix_norm(A, 2)
        linalg.matrix_norm(A, "nuc") ; linalg.matrix_norm(A, -1) ; linalg.matrix_norm(A, -2)
        linalg.lu(A) ; linalg.lu_factor_ex(A) ; linalg.cond(A) ; linalg.det(A) ; linalg.slogdet(A)
        linalg.inv(A) ; linalg.cholesky(A) ; linalg.eigvalsh(A) ; linalg.eigvals(A)
        linalg.matrix_exp(A)
        linalg.matrix_power(A, 2) ; linalg.matrix_power(A, 0) ; linalg.solve(A, A)
        linalg.lstsq(A, A)
        torch.kron(A, A) ; torch.einsum("...ij,...kj->...ik", A, A)
        linalg.svd(A, full_matrices=False)
        """
    ),
)
@same
def test_empty(torch: Any, expression: str, shape: Any) -> Any:
    A = torch.ones(shape, dtype=torch.float64)
    return _kinds(_run(expression, {"torch": torch, "linalg": torch.linalg, "A": A}))
