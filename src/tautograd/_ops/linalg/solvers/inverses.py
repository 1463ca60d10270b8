"""Inverses and systems of equations."""

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
from ..matrices import adjoint, by_columns, identity, turn
from ..matrix_algorithms import solve_anyway, zero_pivots
from ..matrix_checks import (
    LinAlgError,
    check_float,
    check_kernel,
    check_same,
    check_square,
    check_system,
    first_failure,
    singular,
)


def _info(x: Any) -> Any:
    """No failure, for each matrix of a batch."""
    return np.zeros_like(x, shape=x.shape[:-2], dtype=np.int32)


# --- the inverse ---------------------------------------------------------------------------------


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


inv_op: Op = Op(
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
    check_square("linalg.inv", A, "A", "linalg_inv_ex")
    check_float("linalg.inv", A, low_precision=False)
    found = apply(inv_op, (A,), {"check": "linalg.inv_ex" if check_errors else None})
    return RETURN_TYPES["linalg_inv_ex"](found)


@public(method=False, namespace=LINALG)
def inv(A: Any) -> Tensor:
    """The inverse of square matrices."""
    check_square("linalg.inv", A, "A", "linalg_inv")
    check_float("linalg.inv", A, low_precision=False)
    result: Tensor = apply(inv_op, (A,), {"check": "linalg.inv"})[0]
    return result


@public()
def inverse(input: Any) -> Any:
    """The inverse of square matrices."""
    require_tensor("inverse", input)
    return inv(input)


# --- systems of equations ------------------------------------------------------------------------


def _solve(a: Any, b: Any, left: bool, vector: bool, check: str | None) -> Any:
    if vector:
        b = np.expand_dims(b, -1)
    elif not left:
        a, b = turn(a), turn(b)
    info = _info(a)
    try:
        x = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        info = zero_pivots(a)
        if check:
            batch, _ = first_failure(info)
            raise LinAlgError(
                f"{check}: {batch}The solver failed because the input matrix is singular."
            ) from None
        x = solve_anyway(a, b)
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


solve_op: Op = Op(
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
        Sample(T(2, 3, 3, kind="well_conditioned", layout="transposed"), T(2, 2, 3), left=False),
        Sample(T(0, 0), T(0, 2)),
        Sample(T(0, 2, 2), T(0, 2, 1)),
    ],
)


def _call_solve(function: str, A: Any, B: Any, left: bool, check: str | None) -> Any:
    name = "linalg.solve"
    require_tensor(function, A, "A")
    require_tensor(function, B, "B", 2)
    check_float(name, A)
    check_same(name, A, B)
    a, b = tuple(A._data.shape), tuple(B._data.shape)
    vector = len(b) == 1 or (len(a) - 1 == len(b) and a[:-1] == b)
    check_square(name, A)
    if not b:
        raise RuntimeError(f"{name}: The input tensor B must have at least 1 dimensions.")
    columns = (b[-1], 1) if vector else (b[-2], b[-1])
    check_system(name, A, B, left, columns)
    check_broadcast(a[:-2], b[:-1] if vector and len(b) > 1 else b[:-2])
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    check_kernel("lu_cpu", A)
    return apply(solve_op, (A, B), {"left": left, "vector": vector, "check": check})


@public(method=False, namespace=LINALG)
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """`solve`, and for each matrix the place of the first zero pivot (or 0)."""
    check = "torch.linalg.solve_ex" if check_errors else None
    return RETURN_TYPES["linalg_solve_ex"](_call_solve("linalg_solve_ex", A, B, left, check))


@public(method=False, namespace=LINALG)
def solve(A: Any, B: Any, *, left: bool = True) -> Tensor:
    """X with `A @ X = B` (or `X @ A = B`), for matrices, vectors and batches of them."""
    result: Tensor = _call_solve("linalg_solve", A, B, left, "torch.linalg.solve")[0]
    return result
