"""Orthogonal polynomials of `torch.special`: of degree n at x, without gradients (as in PyTorch)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.result_layout import as_iterated
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import check_broadcast, refuse, require_operand, require_tensor
from ..declare.promotion import compute_dtype, number_as
from ..declare.public import SPECIAL, public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel
from .special_functions import scipy_function

# A recurrence takes as many steps as the degree says, which may be 2**62. Up to these degrees it is
# run; beyond, a closed form says the same.
_CHEBYSHEV_STEPS = 64
_STEPS = 100_000
_HERMITE = {"d": 512}  # above which PyTorch gives NaN; 128 for single precision
_FURTHEST = 2.0**63


def _degree(n: Any) -> Any:
    """The degree as an integer; a number that is none (NaN, infinite, beyond int64) is below zero."""
    if n.dtype.kind != "f":
        return np.astype(n, np.int64)
    fits = np.abs(n) < _FURTHEST
    return np.astype(np.where(fits, n, -1), np.int64)


def _ends(value: Any, x: Any, degree: Any, rising: int = 1) -> Any:
    """What holds for all of them, whatever the recurrence says.

    0 below degree 0, and 1 at degree 0, even of NaN. A recurrence that overflows goes on to subtract
    infinity from infinity, so from degree 3 on the end is NaN. `rising` is the sign of P_1 at infinity.
    """
    value = np.astype(value, x.dtype)
    low = np.where(degree == 1, rising * x, np.inf)
    value = np.where(np.isinf(x), low, value)
    value = np.where((degree > 2) & np.isinf(value), np.nan, value)
    return np.astype(np.where(degree < 0, 0, np.where(degree == 0, 1, value)), x.dtype)


def _chebyshev(kind: str, shifted: bool = False) -> Any:
    """T, U, V and W: by recurrence at low degrees, else by the angle whose cosine is x.

    V = U_n - U_(n-1) and W = U_n + U_(n-1), where U_(-1) is 0.
    """
    function = scipy_function("eval_chebyt" if kind == "t" else "eval_chebyu")
    sign = {"v": -1, "w": 1}.get(kind, 0)

    def polynomial(x: Any, n: Any) -> Any:
        degree = _degree(n)
        at = x + x - 1 if shifted else x
        few = np.clip(degree, 0, _CHEBYSHEV_STEPS)
        value = function(few, at)
        if sign:
            value = value + sign * np.where(few < 1, 0, function(np.maximum(few - 1, 0), at))
        inside, outside = _by_angle(kind, at, degree)
        value = np.where((degree > 8) & (np.abs(at) < 1), inside, value)
        value = np.where((degree > _CHEBYSHEV_STEPS) & (np.abs(at) >= 1), outside, value)
        return _ends(value, x, degree)

    return polynomial


def _by_angle(kind: str, x: Any, degree: Any) -> tuple[Any, Any]:
    """The values for |x| < 1 (cos a = x) and for |x| >= 1 (cosh a = |x|)."""
    n = np.astype(degree, np.float64)
    half = n + 0.5
    angle = np.arccos(np.clip(np.astype(x, np.float64), -1, 1))
    size = np.abs(np.astype(x, np.float64))
    rate = np.arccosh(np.maximum(size, 1))
    odd = np.where(degree % 2 == 0, 1.0, -1.0)
    mirrored = np.where(x < 0, odd, 1.0)  # the sign of P(-x)
    third = np.cosh(half * rate) / np.cosh(rate / 2)
    fourth = np.where(rate == 0, n + half + 0.5, np.sinh(half * rate) / np.sinh(rate / 2))
    if kind == "t":
        inside, outside = np.cos(n * angle), np.cosh(n * rate)
    elif kind == "u":
        inside = np.sin((n + 1) * angle) / np.sin(angle)
        outside = np.where(rate == 0, n + 1, np.sinh((n + 1) * rate) / np.sinh(rate))
    elif kind == "v":
        inside = np.cos(half * angle) / np.cos(angle / 2)
        outside = np.where(x < 0, fourth, third)
    else:
        inside = np.sin(half * angle) / np.sin(angle / 2)
        outside = np.where(x < 0, third, fourth)
    return inside, mirrored * outside


def _hermite(name: str) -> Any:
    function = scipy_function(name)

    def polynomial(x: Any, n: Any) -> Any:
        degree = _degree(n)
        limit = _HERMITE.get(x.dtype.char, 128)
        value = function(np.clip(degree, 0, limit), x)
        return _ends(np.where(degree > limit, np.nan, value), x, degree)

    return polynomial


def _laguerre(x: Any, n: Any) -> Any:
    """L_n(x); far beyond n = 1 it is exp(x/2) J_0(2 sqrt((n + 1/2) x)), or I_0 below x = 0."""
    degree = _degree(n)
    value = _eval_laguerre(np.clip(degree, 0, _STEPS), x)
    root = 2 * np.sqrt((np.astype(degree, np.float64) + 0.5) * np.abs(np.astype(x, np.float64)))
    beyond = np.where(x < 0, _i0(root), _j0(root)) * np.exp(x / 2)
    value = np.where(degree > _STEPS, beyond, value)
    return _ends(np.where(x == 0, 1, value), x, degree, rising=-1)


def _legendre(x: Any, n: Any) -> Any:
    """P_n(x); far beyond n = 1 it is sqrt(a / sin a) J_0((n + 1/2) a) with cos a = x."""
    degree = _degree(n)
    value = _eval_legendre(np.clip(degree, 0, _STEPS), x)
    half = np.astype(degree, np.float64) + 0.5
    size = np.abs(np.astype(x, np.float64))
    angle, rate = np.arccos(np.minimum(size, 1)), np.arccosh(np.maximum(size, 1))
    inside = np.where(angle == 0, 1, np.sqrt(angle / np.sin(angle)) * _j0(half * angle))
    outside = np.where(rate == 0, 1, np.sqrt(rate / np.sinh(rate)) * _i0(half * rate))
    mirrored = np.where((x < 0) & (degree % 2 == 1), -1.0, 1.0)
    beyond = mirrored * np.where(size <= 1, inside, outside)
    return _ends(np.where(degree > _STEPS, beyond, value), x, degree)


_eval_laguerre, _eval_legendre = scipy_function("eval_laguerre"), scipy_function("eval_legendre")
_j0, _i0 = scipy_function("j0"), scipy_function("i0")


def _samples() -> list[Sample]:
    def degrees(*shape: int) -> T:
        return T(*shape, dtype="int64", low=0, high=6, grad=False)

    return [
        Sample(T(2, 3, low=-0.9, high=0.9, grad=False), degrees(2, 3)),
        Sample(T(2, 1, low=-0.9, high=0.9, grad=False), degrees(3)),
        Sample(T(low=-0.9, high=0.9, grad=False), degrees(4)),
        Sample(T(0, 2, grad=False), degrees(2)),
        Sample(T(2, 3, low=-0.9, high=0.9, grad=False), 3),
    ]


# name, forward, what it is
_POLYNOMIALS = (
    ("chebyshev_polynomial_t", _chebyshev("t"), "Chebyshev, first kind"),
    ("chebyshev_polynomial_u", _chebyshev("u"), "Chebyshev, second kind"),
    ("chebyshev_polynomial_v", _chebyshev("v"), "Chebyshev, third kind"),
    ("chebyshev_polynomial_w", _chebyshev("w"), "Chebyshev, fourth kind"),
    ("shifted_chebyshev_polynomial_t", _chebyshev("t", True), "T(2x - 1)"),
    ("shifted_chebyshev_polynomial_u", _chebyshev("u", True), "U(2x - 1)"),
    ("shifted_chebyshev_polynomial_v", _chebyshev("v", True), "V(2x - 1)"),
    ("shifted_chebyshev_polynomial_w", _chebyshev("w", True), "W(2x - 1)"),
    ("hermite_polynomial_h", _hermite("eval_hermite"), "Hermite, the physicists'"),
    ("hermite_polynomial_he", _hermite("eval_hermitenorm"), "Hermite, the probabilists'"),
    ("laguerre_polynomial_l", _laguerre, "Laguerre"),
    ("legendre_polynomial_p", _legendre, "Legendre"),
)


def _declare(name: str, forward: Any, doc: str) -> None:
    op = Op(
        f"special_{name}",
        forward,
        ("x", "n"),
        layout=as_iterated,
        public=f"special.{name}",
        refuses=no_kernel(f"{name}_cpu", "hc"),
        samples=_samples,
    )
    label = f"special_{name}"

    def call(input: Any, n: Any) -> Tensor:
        if not isinstance(n, Tensor):
            require_tensor(label, input)
        require_operand(label, input, "input", 1)
        require_operand(label, n, "n", 2)
        compute = compute_dtype((input, n), "float")
        refuse(op, compute)
        operands = tuple(v if isinstance(v, Tensor) else number_as(v, compute) for v in (input, n))
        check_broadcast(*(v._data.shape for v in operands if isinstance(v, Tensor)))
        return apply(op, operands, {}, compute)  # type: ignore[no-any-return]

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The polynomial of degree `n` at `input`: {doc}."
    public(namespace=SPECIAL, method=False)(call)


for _name, _forward, _doc in _POLYNOMIALS:
    _declare(_name, _forward, _doc)
