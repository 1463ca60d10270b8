"""The gamma function's family: its logarithm and derivatives, incomplete gamma, Hurwitz zeta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.room import out_of_memory
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.dims import require_int
from ..declare.elementwise_calls import (
    binary,
    call_elementwise,
    contiguous,
    refuse,
    require_operand,
    require_tensor,
    unary,
)
from ..declare.in_place_twins import inplace_twin
from ..declare.promotion import compute_dtype
from ..declare.public import FUNCTIONS, SPECIAL, attach, public
from ..declare.record import Op
from ..declare.samples import Sample, T, over, pairs
from ..declare.undefined_dtypes import negated, no_kernel, refusal
from .special_functions import scipy_function

_zeta, _psi = scipy_function("zeta"), scipy_function("psi")


def _gammaln(x: Any) -> Any:
    # SciPy overflows where x itself is all but 0; there it is -log|x|.
    tiny = np.abs(x) < 1e-300
    return np.where(tiny, -np.log(np.abs(x)), scipy_function("gammaln")(x))


lgamma_op = unary(
    "lgamma",
    lambda x: _gammaln(x),
    d=lambda x: digamma_op(x),
    refuses=no_kernel("lgamma_vml_cpu", "c"),
    doc="The logarithm of the absolute value of the gamma function.",
    samples=over(0.2, 4),
)
digamma_op: Op = unary(
    "digamma",
    lambda x: _psi(x),
    d=lambda x: polygamma_op(x, n=1),
    refuses=no_kernel("digamma", "c"),
    doc="The derivative of `lgamma`.",
    samples=over(0.3, 4),
)


def _polygamma(x: Any, n: int) -> Any:
    if n == 0:
        return _psi(x)
    factorial = math.gamma(n + 1) if n <= 170 else math.inf
    return (factorial if n % 2 else -factorial) * _zeta(np.full_like(x, n + 1), x)


_POLYGAMMA: dict[str, Any] = {
    "vjp": {"x": lambda g, x, n: g * polygamma_op(x, n=n + 1)},
    "jvp": {"x": lambda t, x, n: t * polygamma_op(x, n=n + 1)},
    "refuses": no_kernel("polygamma", "c"),
}
polygamma_in_place_op = Op(
    "polygamma_",
    _polygamma,
    ("x",),
    **_POLYGAMMA,
    node="PolygammaBackward1",
    public="Tensor.polygamma_",
    samples=lambda: [Sample(T(2, 3, low=0.5, high=4), n) for n in (1, 2, 3)],
)
polygamma_op: Op = Op(
    "polygamma",
    _polygamma,
    ("x",),
    **_POLYGAMMA,
    promotion="float",
    samples=lambda: [
        Sample(n, T(*shape, low=0.5, high=4))
        for n in (0, 1, 2, 3)
        for shape in ((2, 3), (), (0, 2))
    ],
)


@public(method=False)
def polygamma(n: int, input: Any) -> Tensor:
    """The n-th derivative of `digamma`."""
    n = require_int(n, "polygamma", "n")
    require_tensor("polygamma", input, position=2)
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return call_elementwise(polygamma_op, (input,), {"n": n})


def _polygamma_method(self: Any, n: int) -> Tensor:
    """The n-th derivative of `digamma`."""
    return polygamma(n, self)


def _polygamma_for_twin(self: Any, n: int) -> Tensor:
    n = require_int(n, "polygamma_", "n")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    compute = compute_dtype((self,), "float")
    refuse(polygamma_in_place_op, compute)
    return apply(polygamma_in_place_op, (self,), {"n": n}, compute)  # type: ignore[no-any-return]


attach("polygamma", _polygamma_method)
attach("polygamma_", inplace_twin("polygamma", _polygamma_for_twin))


def _over_steps(function: Any, x: Any, p: int) -> Any:
    """f(x) + f(x - 1/2) + … + f(x - (p - 1)/2)."""
    if p <= _ONE_BY_ONE:
        total = function(x)
        for j in range(1, p):
            total = total + function(x - j / 2)
        return total
    total = np.zeros_like(x)
    for first in range(0, p, _BLOCK):
        steps = np.arange(first, min(first + _BLOCK, p)) / 2
        total = total + np.sum(function(np.expand_dims(x, -1) - np.astype(steps, x.dtype)), -1)
    return total


_ONE_BY_ONE, _BLOCK = 64, 1 << 14
_MOST_STEPS = 1 << 28  # of all elements together; PyTorch holds all of them at once


mvlgamma_op = Op(
    "mvlgamma",
    lambda x, p: _over_steps(_gammaln, x, p) + p * (p - 1) / 4 * math.log(math.pi),
    ("x",),
    vjp={"x": lambda g, x, p: g * _over_steps(digamma_op, x, p)},
    jvp={"x": lambda t, x, p: t * _over_steps(digamma_op, x, p)},
    promotion="float",
    refuses=no_kernel("arange_cpu", "c")
    | refusal("The input tensor may not be a boolean tensor.", "b"),
    samples=lambda: (
        [Sample(T(2, 3, low=2, high=5), p) for p in (1, 2, 3)] + [Sample(T(low=2, high=5), 2)]
    ),
)


@public(inplace=True)
def mvlgamma(input: Any, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
    require_tensor("mvlgamma", input)
    p = require_int(p, "mvlgamma", "p")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    refuse(mvlgamma_op, input._data.dtype)
    if p * max(input._data.size, 1) > _MOST_STEPS:
        raise out_of_memory(p * input._data.size * 8)
    return contiguous(call_elementwise(mvlgamma_op, (input,), {"p": p}))


def _gamma_density(a: Any, x: Any) -> Any:
    # d/dx of the lower incomplete gamma function: x^(a-1) e^-x / Γ(a)
    return np.exp((a - 1) * np.log(x) - x - lgamma_op(a))


def _endless(x: Any, y: Any) -> Any:
    """Of infinite order: all of the integral lies beyond any y, and even NaN."""
    return (x == np.inf) & ~(y < 0) & (y != np.inf)


def _of_no_order(y: Any) -> Any:
    """Of order NaN: the integral to 0 is 0 and to infinity 1, whatever is integrated."""
    return np.where(y == 0, 0, np.where(y == np.inf, 1, y * np.nan))


def _lower(x: Any, y: Any) -> Any:
    """P(x, y) = y^x e^-y / Γ(x + 1) (1 + y/(x + 1) (1 + y/(x + 2) (1 + …))), for y up to 1."""
    total = np.ones_like(y)
    for n in range(20, 0, -1):
        total = 1 + y / (x + n) * total
    return np.power(y, x) * np.exp(-y) / scipy_function("gamma")(x + 1) * total


def _upper(steps: int) -> Any:
    """Q(x, y) = y^x e^-y / Γ(x) / (y + 1 - x - (1 - x)/(y + 3 - x - 2 (2 - x)/(y + 5 - x - …))), for
    y from 1 and not much below x; from the end, where rounding errors do not add up."""

    def fraction(x: Any, y: Any) -> Any:
        from_x = y - x
        found = from_x + (2 * steps + 1)
        for k in range(steps, 0, -1):
            found = from_x + (2 * k - 1) - k * (k - x) / found
        return np.power(y, x) * np.exp(-y) * x / (scipy_function("gamma")(x + 1) * found)

    return fraction


def _where(condition: Any, function: Any, x: Any, y: Any, otherwise: Any) -> Any:
    """A function of two arrays where it is wanted; of plain arrays it sees no more than that."""
    if type(otherwise) is not np.ndarray or type(x) is not np.ndarray:
        return np.where(condition, function(x, y), otherwise)
    x, y, condition = np.broadcast_arrays(x, y, condition)
    otherwise[condition] = function(x[condition], y[condition])
    return otherwise


def _series_is_short(x: Any, y: Any) -> Any:
    """Where SciPy cuts its series for the logarithm of gamma short: it keeps 13 digits."""
    return (np.abs(x - 0.5) < 0.08) & (y > 0) & (y < 1)


def _igamma(x: Any, y: Any) -> Any:
    found = np.where(_endless(x, y), 0, scipy_function("gammainc")(x, y))
    found = np.where(np.isnan(x), _of_no_order(y), found)
    if x.dtype != np.float64:
        return found
    return _where(_series_is_short(x, y), _lower, x, y, found)


# SciPy's continued fraction runs forward and keeps 14 digits: how many steps of ours give all, for
# y in a range.
_STEPS = ((1, 2, 100), (2, 4, 50), (4, 10, 30))


def _igammac(x: Any, y: Any) -> Any:
    found = np.where(_endless(x, y), 1, scipy_function("gammaincc")(x, y))
    found = np.where(np.isnan(x), 1 - _of_no_order(y), found)
    if x.dtype != np.float64:
        return found
    found = _where(_series_is_short(x, y), lambda x, y: 1 - _lower(x, y), x, y, found)
    for low, high, steps in _STEPS:
        here = (y >= low) & (y < high) & (x > 0) & (x < 1.1 * y)
        found = _where(here, _upper(steps), x, y, found)
    # The order all but 0: to first order in it, x E1(y).
    tiny = (x > 0) & (x < 1e-20) & (y > 0)
    return _where(tiny, lambda x, y: x * scipy_function("exp1")(y), x, y, found)


def _not_by_order(name: str) -> tuple[Any, Any]:
    """Rules that say, as PyTorch does when it goes backward, that there is no derivative."""

    def refuse_to(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    def refuse_forward(t: Any) -> Any:
        raise NotImplementedError(
            f"Trying to use forward AD with {name.partition(':')[0]} that does not support it "
            "because it has not been implemented yet."
        )

    return refuse_to, refuse_forward


igamma_op = binary(
    "igamma",
    _igamma,
    vjp={
        "x": _not_by_order("igamma: input")[0],
        "y": lambda g, x, y: g * _gamma_density(x, y),
    },
    jvp={
        "x": _not_by_order("igamma: input")[1],
        "y": lambda t, x, y: t * _gamma_density(x, y),
    },
    refuses=no_kernel("igamma_cpu", "bic"),
    doc="The lower incomplete gamma function of order `input`, divided by its limit.",
    samples=lambda: _by_second((0.5, 3), (0.5, 3)),
)
igammac_op = binary(
    "igammac",
    _igammac,
    vjp={
        "x": _not_by_order("igammac: input")[0],
        "y": lambda g, x, y: -g * _gamma_density(x, y),
    },
    jvp={
        "x": _not_by_order("igammac: input")[1],
        "y": lambda t, x, y: -t * _gamma_density(x, y),
    },
    refuses=no_kernel("igammac_cpu", "bic"),
    doc="One minus `igamma`.",
    samples=lambda: _by_second((0.5, 3), (0.5, 3)),
)


def _by_second(x: tuple[float, float], y: tuple[float, float]) -> list[Sample]:
    """Samples differentiated by the second argument; by the first there is no derivative."""
    made = pairs(x, y)()
    for sample in made:
        sample.args[0].grad = False
    return [*made, Sample(T(3, low=x[0], high=x[1]), T(3, low=y[0], high=y[1], seed=1))]


def _zeta_slope(x: Any, y: Any) -> Any:
    # d/dq sum (q + k)^-x = -x sum (q + k)^-(x + 1)
    return negated(x) * zeta_op(x + 1, y)


def _beyond_zeta(x: Any, y: Any) -> Any:
    """Where PyTorch's sum ends in 0 times infinity."""
    return (x > 1) & ((y == np.inf) | ((x == np.inf) & (y > 1e30)))


zeta_op = Op(
    "special_zeta",
    lambda x, y: np.where(_beyond_zeta(x, y), np.nan, _zeta(x, y)),
    ("x", "y"),
    vjp={"x": _not_by_order("zeta")[0], "y": lambda g, x, y: g * _zeta_slope(x, y)},
    jvp={"x": _not_by_order("zeta")[1], "y": lambda t, x, y: t * _zeta_slope(x, y)},
    promotion="float",
    public="special.zeta",
    refuses=no_kernel("zeta_cpu", "hc"),
    samples=lambda: _by_second((1.5, 4), (0.5, 3)),
)


@public(namespace=SPECIAL, method=False)
def zeta(input: Any, other: Any) -> Tensor:
    """The Hurwitz zeta function: the sum of `(other + k) ** -input` over k = 0, 1, …"""
    require_operand("special_zeta", input, "input", 1)
    require_operand("special_zeta", other, "other", 2)
    return call_elementwise(zeta_op, (input, other), {})


for _name, _other in {
    "psi": "digamma",
    "gammaln": "lgamma",
    "multigammaln": "mvlgamma",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "digamma": "digamma",
    "polygamma": "polygamma",
}.items():
    SPECIAL[_name] = FUNCTIONS[_other]
