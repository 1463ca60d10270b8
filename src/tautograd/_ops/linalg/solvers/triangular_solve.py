"""Triangular systems of equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import check_broadcast, conj, require_tensor
from ...declare.public import LINALG, public
from ...declare.record import Op
from ...declare.return_types import RETURN_TYPES
from ...declare.samples import Sample, T
from ..matrices import adjoint, by_columns, turn
from ..matrix_algorithms import solve_triangle
from ..matrix_checks import check_kernel, check_matrix, check_same, check_square, check_system
from ..products.product_checks import spoken


def _solve(a: Any, b: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    if left:
        return by_columns(solve_triangle(a, b, upper, unitriangular))
    return by_columns(turn(solve_triangle(turn(a), turn(b), not upper, unitriangular)))


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


triangular_op: Op = Op(
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
        Sample(T(3, 3, kind="lower"), T(2, 3), upper=False, left=False),
        Sample(T(2, 1, 3, 3, kind="lower"), T(2, 3, 1), upper=False, unitriangular=True),
        Sample(T(2, 2, kind="well_conditioned", layout="transposed"), T(2, 2), upper=False),
        Sample(T(0, 2, 2), T(0, 2, 3), upper=True),
        Sample(T(0, 0), T(0, 2), upper=True),
    ],
)


@public(method=False, namespace=LINALG)
def solve_triangular(
    input: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with `A @ X = B` (or `X @ A = B`) for triangular A; the other triangle is not read."""
    check_square("linalg.solve_triangular", input, "A", "linalg_solve_triangular")
    require_tensor("linalg_solve_triangular", B, "B", 2)
    check_matrix("linalg.solve_triangular", B, "B")
    check_system("linalg.solve_triangular", input, B, left, B._data.shape[-2:])
    check_same("linalg.solve_triangular", input, B)
    check_broadcast(input._data.shape[:-2], B._data.shape[:-2])
    check_kernel("triangular_solve_cpu", input, even_empty=True)
    parameters = {"upper": bool(upper), "left": left, "unitriangular": unitriangular}
    result: Tensor = apply(triangular_op, (input, B), parameters)
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


def _batched(a: Any, b: Any) -> tuple[int, ...]:
    """The shape of A, one for each matrix of B."""
    return (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *a.shape[-2:])


triangular_solve_op: Op = Op(
    "triangular_solve",
    lambda b, a, upper, transpose, unitriangular: (
        _old_solve(a, b, upper, transpose, unitriangular),
        by_columns(np.broadcast_to(a, _batched(a, b))),
    ),
    ("b", "a"),
    vjp=_old_gradients,
    jvp={
        "b": lambda t, a, upper, transpose, unitriangular: (
            _old_solve(a, t, upper, transpose, unitriangular),
            np.broadcast_to(a * 0, _batched(a, t)),
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
            np.broadcast_to(t, out[1].shape),
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
                f"torch.triangular_solve: Expected {label} to have at least 2 dimensions, but it "
                f"has {x._data.ndim} dimensions instead"
            )
    check_old_system("triangular_solve", input, A)
    parameters = {"upper": upper, "transpose": transpose, "unitriangular": unitriangular}
    return RETURN_TYPES["triangular_solve"](apply(triangular_solve_op, (input, A), parameters))


def check_old_system(name: str, b: Any, a: Any) -> None:
    """The checks of the old solvers, in their words."""
    m, n = a._data.shape[-2:]
    rows, columns = b._data.shape[-2:]
    if m != n:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {m} by {n} matrices"
        )
    if rows != n:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix "
            f"is {rows} by {columns}"
        )
    if a._data.dtype != b._data.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {spoken(b)} and A of "
            f"type {spoken(a)} instead."
        )
    check_broadcast(a._data.shape[:-2], b._data.shape[:-2])
    check_kernel(f"{name}_cpu", a, even_empty=True)
