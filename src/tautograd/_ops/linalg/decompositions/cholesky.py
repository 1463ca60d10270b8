"""Cholesky factors, and what is solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import holds_throughout
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import require_tensor
from ...declare.out_argument import CONTIGUOUS_OUT
from ...declare.public import LINALG, public
from ...declare.record import Op
from ...declare.return_types import RETURN_TYPES
from ...declare.samples import Sample, T
from ..matrices import adjoint, as_input, by_columns, identity
from ..matrix_algorithms import not_positive, solve_triangle
from ..matrix_checks import (
    LinAlgError,
    check_float,
    check_kernel,
    check_square,
    first_failure,
    singular,
)
from ..solvers.triangular_solve import check_old_system, triangular_op


def _cholesky(x: Any, upper: bool, check: str | None) -> Any:
    info = np.zeros_like(x, shape=x.shape[:-2], dtype=np.int32)
    try:
        found = np.linalg.cholesky(x, upper=upper)
    except np.linalg.LinAlgError:
        found = None
    # OpenBLAS goes on past NaN, which is no positive pivot.
    if found is not None and holds_throughout(np.diagonal(found, 0, -2, -1), lambda p: p == p):
        (factor,) = as_input(x, by_columns(found))
        return factor, info
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
    """gA = L^-H S L^-1, where 2 S has the lower triangle of L^H gL, mirrored above it."""
    factor, g = (adjoint(out0), adjoint(g)) if upper else (out0, g)
    inner = np.matmul(adjoint(factor), g)
    inner = 0.5 * (np.tril(inner) + adjoint(np.tril(inner, -1)))
    x = triangular_op(adjoint(factor), inner, upper=True, left=True, unitriangular=False)
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
            Sample(T(0, 0, grad=False)),
            Sample(T(0, 2, 2, grad=False)),
        ],
    )


cholesky_ex_op = _cholesky_record("linalg_cholesky_ex", "linalg.cholesky_ex")
cholesky_op = _cholesky_record("cholesky", "cholesky")


@public(method=False, namespace=LINALG)
def cholesky_ex(input: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor, and for each matrix the order of the minor that fails (or 0)."""
    check_square("linalg.cholesky", input, "A", "linalg_cholesky_ex")
    check_float("linalg.cholesky", input)
    check_kernel("cholesky_cpu", input)
    check = "linalg.cholesky_ex" if check_errors else None
    found = apply(cholesky_ex_op, (input,), {"upper": upper, "check": check})
    return RETURN_TYPES["linalg_cholesky_ex"](found)


@public("cholesky", method=False, namespace=LINALG)
def linalg_cholesky(input: Any, *, upper: bool = False) -> Tensor:
    """The lower triangular L with `L @ L.mH = A` (or the upper U with `U.mH @ U = A`)."""
    check_square("linalg.cholesky", input, "A", "linalg_cholesky")
    check_float("linalg.cholesky", input)
    check_kernel("cholesky_cpu", input)
    parameters = {"upper": upper, "check": "linalg.cholesky"}
    result: Tensor = apply(cholesky_ex_op, (input,), parameters)[0]
    return result


@public()
def cholesky(input: Any, upper: bool = False) -> Tensor:
    """`linalg.cholesky` by its old name."""
    require_tensor("cholesky", input)
    shape = input._data.shape
    if not input._data.size and (
        len(shape) < 2 or shape[-1] != shape[-2] or not input.requires_grad
    ):
        found: Tensor = input.detach().clone()  # nothing is asked of nothing
        return found
    check_square("cholesky", input)
    check_kernel("cholesky_cpu", input)
    result: Tensor = apply(cholesky_op, (input,), {"upper": upper, "check": "cholesky"})[0]
    return result


# --- with a Cholesky factor ----------------------------------------------------------------------


def _cholesky_solve(b: Any, factor: Any, upper: bool) -> Any:
    low = adjoint(factor) if upper else factor
    y = solve_triangle(low, b, False)
    return by_columns(solve_triangle(adjoint(low), y, True))


def _along(factor: Any, x: Any, upper: bool) -> Any:
    """The gradient of the factor from that of A = L L^H (or U^H U), where that is -X."""
    factor = _triangular(factor, upper)
    return -np.triu(np.matmul(factor, x)) if upper else -np.tril(np.matmul(x, factor))


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


cholesky_solve_op: Op = Op(
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
        Sample(T(3, 2), T(3, 3, kind="spd")),
        Sample(T(2, 3, 2), T(3, 3, kind="spd"), upper=True),
        Sample(T(3, 1), T(2, 3, 3, kind="spd")),
        Sample(T(0, 1), T(0, 0)),
    ],
)


@public()
def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Tensor:
    """X with `A @ X = input`, given the Cholesky factor of A."""
    require_tensor("cholesky_solve", input)
    require_tensor("cholesky_solve", input2, "input2", 2)
    for label, x in (("b", input), ("u", input2)):
        if x._data.ndim < 2:
            raise RuntimeError(
                f"{label} should have at least 2 dimensions, but has {x._data.ndim} dimensions "
                "instead"
            )
    check_old_system("cholesky_solve", input, input2)
    result: Tensor = apply(cholesky_solve_op, (input, input2), {"upper": upper})
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
        Sample(T(3, 3, kind="spd")),
        Sample(T(2, 2, 2, kind="spd"), upper=True),
        Sample(T(0, 0)),
    ],
)


@public()
def cholesky_inverse(input: Any, upper: bool = False) -> Tensor:
    """The inverse of A, given its Cholesky factor."""
    require_tensor("cholesky_inverse", input, "input")
    check_square("cholesky_inverse", input)
    check_kernel("cholesky_inverse_out_cpu", input, even_empty=True)
    result: Tensor = apply(cholesky_inverse_op, (input,), {"upper": upper})
    return result


# An older kind of `out`: computed aside, whatever the layout of the result.
CONTIGUOUS_OUT["cholesky"] = CONTIGUOUS_OUT["cholesky_solve"] = lambda result, *args: True
