"""Inverses, systems of equations and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._tensor.tensor import Tensor
from .elementwise import conj, require_tensor
from .matrices import (
    adjoint,
    by_columns,
    diagonal_matrix,
    diagonal_of,
    identity,
    scale_columns,
    turn,
)
from .matrix_algorithms import solve_anyway, zero_pivots
from .matrix_checks import (
    LinAlgError,
    check_float,
    check_same,
    check_square,
    check_system,
    singular,
)
from .public import LINALG, public
from .record import Op
from .return_types import RETURN_TYPES
from .samples import Sample, T


def _info(x: Any) -> Any:
    """No failure, for each matrix of a batch."""
    return np.zeros_like(x, shape=x.shape[:-2], dtype=np.int32)


# --- the inverse --------------------------------------------------------------------------------------


def _inverse(x: Any, check: str | None) -> Any:
    try:
        return by_columns(np.linalg.inv(x)), _info(x)
    except np.linalg.LinAlgError:
        info = zero_pivots(x)
    if check:
        raise singular(check, info)
    return by_columns(solve_anyway(x, identity(x))), info


def inverse_of(x: Any) -> Any:
    """The inverse inside a rule, with infinities where there is none."""
    return inv_op(x, check=None)[0]


inv_op = Op(
    "linalg_inv_ex",
    _inverse,
    ("x",),
    # d(A^-1) = -A^-1 dA A^-1
    vjp={"x": lambda g, out0: -np.matmul(adjoint(out0), np.matmul(g, adjoint(out0)))},
    jvp={"x": lambda t, out0: (-np.matmul(out0, np.matmul(t, out0)), None)},
    outputs=2,
    differentiable_outputs=(0,),
    public="linalg.inv_ex",
    samples=lambda: [
        Sample(T(3, 3, kind="well_conditioned")),
        Sample(T(2, 2, 2, kind="well_conditioned", layout="transposed")),
        Sample(T(1, 1, kind="well_conditioned")),
        Sample(T(0, 0)),
        Sample(T(0, 2, 2)),
    ],
)


@public(method=False, namespace=LINALG)
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """The inverse, and for each matrix the place of the first zero pivot (or 0)."""
    check_square("linalg.inv_ex", A, "A", "linalg_inv_ex")
    check_float("linalg.inv_ex", A)
    found = apply(inv_op, (A,), {"check": "linalg.inv_ex" if check_errors else None})
    return RETURN_TYPES["linalg_inv_ex"](found)


@public(method=False, namespace=LINALG)
def inv(A: Any) -> Tensor:
    """The inverse of square matrices."""
    check_square("linalg.inv", A, "A", "linalg_inv")
    check_float("linalg.inv", A)
    result: Tensor = apply(inv_op, (A,), {"check": "linalg.inv"})[0]
    return result


@public()
def inverse(input: Any) -> Tensor:
    """The inverse of square matrices."""
    require_tensor("inverse", input)
    return inv(input)


# --- systems of equations -------------------------------------------------------------------------------


def _solve(a: Any, b: Any, left: bool, vector: bool, check: str | None) -> Any:
    if vector:
        b = np.expand_dims(b, -1)
    elif not left:
        a, b = turn(a), turn(b)
    info = _info(a)
    try:
        x = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        if check:
            batch = ""
            info = zero_pivots(a)
            if info.ndim:
                batch = f"(Batch element {int(np.argmax(np.ravel(info) != 0))}): "
            raise LinAlgError(
                f"{check}: {batch}The solver failed because the input matrix is singular."
            ) from None
        x, info = solve_anyway(a, b), zero_pivots(a)
    if vector:
        return by_columns(x[..., 0]), info
    return (by_columns(x) if left else turn(by_columns(x))), info


def solution(a: Any, b: Any, left: bool = True, vector: bool = False) -> Any:
    """X of A X = B inside a rule, with infinities where A is singular."""
    return solve_op(a, b, left=left, vector=vector, check=None)[0]


def _solve_gradients(g: Any, a: Any, out0: Any, left: bool, vector: bool) -> Any:
    """A X = B: gB solves A^H gB = g, and gA = -gB X^H."""
    gb = solution(adjoint(a), g, left, vector)
    if vector:
        return -np.expand_dims(gb, -1) * np.expand_dims(conj(out0), -2), gb
    product = np.matmul(gb, adjoint(out0)) if left else np.matmul(adjoint(out0), gb)
    return -product, gb


def _solve_tangent(t: Any, a: Any, out0: Any, left: bool, vector: bool) -> Any:
    if vector:
        moved = np.matmul(t, np.expand_dims(out0, -1))[..., 0]
    else:
        moved = np.matmul(t, out0) if left else np.matmul(out0, t)
    return -solution(a, moved, left, vector), None


solve_op = Op(
    "linalg_solve_ex",
    _solve,
    ("a", "b"),
    vjp=_solve_gradients,
    jvp={
        "a": _solve_tangent,
        "b": lambda t, a, left, vector: (solution(a, t, left, vector), None),
    },
    outputs=2,
    differentiable_outputs=(0,),
    public="linalg.solve_ex",
    samples=lambda: [
        Sample(T(3, 3, kind="well_conditioned"), T(3, 2)),
        Sample(T(3, 3, kind="well_conditioned"), T(3)),
        Sample(T(2, 3, 3, kind="well_conditioned"), T(2, 3)),
        Sample(T(2, 3, 3, kind="well_conditioned"), T(3)),
        Sample(T(2, 1, 3, 3, kind="well_conditioned"), T(2, 3, 2)),
        Sample(T(2, 3, 3, kind="well_conditioned", layout="transposed"), T(2, 3), left=False),
        Sample(T(0, 0), T(0, 2)),
        Sample(T(0, 2, 2), T(0, 2, 1)),
    ],
)


def _call_solve(name: str, A: Any, B: Any, left: bool, check: str | None) -> Any:
    function = name.replace(".", "_")
    require_tensor(function, A, "A")
    require_tensor(function, B, "B", 2)
    check_square("linalg.solve", A)
    a, b = A._data.shape, B._data.shape
    vector = len(b) == 1 or (len(a) - 1 == len(b) and a[:-1] == b)
    if not left and vector and len(b) > 1:
        vector = False  # a batch of rows rather than of vectors
    if not b:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 1 dimensions.")
    columns = (b[-1], 1) if vector else (b[-2], b[-1])
    check_system("linalg.solve", A, B, left, columns)
    check_same("linalg.solve", A, B)
    check_float("linalg.solve", A)
    return apply(solve_op, (A, B), {"left": left, "vector": vector, "check": check})


@public(method=False, namespace=LINALG)
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """`solve`, and for each matrix the place of the first zero pivot (or 0)."""
    check = "torch.linalg.solve_ex" if check_errors else None
    return RETURN_TYPES["linalg_solve_ex"](_call_solve("linalg.solve_ex", A, B, left, check))


@public(method=False, namespace=LINALG)
def solve(A: Any, B: Any, *, left: bool = True) -> Tensor:
    """X with `A @ X = B` (or `X @ A = B`), for matrices, vectors and batches of them."""
    result: Tensor = _call_solve("linalg.solve", A, B, left, "torch.linalg.solve")[0]
    return result


# --- determinants ---------------------------------------------------------------------------------------


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
    """U, S and V^H of A, and det(U) det(V^H)."""
    from .decompositions import svd_op

    u, s, vh = svd_op(x, full_matrices=False, compute_uv=True)
    return u, s, vh, det_op(u) * det_op(vh)


def _cofactors(x: Any) -> Any:
    """cof(U S V^H) = cof(U) cof(S) cof(V^H): nothing is divided by, so A may be singular."""
    u, s, vh, unit = _parts(x)
    return np.expand_dims(unit, (-1, -2)) * np.matmul(
        scale_columns(conj(u), _left_out(s)), conj(vh)
    )


def _cofactors_of_diagonal(s: Any, e: Any) -> Any:
    """The derivative of cof at diag(s) along E: made of products of all but two values."""
    pairs = _two_left_out(s)
    along = np.matmul(pairs, np.expand_dims(diagonal_of(e), -1))[..., 0]
    return diagonal_matrix(along) - turn(e) * pairs


def _cofactors_gradient(g: Any, x: Any) -> Any:
    u, s, vh, unit = _parts(x)
    inner = _cofactors_of_diagonal(s, np.matmul(turn(u), np.matmul(g, turn(vh))))
    return np.expand_dims(conj(unit), (-1, -2)) * np.matmul(u, np.matmul(inner, vh))


def _cofactors_tangent(t: Any, x: Any) -> Any:
    u, s, vh, unit = _parts(x)
    inner = _cofactors_of_diagonal(s, np.matmul(adjoint(u), np.matmul(t, adjoint(vh))))
    return np.expand_dims(unit, (-1, -2)) * np.matmul(conj(u), np.matmul(inner, conj(vh)))


cofactors_op = Op(
    "cofactors",
    _cofactors,
    ("x",),
    vjp={"x": _cofactors_gradient},
    jvp={"x": _cofactors_tangent},
    node="LinalgDetBackward1",
)
det_op = Op(
    "linalg_det",
    lambda x: np.linalg.det(x),
    ("x",),
    # d det(A) = sum of cof(A) * dA, also where A is singular
    vjp={"x": lambda g, x: np.expand_dims(g, (-1, -2)) * conj(cofactors_op(x))},
    jvp={"x": lambda t, x: np.sum(t * cofactors_op(x), axis=(-2, -1))},
    public="linalg.det",
    samples=lambda: [
        Sample(T(3, 3)),
        Sample(T(2, 2, 2, layout="transposed")),
        Sample(T(1, 1)),
        Sample(T(4, 4, seed=1)),
        Sample(T(3, 3, kind="zeros")),
        Sample(T(0, 0)),
        Sample(T(0, 2, 2)),
    ],
)


def _trace_of_change(x: Any, t: Any) -> Any:
    """d log det(A) = tr(A^-1 dA)."""
    return np.sum(turn(inverse_of(x)) * t, axis=(-2, -1))


def _slogdet_gradient(g: Any, x: Any, out: Any) -> Any:
    g_sign, g_log = g
    if x.dtype.kind == "c":
        g_log = g_log - 1j * np.imag(conj(g_sign) * out[0])
    return np.expand_dims(g_log, (-1, -2)) * adjoint(inverse_of(x))


def _slogdet_tangent(t: Any, x: Any, out: Any) -> Any:
    change = _trace_of_change(x, t)
    if x.dtype.kind == "c":
        return 1j * np.imag(change) * out[0], np.real(change)
    return out[0] * 0, change


slogdet_op = Op(
    "linalg_slogdet",
    lambda x: tuple(np.linalg.slogdet(x)),
    ("x",),
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


@public("det", method=False, namespace=LINALG)
def linalg_det(A: Any) -> Tensor:
    """The determinant of square matrices."""
    check_square("linalg.det", A, "A", "linalg_det")
    check_float("linalg.det", A)
    result: Tensor = apply(det_op, (A,))
    return result


@public(out=False)
def det(input: Any) -> Tensor:
    """The determinant of square matrices."""
    require_tensor("det", input)
    return linalg_det(input)


def _slogdet(A: Any) -> Any:
    check_square("linalg.slogdet", A, "A", "linalg_slogdet")
    check_float("linalg.slogdet", A)
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
def logdet(input: Any) -> Tensor:
    """The logarithm of the determinant: NaN where that is negative."""
    require_tensor("logdet", input)
    check_square("logdet", input)
    check_float("logdet", input)
    found: Any = apply(slogdet_op, (input,))
    sign, log = found
    if input._data.dtype.kind == "c":
        result: Tensor = sign.log() + log
        return result
    from .selection import where

    result = where(sign == -1, float("nan"), log)
    return result
