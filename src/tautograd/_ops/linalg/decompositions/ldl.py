"""Symmetric and Hermitian matrices as L D L^T (or L D L^H), by LAPACK's pivoting, and systems solved with that.

D has blocks of one or two rows. L and D lie in one array as LAPACK leaves them, and only the lower triangle of
a matrix is read. As in PyTorch, there is no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.trusted import check_ldl_pivots
from ...._autograd.apply import apply
from ...declare.elementwise_calls import require_tensor
from ...declare.public import LINALG, public
from ...declare.record import Op
from ...declare.return_types import RETURN_TYPES
from ...declare.samples import Sample, T
from ..matrices import by_columns
from ..matrix_checks import LinAlgError, check_float, check_kernel, check_square
from ..products.product_checks import spoken


def _factor(x: Any, hermitian: bool) -> Any:
    packed = np.tril(x)
    pivots = np.zeros(x.shape[:-1], np.int32)
    info = np.zeros(x.shape[:-2], np.int32)
    for place in np.ndindex(x.shape[:-2]):
        if x.shape[-1]:
            found = _lapack(x, hermitian, "trf")(packed[place], lower=1)
            packed[place], pivots[place], info[place] = found
    return by_columns(np.tril(packed)), pivots, info


def _lapack(x: Any, hermitian: bool, step: str) -> Any:
    """LAPACK's routine for such matrices: `ssytrf`, `zhetrs`, …"""
    from scipy.linalg import lapack

    letter = {"f": "s", "d": "d", "F": "c", "D": "z"}[x.dtype.char]
    return getattr(lapack, f"{letter}{'he' if hermitian and x.dtype.kind == 'c' else 'sy'}{step}")


def _solve(packed: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    batch = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    packed = np.broadcast_to(packed, (*batch, *packed.shape[-2:]))
    pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1])).astype(np.int32)
    out = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    run = _lapack(packed, hermitian, "trs")
    check_ldl_pivots(pivots)
    for place in np.ndindex(batch):
        if out[place].size:
            out[place] = run(packed[place], pivots[place], out[place], lower=1)[0]
    return by_columns(out)


def _refuse(name: str) -> Any:
    def rule(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


ldl_factor_op = Op(
    "linalg_ldl_factor_ex",
    _factor,
    ("x",),
    vjp={"x": _refuse("linalg_ldl_factor_ex")},
    outputs=3,
    differentiable_outputs=(0,),
    public="linalg.ldl_factor_ex",
    samples=lambda: [
        Sample(T(3, 3), hermitian=False),
        Sample(T(2, 4, 4), hermitian=False),
        Sample(T(0, 0), hermitian=False),
    ],
)


def _checked(name: str, A: Any, hermitian: bool) -> Any:
    require_tensor("linalg_ldl_factor", A, "self")
    check_square("torch.linalg.ldl_factor_ex", A)
    check_float("torch.linalg.ldl_factor_ex", A)
    check_kernel("ldl_factor_kernel_cpu", A)
    return apply(ldl_factor_op, (A,), {"hermitian": hermitian})


@public(method=False, namespace=LINALG)
def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """L and D in one array, LAPACK's pivots, and the place of the first zero block of D (or 0)."""
    found = _checked("ldl_factor_ex", A, hermitian)
    if check_errors:
        _check_blocks("torch.linalg.ldl_factor_ex", found[2])
    return RETURN_TYPES["linalg_ldl_factor_ex"](found)


@public(method=False, namespace=LINALG)
def ldl_factor(A: Any, *, hermitian: bool = False) -> Any:
    """L and D in one array, and LAPACK's pivots."""
    packed, pivots, info = _checked("ldl_factor", A, hermitian)
    _check_blocks("torch.linalg.ldl_factor", info)
    return RETURN_TYPES["linalg_ldl_factor"]((packed, pivots))


def _check_blocks(name: str, info: Any) -> None:
    """PyTorch meets this as an error of its own inside, with the same number."""
    first = info._data.reshape(-1)[np.flatnonzero(info._data)[:1]]
    if first.size:
        raise LinAlgError(
            f"{name}: the block of D at {first[0]} is zero: Unknown error code: {first[0]}."
        )


@public(method=False, namespace=LINALG)
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Any:
    """X with `A @ X = B`, from what `ldl_factor` made of A."""
    name = "torch.linalg.ldl_solve"
    for label, value in (("LD", LD), ("pivots", pivots), ("B", B)):
        require_tensor("linalg_ldl_solve", value, label)
    check_square(name, LD, "LD")
    if B._data.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected B to have at least 2 dimensions, but it has {B._data.ndim} dimensions instead"
        )
    if B._data.shape[-2] != LD._data.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of LD and B for the equation AX = B "
            f"({_by(LD)} and {_by(B)})"
        )
    if LD._data.shape[:-1] != pivots._data.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots._data.shape)} instead"
        )
    if pivots._data.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {spoken(pivots)}")
    if LD._data.dtype != B._data.dtype:
        raise RuntimeError(f"LD dtype {spoken(LD)} does not match b dtype {spoken(B)}")
    check_float(name, LD)
    return apply(ldl_solve_op, (LD, pivots, B), {"hermitian": hermitian})


def _by(x: Any) -> str:
    return "x".join(map(str, x._data.shape[-2:]))


ldl_solve_op = Op(
    "linalg_ldl_solve",
    _solve,
    ("packed", "pivots", "b"),
    vjp={"packed": _refuse("linalg_ldl_solve"), "b": _refuse("linalg_ldl_solve")},
    public="linalg.ldl_solve",
    samples=lambda: [
        Sample(T(3, 3), T(3, low=3, high=4, dtype="int32"), T(3, 2), hermitian=False),
    ],
)
