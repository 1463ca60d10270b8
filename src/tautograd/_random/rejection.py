"""Samplers by rejection: Poisson, binomial and gamma, and with gamma Dirichlet.

How many uniform numbers a sample takes depends on the numbers themselves, and the next sample
starts where the last one stopped. So these are loops over the elements, with the numbers read
through a `Lookahead`. Parameters are prepared for the whole array beforehand, in the precision in
which PyTorch computes them: that of the array for its own arithmetic, double for the rest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import names
from .arithmetic import narrow
from .engine import Generator, Lookahead

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"

# log(k!) minus Stirling's formula, for k below ten.
_STIRLING_TAIL = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)
_MOST_AHEAD = 1 << 16


def _block(samples: int, words_each: float) -> int:
    return int(min(_MOST_AHEAD, samples * words_each + 64))


def poisson(generator: Generator, rate: Array) -> Array:
    """Poisson counts with the rates in `rate`, in its type: `torch.poisson`."""
    kind = names.require_floating("poisson_cpu", rate.dtype)
    rates = rate.astype(np.float64).ravel()
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    with Lookahead(generator, _block(rates.size, 4)) as source:
        samples = [_poisson(value, source) for value in rates.tolist()]
    return narrow(np.array(samples, np.int64), kind).reshape(rate.shape)


def _poisson(rate: float, source: Lookahead) -> int:
    if rate == 0:
        return 0
    if rate >= 10:
        return _poisson_large(rate, source)
    # Arrivals in unit time: multiply uniforms until the product falls below exp(-rate).
    threshold = math.exp(-rate)
    arrivals, product = 0, source.uniform()
    while product > threshold:
        arrivals += 1
        product *= source.uniform()
    return arrivals


def _poisson_large(rate: float, source: Lookahead) -> int:
    """Transformed rejection (Hormann 1993, algorithm PTRS)."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    tight = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = source.uniform() - 0.5
        v = source.uniform()
        us = 0.5 - abs(u)
        k = _whole((2 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= tight:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


def _whole(value: float) -> int:
    """The integer below, in 64 bits; what does not fit is the least of them, as on x86-64."""
    return math.floor(value) if abs(value) < 2.0**63 else -(2**63)


def _power(base: float, exponent: float) -> float:
    """C's: what is too large is infinite, and no error."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def binomial(generator: Generator, count: Array, prob: Array) -> Array:
    """Successes in `count` trials of probability `prob`, elementwise: `torch.binomial`."""
    for label, kind in (("count", count.dtype), ("prob", prob.dtype)):
        if names.known(kind) not in names.FLOATING:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {label}, got: "
                f"{names.torch_name(kind)}"
            )
    if count.dtype != prob.dtype:
        found, wanted = names.torch_name(prob.dtype), names.torch_name(count.dtype)
        raise RuntimeError(f"Found dtype {found} but expected {wanted}")
    kind = count.dtype
    if kind not in (np.float32, np.float64):
        raise names.not_implemented("binomial_cpu", kind)
    trials, probability = np.broadcast_arrays(count, prob)
    shape = trials.shape
    trials, probability = trials.ravel(), probability.ravel()
    one = kind.type(1)
    # The rarer outcome is counted; successes are what is left.
    swapped = probability > 0.5
    rare = np.where(swapped, one - probability, probability).astype(kind)
    with np.errstate(invalid="ignore"):  # infinitely many trials without a chance
        expected = trials * rare
    unknown = np.isnan(probability) | np.isnan(trials)  # PyTorch's loop over NaN trials never ends
    plain = ~((trials <= 0) | (probability <= 0) | (probability >= 1) | unknown)
    result = np.zeros(trials.size, kind)
    result[unknown] = np.nan
    result[probability >= 1] = trials[probability >= 1]
    result[(trials <= 0) | (probability <= 0)] = 0
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt(expected * (one - rare)).astype(np.float64)
        odds = (rare / (one - rare)).astype(np.float64)
        mode = np.floor((trials + one) * rare).astype(np.float64)
    lookahead = Lookahead(generator, _block(trials.size, 4))
    with np.errstate(invalid="ignore"), lookahead as source:
        for index in np.flatnonzero(plain).tolist():
            n, p = trials[index], rare[index]
            if expected[index] >= 10:
                drawn = _binomial_large(
                    n,
                    float(p),
                    float(expected[index]),
                    float(deviation[index]),
                    float(odds[index]),
                    float(mode[index]),
                    source,
                )
            else:
                # log1p is taken in the precision of the array.
                log_failure = float(kind.type(math.log1p(-float(p))))
                drawn = _binomial_small(float(n), log_failure, source)
            result[index] = n - kind.type(drawn) if swapped[index] else drawn
    return result.reshape(shape)


def _binomial_small(trials: float, log_failure: float, source: Lookahead) -> int:
    """Count successes by the geometric gaps between them."""
    passed, successes = 0.0, 0
    while True:
        gap = _log(source.uniform()) / log_failure
        passed += math.ceil(gap) if gap < math.inf else gap
        if passed > trials:
            return successes
        successes += 1


def _stirling_tail(k: float) -> float:
    if k < len(_STIRLING_TAIL):
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _binomial_large(
    trials: np.floating,
    p: float,
    expected: float,
    deviation: float,
    odds: float,
    mode: float,
    source: Lookahead,
) -> float:
    """Transformed rejection (Hormann 1993, algorithm BTRS)."""
    kind, n = type(trials), float(trials)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = expected + 0.5
    tight = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    one_more = float(trials + kind(1))
    while True:
        u = source.uniform() - 0.5
        v = source.uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        if math.isinf(n):  # PyTorch's arithmetic in full: infinity, or what is left of two
            if us >= 0.07 and v <= tight:
                return math.inf if u > 0 else math.nan
            continue
        k = kind(math.floor((2 * a / us + b) * u + centre))
        if k < 0 or k > trials:
            continue
        if us >= 0.07 and v <= tight:
            return float(k)
        remaining = float(trials - k + kind(1))
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + one_more * math.log((n - mode + 1) / remaining)
            + (float(k) + 0.5) * math.log(odds * remaining / float(k + kind(1)))
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(float(k))
            - _stirling_tail(float(trials - k))
        )
        if _log(v * alpha / (a / (us * us) + b)) <= bound:
            return float(k)


def standard_gamma(generator: Generator, concentration: Array) -> Array:
    """Gamma numbers of scale one: `torch._standard_gamma`."""
    kind = names.known(concentration.dtype)
    if kind not in (np.float32, np.float64):
        raise names.not_implemented("gamma_cpu", kind)
    one = kind.type(1)
    alpha = concentration.ravel()
    boosted = alpha < 1
    with np.errstate(divide="ignore"):
        inverse = (one / alpha).astype(np.float64)
    raised = np.where(boosted, alpha + one, alpha).astype(kind)
    # One third is a single-precision constant in PyTorch, whatever the type of the array.
    d = (raised - kind.type(np.float32(1) / np.float32(3))).astype(np.float64)
    rows = zip(alpha.tolist(), boosted.tolist(), inverse.tolist(), d.tolist(), strict=True)
    with Lookahead(generator, _block(alpha.size, 6)) as source:
        samples = [_gamma(*row, source) for row in rows]
    smallest = np.finfo(kind).tiny
    with np.errstate(over="ignore"):
        values = np.array(samples, np.float64).astype(kind)
    # The comparison is false for NaN, too: a bad concentration gives the smallest number.
    return np.where(values > smallest, values, smallest).reshape(concentration.shape)


def dirichlet(generator: Generator, concentration: Array) -> Array:
    """Points of the simplex along the last dimension: `torch._sample_dirichlet`."""
    kind = names.known(concentration.dtype)
    if kind not in (np.float32, np.float64):
        raise names.not_implemented("dirichlet", kind)
    # Gamma numbers in double, so that small ones do not vanish before they are divided.
    parts = standard_gamma(generator, concentration.astype(np.float64))
    shares = (parts / parts.sum(axis=-1, keepdims=True)).astype(kind)
    least, most = np.finfo(kind).tiny, np.nextafter(kind.type(1), kind.type(0))
    # The comparison is false for NaN, too: infinite shares are no shares.
    found: np.ndarray = np.minimum(np.where(shares > least, shares, least), most)
    return found


_SQUEEZE = float(np.float32(0.0331))


def _gamma(alpha: float, boosted: bool, inverse: float, d: float, source: Lookahead) -> float:
    """Marsaglia and Tsang's method (2000); a concentration below one is raised by one first."""
    scale = 1.0
    if boosted:
        if alpha == 0:
            return 0.0
        scale = _power(1 - source.uniform(), inverse)
    c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan
    while True:
        x = source.normal()
        y = 1.0 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - source.uniform()
        xx = x * x
        if u < 1.0 - _SQUEEZE * xx * xx:
            return scale * d * v
        if math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v
