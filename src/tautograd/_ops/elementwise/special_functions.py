"""Special functions: error functions, entropies, sinc and logit (see `gamma_functions`, `bessel`).

The forwards are SciPy's ufuncs, fetched at their first use (SciPy is slow to import).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import error_function
from ..._autograd.lifted import COUNTERPARTS
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import call_elementwise, require_operand, require_tensor, unary
from ..declare.out_argument import CONTIGUOUS_OUT
from ..declare.promotion import as_number
from ..declare.public import FUNCTIONS, SPECIAL, public
from ..declare.record import Op
from ..declare.samples import Sample, T, over, pairs
from ..declare.undefined_dtypes import no_kernel

_ROOT_PI = math.sqrt(math.pi)


def scipy_function(name: str) -> Any:
    """A function of `scipy.special` that is imported when first called."""

    def call(*arrays: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*arrays)

    return call


_xlogy, _erfcx = scipy_function("xlogy"), scipy_function("erfcx")
_scipy_erf = scipy_function("erf")


def erf_of(x: Any) -> Any:
    """The error function of any array."""
    if error_function.can_erf(x):
        return error_function.erf(x)
    if hasattr(x, "tape"):  # it is recorded by this name, so that SciPy need not be there
        return x.__array_function__(erf_of, (type(x),), (x,), {})
    return _scipy_erf(x)


# --- error functions -----------------------------------------------------------------------------

erf_op = unary(
    "erf",
    lambda x: erf_of(x),
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
erfinv_op: Op = unary(
    "erfinv",
    lambda x: np.copysign(scipy_function("erfinv")(x), x),  # keeps -0
    d=lambda x: np.exp(erfinv_op(x) ** 2) * (_ROOT_PI / 2),
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


def _ndtr(x: Any) -> Any:
    """PyTorch's formula and its roundings, also where 1 + erf has few digits left."""
    kind = x.dtype
    wide = np.astype(x, np.float32) if kind.itemsize == 2 else x
    steps: Any = (lambda v: v * math.sqrt(0.5), erf_of, lambda v: v + 1, lambda v: v * 0.5)
    for step in steps:
        wide = step(wide)
        if kind.itemsize == 2:  # each is an operation of its own in PyTorch
            wide = np.astype(np.astype(wide, kind), np.float32)
    return np.astype(wide, kind)


ndtr_op = unary(
    "special_ndtr",
    _ndtr,
    opmath=False,
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


def _beyond(x: Any, slope: Any) -> Any:
    """x + slope(x), which is all but nothing far below 0: there as the continued fraction
    √2 (1/2) / (u + (2/2) / (u + (3/2) / (u + …))) with u = -x / √2, where nothing cancels."""
    far = x < -3
    u = np.where(far, x, -3) * -math.sqrt(0.5)
    fraction = u * 0
    for k in range(60, 0, -1):
        fraction = k / 2 / (u + fraction)
    return np.where(far, fraction * math.sqrt(2), x + slope)


log_ndtr_slope_op = Op(
    "log_ndtr_slope",
    lambda x: math.sqrt(2 / math.pi) / _erfcx(x * -math.sqrt(0.5)),
    ("x",),
    vjp={"x": lambda g, x, out: -g * out * _beyond(x, out)},
    jvp={"x": lambda t, x, out: -t * out * _beyond(x, out)},
)
log_ndtr_op = unary(
    "special_log_ndtr",
    lambda x: scipy_function("log_ndtr")(x),
    d=lambda x: log_ndtr_slope_op(x),
    public="special.log_ndtr",
    namespace=SPECIAL,
    refuses=no_kernel("log_ndtr_cpu", "hc"),
    doc="The logarithm of `ndtr`.",
    samples=lambda: [*over(-2, 3)(), *over(-40, 12)(), Sample(T(5, low=-1e4, high=-1e3))],
)

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
            name, lambda x, y: forward(x, y), ("x", "y"), vjp=vjp, jvp=jvp,
            node=f"{prefix}Backward0", samples=pairs((0.3, 2), (0.3, 2)), **common,
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


_SINC_SLOPE = [(-1) ** n * 2 * n / math.factorial(2 * n + 1) for n in range(9, 0, -1)]


def _sinc_slope(x: Any) -> Any:
    # (sin πx / πx)' = (πx cos πx - sin πx) / πx². Below t = πx = 1 that cancels, down to no digit at 1e-8;
    # there it is π times the sum of (-1)ⁿ 2n t²ⁿ⁻¹ / (2n + 1)!.
    scaled = x * math.pi
    square = scaled * scaled
    series = _SINC_SLOPE[0]
    for coefficient in _SINC_SLOPE[1:]:
        series = series * square + coefficient
    near = np.abs(scaled) < 1
    apart = np.where(near, 1, scaled)  # what is not taken must not be infinite
    far = (apart * np.cos(apart) - np.sin(apart)) / (apart * apart)
    return math.pi * np.where(near, scaled * series, far)


sinc_op = unary(
    "sinc", _sinc, d=_sinc_slope, doc="`sin(πx) / (πx)`, which is 1 at 0.", samples=over(0.1, 2)
)


def _logit(x: Any, eps: float | None) -> Any:
    if eps is not None:
        x = np.where(x < eps, eps, np.where(x > 1 - eps, 1 - eps, x))
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
    return call_elementwise(logit_op, (input,), {"eps": as_number(eps)})


# --- names in torch.special ----------------------------------------------------------------------

for _name in ("erf", "erfc", "erfinv", "xlogy", "sinc", "logit"):
    SPECIAL[_name] = FUNCTIONS[_name]
COUNTERPARTS[np.sinc] = FUNCTIONS["sinc"]
CONTIGUOUS_OUT["ndtr"] = lambda result, input: True
