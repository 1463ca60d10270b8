"""Who is right where two engines differ? For some functions, arithmetic of 40 digits can tell.

A few of PyTorch's functions are less accurate than their dtype (its trigamma keeps 10 digits of 16,
its vectorised erf flushes what is small to zero, its gradient of logcumsumexp passes through
logarithms). Where tautograd and PyTorch differ by more than
rounding explains, and a record is listed here, the exact value decides: tautograd's must agree with
it to the tolerance that PyTorch's was to be held to. `test_departures` checks that PyTorch does
miss the exact value somewhere; a record for which it does not has no place here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
from mpmath.libmp.libhyper import NoConvergence

from .arrays import numpy_dtype
from .cases import Call
from .measure import cotangent

DIGITS = 40


def _ndtr(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _log_ndtr(x: Any) -> Any:
    return mpmath.log1p(-_ndtr(-x)) if x > 0 else mpmath.log(_ndtr(x))


def _mvlgamma(x: Any, p: int) -> Any:
    terms = [mpmath.loggamma(x - mpmath.mpf(j) / 2) for j in range(p)]
    return p * (p - 1) * mpmath.log(mpmath.pi) / 4 + sum(terms)


def _polygamma(a: Any, b: Any = None, n: Any = None) -> Any:
    """The order comes first in the function, second (or by name) in the method."""
    if isinstance(a, int):
        return mpmath.polygamma(a, b)
    return mpmath.polygamma(b if n is None else n, a)


def _igamma(a: Any, x: Any) -> Any:
    if 1e-30 < a <= 1e5 and x < a:  # where it is small by itself
        return mpmath.gammainc(a, 0, x, regularized=True)
    return 1 - _igammac(a, x)


def _igammac(a: Any, x: Any) -> Any:
    """The upper incomplete gamma function, regularised; by its limits where the order is huge."""
    if a < 1e-30 and x > 0:
        return a * mpmath.e1(x)  # to first order in a
    if x > 2000 + a + 100 * mpmath.sqrt(a):
        return mpmath.mpf(0)
    if a > 1e5:
        width = (x - a) / mpmath.sqrt(a)
        if abs(width) > 100:
            return mpmath.mpf(width < 0)

        def density(s: Any) -> Any:
            shift = s * mpmath.sqrt(a)
            return mpmath.exp((a - 1) * mpmath.log(a + shift) - a - shift - mpmath.loggamma(a))

        ends = [width, width + 3, width + 10, width + 40]
        return mpmath.quad(density, ends) * mpmath.sqrt(a)
    return mpmath.gammainc(a, x, regularized=True)


def _zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function: its first terms, and the rest as Euler and Maclaurin have it."""
    if x <= 1 or q <= 0 or mpmath.isinf(x) or mpmath.isinf(q):
        return mpmath.zeta(x, q)
    if x > 500:
        return mpmath.fsum(mpmath.power(q + k, -x) for k in range(3))
    count = max(0, 30 + int(x) - int(min(q, 1000)))
    end = q + count
    terms = [mpmath.power(q + k, -x) for k in range(count)]
    terms += [mpmath.power(end, 1 - x) / (x - 1), mpmath.power(end, -x) / 2]
    for j in range(1, 21):
        rising = mpmath.rf(x, 2 * j - 1) / mpmath.factorial(2 * j)
        terms.append(mpmath.bernoulli(2 * j) * rising * mpmath.power(end, 1 - x - 2 * j))
    return mpmath.fsum(terms)


def _remainder(x: Any, y: Any) -> Any:
    """Rational numbers have exact remainders."""
    if y == 0 or not math.isfinite(x):
        return mpmath.nan
    if math.isinf(y):
        return x if (x < 0) == (y < 0) or not x else y
    exact = Fraction(float(x)) % Fraction(float(y))
    return mpmath.mpf(exact.numerator) / exact.denominator


# The function of a record's tensor arguments (and its parameters, by position or name).
EXACT: dict[str, Callable[..., Any]] = {
    "digamma": mpmath.digamma,
    "erf": mpmath.erf,
    "fmod": lambda x, y: math.fmod(x, y) if y and math.isfinite(x) else mpmath.nan,
    "gcd": lambda x, y: math.gcd(int(x), int(y)),
    "gelu": lambda x: x * _ndtr(x),
    "hardsigmoid": lambda x: min(max(x + 3, 0), 6) / mpmath.mpf(6),
    "igamma": _igamma,
    "igammac": _igammac,
    "lgamma": mpmath.loggamma,
    "mvlgamma": _mvlgamma,
    "polygamma": _polygamma,
    "polygamma_": _polygamma,
    "remainder": _remainder,
    "remainder_of_number": _remainder,
    "special_log_ndtr": _log_ndtr,
    "special_airy_ai": mpmath.airyai,
    "special_bessel_j0": lambda x: mpmath.besselj(0, x),
    "special_bessel_j1": lambda x: mpmath.besselj(1, x),
    "special_bessel_y0": lambda x: mpmath.bessely(0, x),
    "special_bessel_y1": lambda x: mpmath.bessely(1, x),
    "special_modified_bessel_k1": lambda x: mpmath.besselk(1, x),
    "special_scaled_modified_bessel_k1": lambda x: mpmath.exp(x) * mpmath.besselk(1, x),
    "special_zeta": _zeta,
}


def _logcumsumexp(call: Call, key: str) -> np.ndarray | None:
    """The second derivative, of one row: with the weights w_ij = exp(x_j - out_i) it is, by x_k, the
    sum over i ≥ k of g_i w_ik (v_k - Σ_j v_j w_ij). One complex number has none."""
    x, g, v = (
        np.asarray(call.engine.array(t))
        for t in (call.tensors[0], *(cotangent(call, call.tensors[0], s, False) for s in (0, 100)))
    )
    if key != "second0" or x.ndim != 1:
        return None
    if x.dtype.kind == "c":
        return np.zeros_like(x) if len(x) == 1 else None
    found = np.zeros(len(x))
    with mpmath.workdps(DIGITS):
        powers = [mpmath.exp(mpmath.mpf(float(e))) for e in x]
        for k in range(len(x)):
            total = mpmath.mpf(0)
            for i in range(k, len(x)):
                weights = [p / mpmath.fsum(powers[: i + 1]) for p in powers[: i + 1]]
                mean = mpmath.fdot(weights, [mpmath.mpf(float(e)) for e in v[: i + 1]])
                total += float(g[i]) * weights[k] * (float(v[k]) - mean)
            found[k] = float(total)
    return found


# Functions of rows, whose exact derivatives are of another kind: the items of a comparison, whole.
EXACT_ROWS: dict[str, Callable[[Call, str], np.ndarray | None]] = {"logcumsumexp": _logcumsumexp}


def exact_values(call: Call, key: str, where: Any, dtype: str) -> np.ndarray | None:
    """The exact values of an item of a comparison (of this dtype) at the places given, NaN
    elsewhere; None where this file cannot tell."""
    if call.op.name in EXACT_ROWS:
        return EXACT_ROWS[call.op.name](call, key)
    fn = EXACT.get(call.op.name)
    order = {"out0": 0, "grad0": 1, "second0": 2, "second1": 1}.get(key)
    if fn is None or order is None or (order and len(call.tensors) > 1):
        return None
    inputs = [np.broadcast_to(_as_computed(call, t, dtype), where.shape) for t in call.tensors]
    factors = _factors(call, key, where.shape)
    found = np.full(where.shape, np.nan, object if dtype.endswith(_INTEGERS) else np.float64)
    with mpmath.workdps(DIGITS):
        for place in np.argwhere(where):
            at = tuple(place)
            numbers = [x[at] for x in inputs]
            if not np.any(np.isnan(np.array(numbers, float))):
                found[at] = _value(call, fn, numbers, order, factors[at])
    if found.dtype != object:
        with np.errstate(over="ignore"):  # more than the largest number is infinity
            return found.astype(numpy_dtype(dtype)).astype(np.float64)
    return found


_INTEGERS = ("int8", "int16", "int32", "int64")


def _as_computed(call: Call, tensor: Any, dtype: str) -> np.ndarray:
    """An input as the function sees it: integers are rounded to the dtype of the result first."""
    x = np.asarray(call.engine.array(tensor))
    if dtype.endswith(_INTEGERS):
        return x.astype(object)
    return (x.astype(numpy_dtype(dtype)) if x.dtype.kind in "biu" else x).astype(np.float64)


def _value(call: Call, fn: Callable[..., Any], numbers: Any, order: int, factor: float) -> Any:
    kwargs = {k: v for k, v in call.kwargs.items() if v != "none"}
    parameters = tuple(None if call.engine.is_tensor(a) else a for a in call.args)
    found = _derivative(fn, tuple(numbers), order, parameters, tuple(kwargs.items()))
    return found if isinstance(found, int) else float(found * factor)


@cache  # extremes repeat the same few numbers
def _derivative(
    fn: Callable[..., Any], numbers: Any, order: int, parameters: Any, options: Any
) -> Any:
    """A derivative of a function of numbers, the others among its parameters being held."""

    def along(*values: Any) -> Any:
        left = list(values)
        return fn(*(left.pop(0) if p is None else p for p in parameters), **dict(options))

    try:
        values = [x if isinstance(x, int) else mpmath.mpf(x) for x in numbers]
        derivative = mpmath.diff(along, *values, order) if order else along(*values)
        return derivative if isinstance(derivative, int) else mpmath.re(derivative)
    except (ValueError, ArithmeticError, TypeError, NotImplementedError, NoConvergence):
        return mpmath.nan


def _factors(call: Call, key: str, shape: tuple[int, ...]) -> np.ndarray:
    """What the derivative is multiplied by: the cotangents that `measure` used."""
    like = call.tensors[0]

    def drawn(seed: int) -> np.ndarray:
        return np.asarray(call.engine.array(cotangent(call, like, seed, False)), np.float64)

    if key == "out0":
        return np.ones(shape)
    if key == "second1":
        return drawn(100)
    return drawn(0) * (drawn(100) if key == "second0" else 1.0)
