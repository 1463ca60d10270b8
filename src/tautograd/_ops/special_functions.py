"""Special functions: error functions, gamma functions and entropies; Bessel functions are in `bessel`.

The forwards are SciPy's ufuncs, fetched at their first use (SciPy is slow to import).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._autograd.lifted import COUNTERPARTS
from .._tensor.tensor import Tensor
from .dims import require_int
from .elementwise import binary, call_elementwise, require_operand, require_tensor, unary
from .exponential import exp2_op
from .public import FUNCTIONS, SPECIAL, attach, inplace_twin, public
from .record import Op
from .refusals import no_kernel
from .samples import Sample, T, over, pairs

_ROOT_PI = math.sqrt(math.pi)


def scipy_function(name: str) -> Any:
    """A function of `scipy.special` that is imported when first called."""

    def call(*arrays: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*arrays)

    return call


_erf, _zeta, _xlogy = scipy_function("erf"), scipy_function("zeta"), scipy_function("xlogy")
_psi, _gammaln, _erfcx = scipy_function("psi"), scipy_function("gammaln"), scipy_function("erfcx")

# --- error functions -----------------------------------------------------------------------------

erf_op = unary(
    "erf",
    lambda x: _erf(x),
    d=lambda x: np.exp(-x * x) * (2 / _ROOT_PI),
    refuses=no_kernel("erf_vml_cpu", "c"),
    doc="The error function.",
    samples=over(),
)
erfc_op = unary(
    "erfc",
    lambda x: scipy_function("erfc")(x),
    d=lambda x: np.exp(-x * x) * (-2 / _ROOT_PI),
    refuses=no_kernel("erfc_vml_cpu", "c"),
    doc="One minus the error function.",
    samples=over(),
)
erfinv_op = unary(
    "erfinv",
    lambda x: scipy_function("erfinv")(x),
    d=lambda out: np.exp(out * out) * (_ROOT_PI / 2),
    refuses=no_kernel("erfinv_vml_cpu", "c"),
    doc="The inverse of `erf`.",
    samples=over(-0.9, 0.9),
)
erfcx_op = unary(
    "special_erfcx",
    lambda x: _erfcx(x),
    d=lambda x, out: 2 * x * out - 2 / _ROOT_PI,
    public="special.erfcx",
    namespace=SPECIAL,
    refuses=no_kernel("erfcx_cpu", "hc"),
    doc="`exp(x²) * erfc(x)`.",
    samples=over(),
)

# --- the normal distribution ---------------------------------------------------------------------

ndtr_op = unary(
    "special_ndtr",
    lambda x: 0.5 * scipy_function("erfc")(x * -math.sqrt(0.5)),
    d=lambda x: np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi),
    node="MulBackward1",
    public="special.ndtr",
    namespace=SPECIAL,
    refuses=no_kernel("erf_vml_cpu", "c"),
    doc="The area under the normal density up to x.",
    samples=over(),
)
ndtri_op = unary(
    "special_ndtri",
    lambda x: scipy_function("ndtri")(x),
    d=lambda out: np.exp(0.5 * out * out) * math.sqrt(2 * math.pi),
    public="special.ndtri",
    namespace=SPECIAL,
    refuses=no_kernel("ndtri_cpu", "hc"),
    doc="The inverse of `ndtr`.",
    samples=over(0.1, 0.9),
)
log_ndtr_op = unary(
    "special_log_ndtr",
    lambda x: scipy_function("log_ndtr")(x),
    vjp=lambda g, x: g / erfcx_op(x * -math.sqrt(0.5)) * math.sqrt(2 / math.pi),
    jvp=lambda t, x: t / erfcx_op(x * -math.sqrt(0.5)) * math.sqrt(2 / math.pi),
    public="special.log_ndtr",
    namespace=SPECIAL,
    refuses=no_kernel("log_ndtr_cpu", "hc"),
    doc="The logarithm of `ndtr`.",
    samples=over(-4, 3),
)

# --- gamma functions -----------------------------------------------------------------------------

lgamma_op = unary(
    "lgamma",
    lambda x: _gammaln(x),
    d=lambda x: digamma_op(x),
    refuses=no_kernel("lgamma_vml_cpu", "c"),
    doc="The logarithm of the absolute value of the gamma function.",
    samples=over(0.2, 4),
)
digamma_op = unary(
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
    return (-1) ** (n + 1) * math.gamma(n + 1) * _zeta(np.full_like(x, n + 1), x)


polygamma_op = Op(
    "polygamma",
    _polygamma,
    ("x",),
    vjp={"x": lambda g, x, n: g * polygamma_op(x, n=n + 1)},
    jvp={"x": lambda t, x, n: t * polygamma_op(x, n=n + 1)},
    promotion="float",
    refuses=no_kernel("polygamma", "c"),
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
    return polygamma(n, self)  # type: ignore[no-any-return]


attach("polygamma", _polygamma_method)
attach("polygamma_", inplace_twin("polygamma", _polygamma_method))


def _over_steps(function: Any, x: Any, p: int) -> Any:
    """f(x) + f(x - 1/2) + … + f(x - (p - 1)/2)."""
    total = function(x)
    for j in range(1, p):
        total = total + function(x - j / 2)
    return total


mvlgamma_op = Op(
    "mvlgamma",
    lambda x, p: _over_steps(_gammaln, x, p) + p * (p - 1) / 4 * math.log(math.pi),
    ("x",),
    vjp={"x": lambda g, x, p: g * _over_steps(digamma_op, x, p)},
    jvp={"x": lambda t, x, p: t * _over_steps(digamma_op, x, p)},
    promotion="float",
    refuses=no_kernel("arange_cpu", "c"),
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
    return call_elementwise(mvlgamma_op, (input,), {"p": p})


def _gamma_density(a: Any, x: Any) -> Any:
    # d/dx of the lower incomplete gamma function: x^(a-1) e^-x / Γ(a)
    return np.exp((a - 1) * np.log(x) - x - lgamma_op(a))


igamma_op = binary(
    "igamma",
    lambda x, y: scipy_function("gammainc")(x, y),
    vjp={"y": lambda g, x, y: g * _gamma_density(x, y)},
    jvp={"y": lambda t, x, y: t * _gamma_density(x, y)},
    refuses=no_kernel("igamma_cpu", "bic"),
    doc="The lower incomplete gamma function of order `input`, divided by its limit.",
    samples=lambda: [_second_only(s) for s in pairs((0.5, 3), (0.5, 3))()],
)
igammac_op = binary(
    "igammac",
    lambda x, y: scipy_function("gammaincc")(x, y),
    vjp={"y": lambda g, x, y: -g * _gamma_density(x, y)},
    jvp={"y": lambda t, x, y: -t * _gamma_density(x, y)},
    refuses=no_kernel("igammac_cpu", "bic"),
    doc="One minus `igamma`.",
    samples=lambda: [_second_only(s) for s in pairs((0.5, 3), (0.5, 3))()],
)


def _second_only(sample: Sample) -> Sample:
    """PyTorch has no derivative with respect to the first argument, and nor have we."""
    sample.args[0].grad = False
    return sample


def _zeta_slope(x: Any, y: Any) -> Any:
    # d/dq sum (q + k)^-x = -x sum (q + k)^-(x + 1)
    return -x * zeta_op(x + 1, y)


zeta_op = Op(
    "special_zeta",
    lambda x, y: _zeta(x, y),
    ("x", "y"),
    vjp={"y": lambda g, x, y: g * _zeta_slope(x, y)},
    jvp={"y": lambda t, x, y: t * _zeta_slope(x, y)},
    promotion="float",
    public="special.zeta",
    refuses=no_kernel("zeta_cpu", "hc"),
    samples=lambda: [_second_only(s) for s in pairs((1.5, 4), (0.5, 3))()],
)


@public(namespace=SPECIAL, method=False)
def zeta(input: Any, other: Any) -> Tensor:
    """The Hurwitz zeta function: the sum of `(other + k) ** -input` over k = 0, 1, …"""
    require_operand("special_zeta", input, "input", 1)
    require_operand("special_zeta", other, "other", 2)
    return call_elementwise(zeta_op, (input, other), {})


# --- x log y and entropy -------------------------------------------------------------------------


def _declare_xlogy(
    name: str, prefix: str, forward: Any, offset: int, kernel: str, public_name: str
) -> Any:
    """Three records: both tensors, a number first, a number second."""

    def factor(g: Any, x: Any, y: Any) -> Any:
        """g log(y + offset), and 0 where x is 0 and the logarithm is not finite."""
        return np.where((x == 0) & (y <= -offset), 0, records[0](g, y))

    def slope(g: Any, x: Any, y: Any) -> Any:
        return g * x / (y + offset) if offset else g * x / y

    vjp = {"x": lambda g, x, y: factor(g, x, y), "y": lambda g, x, y: slope(g, x, y)}
    jvp = {"x": lambda t, x, y: factor(t, x, y), "y": lambda t, x, y: slope(t, x, y)}
    common: dict[str, Any] = {
        "promotion": "float",
        "refuses": no_kernel(kernel, "c"),
        "public": public_name,
    }
    records = [
        Op(
            name, lambda x, y: forward(x, y), ("x", "y"), vjp=vjp, jvp=jvp, node=f"{prefix}Backward0",
            samples=pairs((0.3, 2), (0.3, 2)), **common,
        ),
        Op(
            f"{name}_of_number", lambda y, x: forward(x, y), ("y",),
            vjp={"y": vjp["y"]}, jvp={"y": jvp["y"]}, node=f"{prefix}Backward1",
            samples=lambda: [Sample(2, T(2, 3, low=0.3)), Sample(0.5, T(low=0.3))], **common,
        ),
        Op(
            f"{name}_by_number", lambda x, y: forward(x, y), ("x",),
            vjp={"x": vjp["x"]}, jvp={"x": jvp["x"]}, node=f"{prefix}Backward2",
            samples=lambda: [Sample(T(2, 3, low=0.3), 2), Sample(T(low=0.3), 0.5)], **common,
        ),
    ]  # fmt: skip

    def call(input: Any, other: Any) -> Tensor:
        label = public_name.replace(".", "_")
        if isinstance(input, Tensor) and isinstance(other, Tensor):
            return call_elementwise(records[0], (input, other), {})
        if isinstance(other, Tensor):
            require_operand(label, input, "input", 1)
            return call_elementwise(records[1], (other,), {}, numbers={"x": input})
        require_tensor(label, input)
        require_operand(label, other, "other", 2)
        return call_elementwise(records[2], (input,), {}, numbers={"y": other})

    call.__name__ = call.__qualname__ = public_name.rpartition(".")[2]
    return records, call


xlogy_records, _xlogy_call = _declare_xlogy("xlogy", "Xlogy", _xlogy, 0, "xlogy_cpu", "xlogy")
_xlogy_call.__doc__ = "`input * log(other)`, which is 0 where input is 0."
xlogy = public(inplace=True, number_first=True)(_xlogy_call)
xlog1py_records, _xlog1py_call = _declare_xlogy(
    "special_xlog1py",
    "SpecialXlog1Py",
    scipy_function("xlog1py"),
    1,
    "xlog1py_cpu",
    "special.xlog1py",
)
_xlog1py_call.__doc__ = "`input * log(1 + other)`, which is 0 where input is 0."
xlog1py = public(namespace=SPECIAL, method=False)(_xlog1py_call)

entr_op = unary(
    "special_entr",
    lambda x: scipy_function("entr")(x),
    d=lambda x: np.where(np.isnan(x), x, -np.log(x) - 1),
    public="special.entr",
    namespace=SPECIAL,
    refuses=no_kernel("entr_cpu", "c"),
    doc="`-x * log(x)`.",
    samples=over(0.2, 2),
)

# --- sinc and logit ------------------------------------------------------------------------------


def _sinc(x: Any) -> Any:
    scaled = x * math.pi
    return np.where(x == 0, 1, np.sin(scaled) / scaled)


def _sinc_slope(x: Any) -> Any:
    # (sin πx / πx)' = (πx cos πx - sin πx) / πx²
    scaled, squared = x * math.pi, x * x * math.pi
    return np.where(squared == 0, 0, (scaled * np.cos(scaled) - np.sin(scaled)) / squared)


sinc_op = unary(
    "sinc", _sinc, d=_sinc_slope, doc="`sin(πx) / (πx)`, which is 1 at 0.", samples=over(0.1, 2)
)


def _logit(x: Any, eps: float | None) -> Any:
    if eps is not None:
        x = np.minimum(np.maximum(x, eps), 1 - eps)
    return np.log(x / (1 - x))


def _logit_slope(g: Any, x: Any, eps: float | None) -> Any:
    if eps is None:
        return np.where((x < 0) | (x > 1), np.nan, g / (x * (1 - x)))
    return np.where((x < eps) | (x > 1 - eps), 0, g / (x * (1 - x)))


logit_op = Op(
    "logit",
    _logit,
    ("x",),
    vjp={"x": lambda g, x, eps: _logit_slope(g, x, eps)},
    jvp={"x": lambda t, x, eps: _logit_slope(t, x, eps)},
    promotion="float",
    refuses=no_kernel("logit_cpu", "c"),
    samples=lambda: [*over(0.1, 0.9)(), *over(-0.5, 1.5, eps=0.2)()],
)


@public(inplace=True)
def logit(input: Any, eps: float | None = None) -> Tensor:
    """`log(x / (1 - x))`, with x kept between eps and 1 - eps if eps is given."""
    require_tensor("logit", input)
    return call_elementwise(logit_op, (input,), {"eps": eps})


# --- names in torch.special ----------------------------------------------------------------------

for _name in [
    "erf",
    "erfc",
    "erfinv",
    "digamma",
    "polygamma",
    "xlogy",
    "sinc",
    "logit",
    "exp2",
    "expm1",
    "log1p",
]:
    if _name in FUNCTIONS:
        SPECIAL[_name] = FUNCTIONS[_name]
for _name, _other in {
    "psi": "digamma",
    "gammaln": "lgamma",
    "multigammaln": "mvlgamma",
    "gammainc": "igamma",
    "gammaincc": "igammac",
}.items():
    SPECIAL[_name] = FUNCTIONS[_other]
COUNTERPARTS[np.sinc] = FUNCTIONS["sinc"]
