"""Who is right where two engines differ? For some functions, arithmetic of 40 digits can tell.

A few of PyTorch's functions are less accurate than their dtype (its trigamma keeps 10 digits of 16,
its vectorised erf flushes what is small to zero). Where tautograd and PyTorch differ by more than
rounding explains, and a record is listed here, the exact value decides: tautograd's must agree with
it to the tolerance that PyTorch's was to be held to. `test_departures` checks that PyTorch does
miss the exact value somewhere; a record for which it does not has no place here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from .cases import Call
from .measure import cotangent

DIGITS = 40


def _ndtr(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _mvlgamma(x: Any, p: int) -> Any:
    terms = [mpmath.loggamma(x - mpmath.mpf(j) / 2) for j in range(p)]
    return p * (p - 1) * mpmath.log(mpmath.pi) / 4 + sum(terms)


# The function of a record's tensor arguments (and its parameters, by position or name).
EXACT: dict[str, Callable[..., Any]] = {
    "digamma": mpmath.digamma,
    "erf": mpmath.erf,
    "gelu": lambda x: x * _ndtr(x),
    "lgamma": mpmath.loggamma,
    "mvlgamma": _mvlgamma,
    "polygamma": mpmath.polygamma,
    "special_airy_ai": mpmath.airyai,
    "special_log_ndtr": lambda x: mpmath.log(_ndtr(x)),
}


def exact_values(call: Call, key: str, where: Any) -> np.ndarray | None:
    """The exact values of an item of a comparison at the places given, NaN elsewhere; None where
    this file cannot tell."""
    fn = EXACT.get(call.op.name)
    if fn is None or len(call.tensors) != 1 or key not in ("out0", "grad0", "second0", "second1"):
        return None
    x = np.asarray(call.engine.array(call.tensors[0]))
    if x.dtype.kind not in "fV":
        return None
    values, factors = x.astype(np.float64), _factors(call, key, x.shape)
    order = {"out0": 0, "grad0": 1, "second0": 2, "second1": 1}[key]
    found = np.full(x.shape, np.nan)
    with mpmath.workdps(DIGITS):
        for place in np.argwhere(where):
            at = tuple(place)
            if np.isfinite(values[at]):
                found[at] = _value(call, fn, values[at], order, factors[at])
    return found


def _value(call: Call, fn: Callable[..., Any], x: float, order: int, factor: float) -> float:
    def along(z: Any) -> Any:
        args = [z if call.engine.is_tensor(a) else a for a in call.args]
        kwargs = {k: v for k, v in call.kwargs.items() if v != "none"}
        return fn(*args, **kwargs)

    try:
        derivative = mpmath.diff(along, mpmath.mpf(x), order) if order else along(mpmath.mpf(x))
        return float(mpmath.re(derivative) * factor)
    except (ValueError, ZeroDivisionError, TypeError, mpmath.NoConvergence):
        return float("nan")


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
