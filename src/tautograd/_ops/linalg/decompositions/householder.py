"""Products of Householder reflections: what LAPACK leaves of a QR factorisation, put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.dtypes import LEGACY_NAMES
from ...._arrays.result_layout import by_place, in_c_order
from ...._autograd.apply import apply
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import conj, require_tensor
from ...declare.public import FUNCTIONS, LINALG, public
from ...declare.record import Op
from ...declare.return_types import RETURN_TYPES
from ...declare.samples import Sample, T
from ..matrices import adjoint, by_columns, identity, raw, turn
from ..matrix_checks import check_kernel
from ..products.product_checks import SPELLED, spoken


def _vector(x: Any, i: int) -> Any:
    """The i-th reflector as a column: zeros, a one at place i, and what the matrix holds below."""
    column = x[..., i : i + 1]
    place = np.expand_dims(np.arange(x.shape[-2], like=raw(x)), -1)
    return np.where(place > i, column, np.astype(place == i, x.dtype))


def _reflect(v: Any, tau: Any, x: Any) -> Any:
    """(I - tau v v^H) X."""
    return x - tau * np.matmul(v, np.matmul(adjoint(v), x))


def _tau(tau: Any, i: int) -> Any:
    return tau[..., i : i + 1, None]


def _start(x: Any) -> Any:
    """The first columns of an identity, one for each matrix of a batch."""
    return np.zeros_like(raw(x)) + identity(x, x.shape[-2])[..., : x.shape[-1]]


def _suffixes(x: Any, tau: Any) -> list[Any]:
    """What the reflections from the i-th on make of the identity, for each i."""
    found = [_start(x)]
    for i in reversed(range(tau.shape[-1])):
        found.append(_reflect(_vector(x, i), _tau(tau, i), found[-1]))
    return found[::-1]


def _gradients(g: Any, x: Any, tau: Any, needs: Any) -> Any:
    """Q = H_1 … H_k I. With G = H_(i-1)^H … H_1^H g and K = H_(i+1) … H_k I, <G, dH_i K> gives
    g_tau = -(v^H G) (v^H K)^H and g_v = -tau^* G (v^H K)^H - tau K (v^H G)^H."""
    suffixes = _suffixes(x, tau)
    columns, factors = [], []
    rows = np.expand_dims(np.arange(x.shape[-2], like=raw(x)), -1)
    for i in range(tau.shape[-1]):
        v, factor, k = _vector(x, i), _tau(tau, i), suffixes[i + 1]
        v_g, v_k = np.matmul(adjoint(v), g), np.matmul(adjoint(v), k)
        factors.append(-np.matmul(v_g, adjoint(v_k))[..., 0])
        along = conj(factor) * np.matmul(g, adjoint(v_k)) + factor * np.matmul(k, adjoint(v_g))
        columns.append(np.where(rows > i, -along, 0))
        g = _reflect(v, conj(factor), g)
    if x.shape[-1] > len(columns):
        columns.append(np.zeros_like(x[..., len(columns) :]))
    g_tau = np.concatenate(factors, axis=-1) if factors else np.zeros_like(tau)
    return (np.concatenate(columns, axis=-1) if columns else np.zeros_like(x)), g_tau


def _tangent(x: Any, tau: Any, along_x: Any, along_tau: Any) -> Any:
    q = _start(x)
    change = np.zeros_like(q)
    below = np.expand_dims(np.arange(x.shape[-2], like=raw(x)), -1)
    for i in reversed(range(tau.shape[-1])):
        v, factor = _vector(x, i), _tau(tau, i)
        change = _reflect(v, factor, change)
        v_q = np.matmul(adjoint(v), q)
        if along_tau is not None:
            change = change - _tau(along_tau, i) * np.matmul(v, v_q)
        if along_x is not None:
            dv = np.where(below > i, along_x[..., i : i + 1], 0)
            change = change - factor * np.matmul(dv, v_q)
            change = change - factor * np.matmul(v, np.matmul(adjoint(dv), q))
        q = _reflect(v, factor, q)
    return change


householder_op: Op = Op(
    "linalg_householder_product",
    lambda x, tau: by_columns(_suffixes(x, tau)[0]),
    ("x", "tau"),
    vjp=_gradients,
    jvp={
        "x": lambda t, x, tau: _tangent(x, tau, t, None),
        "tau": lambda t, x, tau: _tangent(x, tau, None, t),
    },
    public="linalg.householder_product",
    samples=lambda: [
        Sample(T(3, 3), T(3)),
        Sample(T(2, 4, 2), T(2, 2)),
        Sample(T(4, 3, layout="transposed"), T(2)),
        Sample(T(0, 2, 2, grad=False), T(0, 2, grad=False)),
    ],
)


def _require_one_less(name: str, tau: tuple[int, ...], reflections: tuple[int, ...]) -> None:
    if len(reflections) - len(tau) != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {len(tau)} and input.ndim is equal to {len(reflections)}"
        )


def _require_batch(
    name: str, argument: str, batch: tuple[int, ...], reflections: tuple[int, ...]
) -> None:
    if batch != reflections[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of {argument} to be equal to input.shape[:-2], but "
            f"got {list(batch)}"
        )


@public(method=False, namespace=LINALG)
def householder_product(input: Any, tau: Any) -> Tensor:
    """The first columns of the product of the reflections that the columns of `input` hold."""
    require_tensor("linalg_householder_product", input)
    require_tensor("linalg_householder_product", tau, "tau", 2)
    name = "torch.linalg.householder_product"
    a, b = input._data.shape, tau._data.shape
    if len(a) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if a[-2] < a[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if not b or a[-1] < b[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    _require_one_less(name, b, a)
    _require_batch(name, "tau", b[:-1], a)
    if input._data.dtype != tau._data.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {SPELLED[spoken(tau)]} does not match input dtype "
            f"{SPELLED[spoken(input)]}"
        )
    check_kernel("orgqr_cpu", input, even_empty=True)
    result: Tensor = apply(householder_op, (input, tau))
    return result


@public()
def orgqr(input: Any, input2: Any) -> Any:
    """`linalg.householder_product` by its old name."""
    return householder_product(input, input2)


@public()
def ormqr(input: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False) -> Any:
    """`Q @ other`, or `other @ Q`, where Q is the whole product of the reflections; `transpose`: its adjoint."""
    tau, other = input2, input3
    for position, (label, x) in enumerate(
        (("input", input), ("input2", tau), ("input3", other)), 1
    ):
        require_tensor("ormqr", x, label, position)
    _check_ormqr(input, tau, other, left)
    a = input._data.shape
    rows = a[-2]
    if rows > a[-1]:  # the product of all: columns of zeros stand for reflections that are none
        empty = input.new_zeros((*a[:-1], rows - a[-1]))
        input = FUNCTIONS["cat"]([input, empty], -1)
    elif rows < a[-1]:
        input = input.narrow(-1, 0, rows)
    whole = householder_product(input, tau)
    if transpose:
        whole = whole.mH
    return whole @ other if left else other @ whole


def _check_ormqr(input: Any, tau: Any, other: Any, left: bool) -> None:
    a, t, c = input._data.shape, tau._data.shape, other._data.shape
    name, side = "torch.ormqr", -2 if left else -1
    for label, shape in (("input", a), ("other", c)):
        if len(shape) < 2:
            raise RuntimeError(f"{name}: {label} must have at least 2 dimensions.")
    if c[side] < t[-1]:
        raise RuntimeError(
            f"{name}: other.shape[{side}] must be greater than or equal to tau.shape[-1]"
        )
    if c[side] != a[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    if t[-1] > a[-1]:
        raise RuntimeError(f"{name}: tau.shape[-1] must be less than or equal to input.shape[-1]")
    _require_one_less(name, t, a)
    if len(a) != len(c):
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {len(c)} and input.ndim is equal to {len(a)}"
        )
    _require_batch(name, "tau", t[:-1], a)
    _require_batch(name, "other", c[:-2], a)
    if tau.dtype != input.dtype or other.dtype != input.dtype:
        which = "tau" if tau.dtype != input.dtype else "other"
        found = (tau if which == "tau" else other).dtype
        raise RuntimeError(
            f"{name}: Expected input and {which} to have the same dtype, but input has dtype "
            f"{LEGACY_NAMES[input.dtype]} and {which} has dtype {LEGACY_NAMES[found]}"
        )


# --- the factorisation itself --------------------------------------------------------------------


def _geqrf(x: Any) -> Any:
    packed, tau = np.linalg.qr(x, "raw")
    return by_columns(turn(packed)), tau


def _refuse(g: Any) -> Any:
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


geqrf_op = Op(
    "geqrf",
    _geqrf,
    ("x",),
    layout=by_place(None, in_c_order),
    vjp={"x": _refuse},
    outputs=2,
    samples=lambda: [
        Sample(T(3, 3)),
        Sample(T(2, 4, 2)),
        Sample(T(2, 3, layout="transposed")),
    ],
)


@public()
def geqrf(input: Any) -> Any:
    """R, and below it the reflections that Q is the product of, as LAPACK leaves them."""
    require_tensor("geqrf", input)
    if input._data.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_kernel("geqrf_cpu", input, even_empty=True)
    if input._data.dtype.kind == "c" and modes.grad and input.requires_grad:
        raise RuntimeError(
            "geqrf does not support automatic differentiation for outputs with complex dtype."
        )
    return RETURN_TYPES["geqrf"](apply(geqrf_op, (input,)))
