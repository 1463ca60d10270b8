"""Triangular systems and Cholesky factors, and what is solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._tensor.tensor import Tensor
from .elementwise import conj, require_tensor
from .matrices import adjoint, by_columns, identity, turn
from .matrix_algorithms import not_positive, solve_triangle
from .matrix_checks import (
    LinAlgError,
    check_float,
    check_matrix,
    check_same,
    check_square,
    check_system,
    first_failure,
    singular,
)
from .product_checks import spoken
from .public import LINALG, public
from .record import Op
from .return_types import RETURN_TYPES
from .samples import Sample, T

# --- triangular systems -----------------------------------------------------------------------------


def _solve(a: Any, b: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    if left:
        return by_columns(solve_triangle(a, b, upper, unitriangular))
    return turn(by_columns(solve_triangle(turn(a), turn(b), not upper, unitriangular)))


def part(x: Any, upper: bool, unit: bool) -> Any:
    """The part of a matrix that a triangular solve reads."""
    return np.triu(x, int(unit)) if upper else np.tril(x, -int(unit))


def _gradients(g: Any, a: Any, out: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    """A X = B: gB solves A^H gB = g, and gA = -gB X^H in the triangle."""
    gb = triangular_op(adjoint(a), g, upper=not upper, left=left, unitriangular=unitriangular)
    product = np.matmul(gb, adjoint(out)) if left else np.matmul(adjoint(out), gb)
    return -part(product, upper, unitriangular), gb


def _tangent_of_a(t: Any, a: Any, out: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    t = part(t, upper, unitriangular)
    moved = np.matmul(t, out) if left else np.matmul(out, t)
    return -triangular_op(a, moved, upper=upper, left=left, unitriangular=unitriangular)


triangular_op = Op(
    "linalg_solve_triangular",
    _solve,
    ("a", "b"),
    vjp=_gradients,
    jvp={
        "a": _tangent_of_a,
        "b": lambda t, a, upper, left, unitriangular: triangular_op(
            a, t, upper=upper, left=left, unitriangular=unitriangular
        ),
    },
    public="linalg.solve_triangular",
    samples=lambda: [
        Sample(T(3, 3, kind="upper"), T(3, 2), upper=True),
        Sample(T(3, 3, kind="lower"), T(2, 3, 2), upper=False),
        Sample(T(2, 3, 3, kind="well_conditioned"), T(2, 3), upper=True, left=False),
        Sample(T(2, 1, 3, 3, kind="lower"), T(2, 3, 1), upper=False, unitriangular=True),
        Sample(T(2, 2, kind="well_conditioned", layout="transposed"), T(2, 2), upper=False),
        Sample(T(0, 2, 2), T(0, 2, 3), upper=True),
        Sample(T(0, 0), T(0, 2), upper=True),
    ],
)


@public(method=False, namespace=LINALG)
def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with `A @ X = B` (or `X @ A = B`) for triangular A; the other triangle is not read."""
    check_square("linalg.solve_triangular", A, "A", "linalg_solve_triangular")
    require_tensor("linalg_solve_triangular", B, "B", 2)
    check_matrix("linalg.solve_triangular", B, "B")
    check_system("linalg.solve_triangular", A, B, left, B._data.shape[-2:])
    check_same("linalg.solve_triangular", A, B)
    check_float("linalg.solve_triangular", A)
    parameters = {"upper": bool(upper), "left": left, "unitriangular": unitriangular}
    result: Tensor = apply(triangular_op, (A, B), parameters)
    return result


def _old_gradients(
    g: Any, a: Any, out: Any, upper: bool, transpose: bool, unitriangular: bool, needs: Any
) -> Any:
    gx, g_copy = g
    gb = _old_solve(
        adjoint(turn(a)) if transpose else conj(a), gx, upper, not transpose, unitriangular
    )
    product = np.matmul(conj(out[0]), turn(gb)) if transpose else np.matmul(gb, adjoint(out[0]))
    return gb, g_copy - part(product, upper, unitriangular)


def _old_solve(a: Any, b: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    return triangular_op(
        turn(a) if transpose else a,
        b,
        upper=upper != transpose,
        left=True,
        unitriangular=unitriangular,
    )


triangular_solve_op = Op(
    "triangular_solve",
    lambda b, a, upper, transpose, unitriangular: (
        _old_solve(a, b, upper, transpose, unitriangular),
        by_columns(a),
    ),
    ("b", "a"),
    vjp=_old_gradients,
    jvp={
        "b": lambda t, a, upper, transpose, unitriangular: (
            _old_solve(a, t, upper, transpose, unitriangular),
            a * 0,
        ),
        "a": lambda t, a, out, upper, transpose, unitriangular: (
            -_old_solve(
                a,
                np.matmul(
                    turn(part(t, upper, unitriangular))
                    if transpose
                    else part(t, upper, unitriangular),
                    out[0],
                ),
                upper,
                transpose,
                unitriangular,
            ),
            t,
        ),
    },
    outputs=2,
    samples=lambda: [
        Sample(T(3, 2), T(3, 3, kind="well_conditioned")),
        Sample(T(2, 3, 2), T(3, 3, kind="well_conditioned"), upper=False),
        Sample(T(3, 2), T(3, 3, kind="well_conditioned"), True, True),
        Sample(T(3, 1), T(2, 3, 3, kind="well_conditioned"), unitriangular=True),
    ],
)


@public(out=False)
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """`linalg.solve_triangular` by its old name, with a copy of A beside the solution."""
    require_tensor("triangular_solve", input)
    require_tensor("triangular_solve", A, "A", 2)
    for label, x in (("b", input), ("A", A)):
        if x._data.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {label} to have at least 2 dimensions, but it has "
                f"{x._data.ndim} dimensions instead"
            )
    _check_sizes("triangular_solve", input, A)
    parameters = {"upper": upper, "transpose": transpose, "unitriangular": unitriangular}
    return RETURN_TYPES["triangular_solve"](apply(triangular_solve_op, (input, A), parameters))


def _check_sizes(name: str, b: Any, a: Any) -> None:
    m, n = a._data.shape[-2:]
    if m != n:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {m} by {n} matrices"
        )
    if b._data.shape[-2] != n:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is "
            f"{b._data.shape[-2]} by {b._data.shape[-1]}"
        )
    if a._data.dtype != b._data.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {spoken(b)} and A of type "
            f"{spoken(a)} instead."
        )
    check_float(name, a)


# --- Cholesky ---------------------------------------------------------------------------------------


def _cholesky(x: Any, upper: bool, check: str | None) -> Any:
    info = np.zeros_like(x, shape=x.shape[:-2], dtype=np.int32)
    try:
        return by_columns(np.linalg.cholesky(x, upper=upper)), info
    except np.linalg.LinAlgError:
        factor, info = not_positive(x, upper)
    if check:
        batch, code = first_failure(info)
        raise LinAlgError(
            f"{check}: {batch}The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {code} is not positive-definite)."
        )
    return by_columns(factor), info


def _lower_half(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return np.tril(x) - x * identity(x) * 0.5


def _solve_both(factor: Any, x: Any) -> Any:
    """L^-1 X L^-H."""
    x = triangular_op(factor, x, upper=False, left=True, unitriangular=False)
    return triangular_op(adjoint(factor), x, upper=True, left=False, unitriangular=False)


def _cholesky_gradient(g: Any, out0: Any, upper: bool) -> Any:
    """With P = lower half of L^H gL: gA = L^-H (P + P^H) / 2 L^-1."""
    factor, g = (adjoint(out0), adjoint(g)) if upper else (out0, g)
    half = _lower_half(np.matmul(adjoint(factor), g))
    x = triangular_op(
        adjoint(factor), (half + adjoint(half)) * 0.5, upper=True, left=True, unitriangular=False
    )
    return triangular_op(factor, x, upper=False, left=False, unitriangular=False)


def _cholesky_tangent(t: Any, out0: Any, upper: bool) -> Any:
    """dL = L (lower half of L^-1 dA L^-H)."""
    factor = adjoint(out0) if upper else out0
    moved = np.matmul(factor, _lower_half(_solve_both(factor, t)))
    return (adjoint(moved) if upper else moved), None


def _cholesky_record(name: str, public_name: str) -> Op:
    return Op(
        name,
        _cholesky,
        ("x",),
        vjp={"x": _cholesky_gradient},
        jvp={"x": _cholesky_tangent},
        outputs=2,
        differentiable_outputs=(0,),
        public=public_name,
        samples=lambda: [
            Sample(T(3, 3, kind="spd")),
            Sample(T(2, 2, 2, kind="spd"), upper=True),
            Sample(T(1, 1, kind="spd")),
            Sample(T(0, 0)),
            Sample(T(0, 2, 2)),
        ],
    )


cholesky_ex_op = _cholesky_record("linalg_cholesky_ex", "linalg.cholesky_ex")
cholesky_op = _cholesky_record("cholesky", "cholesky")


@public(method=False, namespace=LINALG)
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor, and for each matrix the order of the minor that is not positive (or 0)."""
    check_square("linalg.cholesky_ex", A, "A", "linalg_cholesky_ex")
    check_float("linalg.cholesky_ex", A)
    check = "linalg.cholesky_ex" if check_errors else None
    found = apply(cholesky_ex_op, (A,), {"upper": upper, "check": check})
    return RETURN_TYPES["linalg_cholesky_ex"](found)


@public("cholesky", method=False, namespace=LINALG)
def linalg_cholesky(A: Any, *, upper: bool = False) -> Tensor:
    """The lower triangular L with `L @ L.mH = A` (or the upper U with `U.mH @ U = A`)."""
    check_square("linalg.cholesky", A, "A", "linalg_cholesky")
    check_float("linalg.cholesky", A)
    parameters = {"upper": upper, "check": "linalg.cholesky"}
    result: Tensor = apply(cholesky_ex_op, (A,), parameters)[0]
    return result


@public()
def cholesky(input: Any, upper: bool = False) -> Tensor:
    """`linalg.cholesky` by its old name."""
    require_tensor("cholesky", input)
    check_square("cholesky", input)
    check_float("cholesky", input)
    result: Tensor = apply(cholesky_op, (input,), {"upper": upper, "check": "cholesky"})[0]
    return result


# --- with a Cholesky factor -------------------------------------------------------------------------


def _cholesky_solve(b: Any, factor: Any, upper: bool) -> Any:
    low = adjoint(factor) if upper else factor
    y = solve_triangle(low, b, False)
    return by_columns(solve_triangle(adjoint(low), y, True))


def _along(factor: Any, x: Any, upper: bool) -> Any:
    """The gradient of the factor from that of A = L L^H (or U^H U), where that is -X."""
    return -np.matmul(factor, x) if upper else -np.matmul(x, factor)


def _triangular(x: Any, upper: bool) -> Any:
    return np.triu(x) if upper else np.tril(x)


def _change_of_matrix(t: Any, factor: Any, upper: bool) -> Any:
    """dA for A = L L^H (or U^H U); the other triangles are not read."""
    t, factor = _triangular(t, upper), _triangular(factor, upper)
    half = np.matmul(adjoint(t), factor) if upper else np.matmul(t, adjoint(factor))
    return half + adjoint(half)


def _cholesky_solve_gradients(g: Any, factor: Any, out: Any, upper: bool) -> Any:
    gb = cholesky_solve_op(g, factor, upper=upper)
    half = np.matmul(gb, adjoint(out))
    return gb, _along(factor, half + adjoint(half), upper)


cholesky_solve_op = Op(
    "cholesky_solve",
    _cholesky_solve,
    ("b", "factor"),
    vjp=_cholesky_solve_gradients,
    jvp={
        "b": lambda t, factor, upper: cholesky_solve_op(t, factor, upper=upper),
        "factor": lambda t, factor, out, upper: (
            -cholesky_solve_op(
                np.matmul(_change_of_matrix(t, factor, upper), out), factor, upper=upper
            )
        ),
    },
    samples=lambda: [
        Sample(T(3, 2), T(3, 3, kind="lower")),
        Sample(T(2, 3, 2), T(3, 3, kind="upper"), upper=True),
        Sample(T(3, 1), T(2, 3, 3, kind="lower")),
        Sample(T(0, 1), T(0, 0)),
    ],
)


@public()
def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Tensor:
    """X with `A @ X = input`, given the Cholesky factor of A."""
    require_tensor("cholesky_solve", input)
    require_tensor("cholesky_solve", L, "input2", 2)
    for label, x in (("b", input), ("u", L)):
        if x._data.ndim < 2:
            raise RuntimeError(
                f"{label} should have at least 2 dimensions, but has {x._data.ndim} dimensions instead"
            )
    _check_sizes("cholesky_solve", input, L)
    result: Tensor = apply(cholesky_solve_op, (input, L), {"upper": upper})
    return result


def _cholesky_inverse(factor: Any, upper: bool) -> Any:
    low = _triangular(adjoint(factor) if upper else factor, False)
    try:
        inverse = np.linalg.inv(low)
    except np.linalg.LinAlgError:
        zero = np.diagonal(low, axis1=-2, axis2=-1) == 0
        found = np.where(np.any(zero, axis=-1), np.argmax(zero, axis=-1) + 1, 0)
        raise singular("cholesky_inverse", found) from None
    return by_columns(np.matmul(adjoint(inverse), inverse))


cholesky_inverse_op = Op(
    "cholesky_inverse",
    _cholesky_inverse,
    ("factor",),
    vjp={
        "factor": lambda g, factor, out, upper: _along(
            factor, np.matmul(out, np.matmul(g + adjoint(g), out)), upper
        )
    },
    jvp={
        "factor": lambda t, factor, out, upper: (
            -np.matmul(out, np.matmul(_change_of_matrix(t, factor, upper), out))
        )
    },
    samples=lambda: [
        Sample(T(3, 3, kind="lower")),
        Sample(T(2, 2, 2, kind="upper"), upper=True),
        Sample(T(0, 0)),
    ],
)


@public()
def cholesky_inverse(L: Any, upper: bool = False) -> Tensor:
    """The inverse of A, given its Cholesky factor."""
    require_tensor("cholesky_inverse", L, "input")
    check_square("cholesky_inverse", L)
    check_float("cholesky_inverse", L)
    result: Tensor = apply(cholesky_inverse_op, (L,), {"upper": upper})
    return result
