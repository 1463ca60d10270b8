"""Systems of equations solved with LU factors that are there already."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import require_range
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import check_broadcast, require_tensor
from ...declare.public import LINALG, public
from ...declare.record import Op
from ...declare.samples import Sample, T
from ..decompositions.lu import lower_part, permutation_of, upper_part
from ..matrices import adjoint, by_columns, turn
from ..matrix_algorithms import solve_triangle
from ..matrix_checks import check_float, check_kernel, check_same, check_square, check_system


def _solve_left(packed: Any, p: Any, b: Any, adjoined: bool) -> Any:
    """X with P L U X = B, or with (P L U)^H X = B."""
    if not adjoined:
        y = solve_triangle(packed, np.matmul(turn(p), b), False, True)
        return solve_triangle(packed, y, True)
    y = solve_triangle(adjoint(packed), b, False)
    return np.matmul(p, solve_triangle(adjoint(packed), y, True, True))


def _solve(packed: Any, pivots: Any, b: Any, left: bool, adjoint_: bool) -> Any:
    p = permutation_of(pivots, packed)
    if left:
        return by_columns(_solve_left(packed, p, b, adjoint_))
    return adjoint(by_columns(_solve_left(packed, p, adjoint(b), not adjoint_)))


def _matrix_gradient(gb: Any, x: Any, left: bool, adjoint_: bool) -> Any:
    """The gradient of A: -gB X^H for A X = B, and its kin."""
    if left:
        return -np.matmul(x, adjoint(gb)) if adjoint_ else -np.matmul(gb, adjoint(x))
    return -np.matmul(adjoint(gb), x) if adjoint_ else -np.matmul(adjoint(x), gb)


def _gradients(g: Any, packed: Any, pivots: Any, out: Any, left: bool, adjoint_: bool) -> Any:
    """A = P L U: gL = tril(P^T gA U^H), gU = triu(L^H P^T gA)."""
    gb = lu_solve_op(packed, pivots, g, left=left, adjoint_=not adjoint_)
    moved = np.matmul(
        turn(permutation_of(pivots, packed)), _matrix_gradient(gb, out, left, adjoint_)
    )
    g_low = np.tril(np.matmul(moved, adjoint(upper_part(packed))), -1)
    return g_low + np.triu(np.matmul(adjoint(lower_part(packed)), moved)), None, gb


def _tangent_of_factors(
    t: Any, packed: Any, pivots: Any, out: Any, left: bool, adjoint_: bool
) -> Any:
    """dX = -A^-1 dA X with dA = P (dL U + L dU)."""
    change = np.matmul(np.tril(t, -1), upper_part(packed))
    change = change + np.matmul(lower_part(packed), np.triu(t))
    change = np.matmul(permutation_of(pivots, packed), change)
    if adjoint_:
        change = adjoint(change)
    moved = np.matmul(change, out) if left else np.matmul(out, change)
    return -lu_solve_op(packed, pivots, moved, left=left, adjoint_=adjoint_)


lu_solve_op: Op = Op(
    "linalg_lu_solve",
    _solve,
    ("packed", "pivots", "b"),
    vjp=_gradients,
    jvp={
        "packed": _tangent_of_factors,
        "b": lambda t, packed, pivots, left, adjoint_: lu_solve_op(
            packed, pivots, t, left=left, adjoint_=adjoint_
        ),
    },
    public="linalg.lu_solve",
    samples=lambda: [
        Sample(T(3, 3, kind="well_conditioned"), _pivots(3), T(3, 2)),
        Sample(T(2, 3, 3, kind="well_conditioned"), _pivots(2, 3), T(3, 1), adjoint=True),
        Sample(T(3, 3, kind="well_conditioned"), _pivots(3), T(2, 2, 3), left=False),
        Sample(
            T(2, 3, 3, kind="well_conditioned"), _pivots(2, 3), T(2, 2, 3), left=False, adjoint=True
        ),
        Sample(T(0, 0, grad=False), _pivots(0), T(0, 2, grad=False)),
    ],
)


def _pivots(*shape: int) -> T:
    """Rows exchanged with the last one."""
    return T(*shape, dtype="int32", low=3, high=4)


@public(method=False, namespace=LINALG)
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with `A @ X = B` (or `X @ A = B`), given what `linalg.lu_factor` makes of A."""
    name = "linalg.lu_solve"
    for position, (label, x) in enumerate((("LU", LU), ("pivots", pivots), ("B", B)), 1):
        require_tensor("linalg_lu_solve", x, label, position)
    check_float(f"torch.{name}", LU)
    check_same(name, LU, B, "LU B")
    if pivots._data.dtype != np.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_square(f"torch.{name}", LU)
    if B._data.ndim < 2:
        raise RuntimeError(f"torch.{name}: The input tensor B must have at least 2 dimensions.")
    check_system(name, LU, B, left, B._data.shape[-2:])
    if pivots._data.shape[-1:] != LU._data.shape[-1:]:
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix"
        )
    if pivots._data.shape[:-1] != LU._data.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots._data.shape)} instead"
        )
    check_broadcast(LU._data.shape[:-2], B._data.shape[:-2])
    require_range(
        pivots._data, 1, LU._data.shape[-2] + 1,
        lambda _: RuntimeError(
            "Pivots given to lu_solve must all be greater or equal to 1 and smaller or equal to "
            "LU.size(-2). Did you properly pass the result of lu_factor?"
        ),
    )  # fmt: skip
    check_kernel("linalg.lu_solve_cpu", LU)
    parameters = {"left": left, "adjoint_": adjoint}
    result: Tensor = apply(lu_solve_op, (LU, pivots, B), parameters)
    return result


@public("lu_solve")
def old_lu_solve(input: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """`linalg.lu_solve` by its old name."""
    require_tensor("lu_solve", input)
    require_tensor("lu_solve", LU_data, "LU_data", 2)
    require_tensor("lu_solve", LU_pivots, "LU_pivots", 3)
    return lu_solve(LU_data, LU_pivots, input)
