"""LU factors with row exchanges, and what is solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import Wrong, require_all, require_range
from ...._arrays.result_layout import by_place, each, in_c_order
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import require_tensor
from ...declare.public import LINALG, public
from ...declare.record import Op
from ...declare.return_types import RETURN_TYPES, named_result
from ...declare.samples import Sample, T
from ..matrices import adjoint, as_input, by_columns, identity, raw, turn
from ..matrix_algorithms import lu_arrays, order_from_pivots, permutation
from ..matrix_checks import check_kernel
from ..solvers.triangular_solve import triangular_op

# --- derivatives, on L and U ---------------------------------------------------------------------


def lower_part(packed: Any) -> Any:
    """L out of the array that holds both: ones on its diagonal."""
    m, n = packed.shape[-2:]
    below = np.tril(packed, -1)[..., : min(m, n)]
    return below + identity(packed, m)[..., : min(m, n)]


def upper_part(packed: Any) -> Any:
    m, n = packed.shape[-2:]
    return np.triu(packed)[..., : min(m, n), :]


def _tri(a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    return triangular_op(a, b, upper=upper, left=left, unitriangular=unit)


def _gradient(p: Any, low: Any, up: Any, g_low: Any, g_up: Any) -> Any:
    """gA = P L^-H (tril(L^H gL) + triu(gU U^H)) U^-H for square A; the other columns of a wide A
    are L U2, the other rows of a tall one L2 U, and pass their gradients on to L and U first."""
    m, n = low.shape[-2], up.shape[-1]
    k = min(m, n)
    right = below = None
    if n > k:
        right = _tri(adjoint(low), g_up[..., k:], True, True, True)
        g_low = g_low - np.matmul(right, adjoint(up[..., k:]))
        up, g_up = up[..., :k], g_up[..., :k]
    elif m > k:
        below = _tri(adjoint(up), g_low[..., k:, :], False, False, False)
        g_up = g_up - np.matmul(adjoint(low[..., k:, :]), below)
        low, g_low = low[..., :k, :], g_low[..., :k, :]
    inner = np.tril(np.matmul(adjoint(low), g_low), -1) + np.triu(np.matmul(g_up, adjoint(up)))
    inner = _tri(adjoint(low), inner, True, True, True)
    inner = _tri(adjoint(up), inner, False, False, False)
    if right is not None:
        inner = np.concatenate((inner, right), axis=-1)
    if below is not None:
        inner = np.concatenate((inner, below), axis=-2)
    return np.matmul(p, inner)


def _tangents(t: Any, p: Any, low: Any, up: Any) -> tuple[Any, Any]:
    """With M = L^-1 P^T dA U^-1: dL = L tril(M), dU = triu(M) U, and for the other parts
    dU2 = L^-1 (P^T dA2 - dL U2), dL2 = (P^T dA2 - L2 dU) U^-1."""
    m, n = low.shape[-2], up.shape[-1]
    k = min(m, n)
    t = np.matmul(turn(p), t)
    square_low, square_up = low[..., :k, :], up[..., :k]
    inner = _tri(square_low, t[..., :k, :k], False, True, True)
    inner = _tri(square_up, inner, True, False, False)
    d_low, d_up = np.matmul(square_low, np.tril(inner, -1)), np.matmul(np.triu(inner), square_up)
    if n > k:
        rest = t[..., k:] - np.matmul(d_low, up[..., k:])
        d_up = np.concatenate((d_up, _tri(square_low, rest, False, True, True)), axis=-1)
    elif m > k:
        rest = t[..., k:, :] - np.matmul(low[..., k:, :], d_up)
        d_low = np.concatenate((d_low, _tri(square_up, rest, True, False, False)), axis=-2)
    return d_low, d_up


def _packed(d_low: Any, d_up: Any) -> Any:
    """The derivatives of L and U in one array."""
    m, n = d_low.shape[-2], d_up.shape[-1]
    if n > m:
        return np.concatenate((np.tril(d_low, -1) + d_up[..., :m], d_up[..., m:]), axis=-1)
    if m > n:
        top = np.tril(d_low[..., :n, :], -1) + d_up
        return np.concatenate((top, d_low[..., n:, :]), axis=-2)
    return np.tril(d_low, -1) + d_up


def permutation_of(pivots: Any, packed: Any) -> Any:
    pivots = np.reshape(raw(pivots), np.shape(pivots) or (1,))
    pivots = pivots[..., : min(packed.shape[-2:])]  # what is beyond has exchanged no rows
    try:
        pivots = np.broadcast_to(pivots, (*packed.shape[:-2], pivots.shape[-1]))
    except ValueError:  # PyTorch reads and writes foreign memory here
        raise RuntimeError(
            f"The size of LU_pivots, {list(np.shape(pivots))}, must match that of LU_data's batch, "
            f"{list(packed.shape[:-2])}"
        ) from None
    return permutation(order_from_pivots(pivots, packed.shape[-2]), packed.dtype)


# --- P, L and U ----------------------------------------------------------------------------------


def _lu(x: Any, pivot: bool) -> Any:
    packed, order, _ = lu_arrays(x)
    return as_input(x, permutation(order, x.dtype), lower_part(packed), upper_part(packed))


_SHAPES: Any = lambda: [  # noqa: E731
    Sample(T(3, 3)),
    Sample(T(2, 4, 2, layout="transposed")),
    Sample(T(2, 4, seed=1)),
    Sample(T(2, 2)),
    Sample(T(0, 0, grad=False)),
    Sample(T(0, 2, 2, grad=False)),
]
lu_op: Op = Op(
    "linalg_lu",
    _lu,
    ("x",),
    layout=by_place(None, None, in_c_order),
    vjp={"x": lambda g, out: _gradient(raw(out[0]), out[1], out[2], g[1], g[2])},
    jvp={"x": lambda t, out: (None, *_tangents(t, raw(out[0]), out[1], out[2]))},
    outputs=3,
    differentiable_outputs=(1, 2),
    public="linalg.lu",
    samples=_SHAPES,
)


def _check(name: str, A: Any, pivot: bool) -> None:
    require_tensor(name.removeprefix("torch.").replace(".", "_"), A, "A")
    if A._data.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(A._data.shape)} instead"
        )
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    check_kernel("lu_cpu", A)


@public(method=False, namespace=LINALG)
def lu(A: Any, *, pivot: bool = True) -> Any:
    """A permutation P, L lower triangular with ones, U upper triangular, with `A = P @ L @ U`."""
    _check("linalg.lu", A, pivot)
    P, L, U = apply(lu_op, (A,), {"pivot": pivot})
    return RETURN_TYPES["linalg_lu"]((P.to(A.dtype), L, U))


# --- L and U in one array ------------------------------------------------------------------------


def _lu_factor(x: Any, pivot: bool) -> Any:
    packed, _, pivots = lu_arrays(x)
    zero = np.diagonal(packed, axis1=-2, axis2=-1) == 0
    if zero.shape[-1]:
        info = np.where(np.any(zero, axis=-1), np.argmax(zero, axis=-1) + 1, 0)
        info = np.astype(info, np.int32)
    else:
        info = np.zeros_like(packed, shape=packed.shape[:-2], dtype=np.int32)
    (packed,) = as_input(x, by_columns(packed))
    return packed, pivots, info


lu_factor_op: Op = Op(
    "linalg_lu_factor_ex",
    _lu_factor,
    ("x",),
    vjp={
        "x": lambda g, out: _gradient(
            permutation_of(out[1], out[0]), lower_part(out[0]), upper_part(out[0]), *_apart(g)
        )
    },
    jvp={
        "x": lambda t, out: (
            _packed(
                *_tangents(
                    t, permutation_of(out[1], out[0]), lower_part(out[0]), upper_part(out[0])
                )
            ),
            None,
            None,
        )
    },
    outputs=3,
    differentiable_outputs=(0,),
    public="linalg.lu_factor_ex",
    samples=_SHAPES,
)


def _apart(g: Any) -> tuple[Any, Any]:
    """The gradients of L and U from that of the array that holds both."""
    k = min(g.shape[-2:])
    return np.tril(g, -1)[..., :k], np.triu(g)[..., :k, :]


@public(method=False, namespace=LINALG)
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """L and U in one array, LAPACK's pivots, and the place of the first zero pivot (or 0)."""
    _check("torch.lu_factor_ex", A, pivot)
    found = apply(lu_factor_op, (A,), {"pivot": pivot})
    if check_errors:
        _check_pivots("torch.linalg.lu_factor_ex", found[2])
    return RETURN_TYPES["linalg_lu_factor_ex"](found)


@public(method=False, namespace=LINALG)
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """L and U in one array, and LAPACK's pivots."""
    _check("torch.lu_factor", A, pivot)
    packed, pivots, info = apply(lu_factor_op, (A,), {"pivot": pivot})
    _check_pivots("torch.linalg.lu_factor", info)
    return RETURN_TYPES["linalg_lu_factor"]((packed, pivots))


def _check_pivots(name: str, info: Tensor) -> None:
    shape = info._data.shape

    def refusal(found: Wrong) -> RuntimeError:
        batch = f"(Batch element {found.place}): " if shape else ""
        return RuntimeError(
            f"{name}: {batch}U[{found},{found}] is zero and using it on lu_solve would result in a "
            "division by zero. If you still want to perform the factorization, consider calling "
            "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )

    require_all(info._data, lambda x: x == 0, refusal)


_WITH_INFO = named_result("_lu_with_info", "LU pivots info")


@public("lu", out=False)
def old_lu(A: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    """`linalg.lu_factor_ex` by its old name."""
    _check("torch.lu_factor", A, pivot)
    found = apply(lu_factor_op, (A,), {"pivot": pivot})
    return _WITH_INFO(found) if get_infos else (found[0], found[1])


# --- out of one array ----------------------------------------------------------------------------


def _unpack(packed: Any, pivots: Any, unpack_data: bool, unpack_pivots: bool) -> Any:
    empty = np.zeros_like(packed, shape=(0,))
    p = permutation_of(pivots, packed) if unpack_pivots else empty
    return (p, lower_part(packed), upper_part(packed)) if unpack_data else (p, empty, empty)


def _unpack_gradient(g: Any, packed: Any, unpack_data: bool) -> Any:
    if not unpack_data:
        return np.zeros_like(packed)
    return _packed(g[1], np.triu(g[2]))


def _unpack_tangent(t: Any, unpack_data: bool) -> Any:
    if not unpack_data:
        empty = np.zeros_like(t, shape=(0,))
        return None, empty, empty
    return (None, *_apart(t))


lu_unpack_op: Op = Op(
    "lu_unpack",
    _unpack,
    ("packed", "pivots"),
    layout=each(in_c_order),
    vjp={"packed": _unpack_gradient},
    jvp={"packed": _unpack_tangent},
    outputs=3,
    differentiable_outputs=(1, 2),
    opmath=False,
    samples=lambda: [
        Sample(T(3, 3), T(3, dtype="int32", low=3, high=4)),
        Sample(T(2, 4, 2), T(2, 2, dtype="int32", low=2, high=5)),
        Sample(T(2, 3), T(2, dtype="int32", low=2, high=3), unpack_pivots=False),
        Sample(T(2, 3, grad=False), T(2, dtype="int32", low=2, high=3), unpack_data=False),
    ],
)


@public(method=False)
def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """P, L and U from what `linalg.lu_factor` gives."""
    require_tensor("lu_unpack", LU_data, "LU_data")
    require_tensor("lu_unpack", LU_pivots, "LU_pivots", 2)
    if LU_data._data.ndim < 2:
        raise RuntimeError(
            "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(LU_data._data.shape)} instead"
        )
    if unpack_pivots and LU_pivots._data.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    if unpack_pivots:
        require_range(
            LU_pivots._data, 1, LU_data._data.shape[-2] + 1,
            lambda _: RuntimeError(
                "LU_pivots passed to lu_unpack must be between 1 and LU.size(-2)."
            ),
        )  # fmt: skip
    parameters = {"unpack_data": unpack_data, "unpack_pivots": unpack_pivots}
    return RETURN_TYPES["lu_unpack"](apply(lu_unpack_op, (LU_data, LU_pivots), parameters))
