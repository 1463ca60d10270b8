"""Bessel functions and their relatives, in `torch.special` (and `i0` in `torch`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..declare.elementwise_calls import unary
from ..declare.public import FUNCTIONS, SPECIAL
from ..declare.record import Op
from ..declare.samples import over
from ..declare.undefined_dtypes import no_kernel
from .complex import sgn_op
from .special_functions import scipy_function


def _epsilon(x: Any) -> float:
    return float(np.finfo(x.dtype if x.dtype.kind == "f" else np.float32).eps)


def _i1_slope(x: Any, out: Any) -> Any:
    # I1' = I0 - I1/x, which tends to 1/2 at 0
    tiny = np.abs(x) <= _epsilon(x)
    return np.where(tiny, 0.5, i0_op(x) - out / np.where(tiny, 1, x))


def _i1e_slope(x: Any, out: Any) -> Any:
    tiny = np.abs(x) <= _epsilon(x)
    return np.where(tiny, 0.5, i0e_op(x) - out * (sgn_op(x) + 1 / np.where(tiny, 1, x)))


i0_op = unary(
    "i0",
    lambda x: scipy_function("i0")(x),
    d=lambda x: i1_op(x),
    refuses=no_kernel("i0_vml_cpu", "c"),
    doc="The modified Bessel function of the first kind, of order 0.",
    samples=over(),
)


def _modified(name: str, d: Any, doc: str, node: str | None = None) -> Op:
    """A modified Bessel function that only `torch.special` has."""
    return unary(
        f"special_{name}",
        lambda x: scipy_function(name)(x),
        d=d,
        node=node,
        public=f"special.{name}",
        namespace=SPECIAL,
        refuses=no_kernel(f"{name}_cpu", "c"),
        doc=doc,
        samples=over(0.2, 3),
    )


i0e_op = _modified(
    "i0e",
    lambda x, out: i1e_op(x) - sgn_op(x) * out,
    "`i0` scaled by `exp(-|x|)`.",
    "SpecialI0EBackward0",
)
i1_op: Op = _modified(
    "i1", _i1_slope, "The modified Bessel function of the first kind, of order 1."
)
i1e_op: Op = _modified("i1e", _i1e_slope, "`i1` scaled by `exp(-|x|)`.", "SpecialI1EBackward0")
SPECIAL["i0"] = FUNCTIONS["i0"]

# PyTorch gives these no gradient. Name, SciPy's function, docstring.
_PLAIN = (
    ("bessel_j0", "j0", "The Bessel function of the first kind, of order 0."),
    ("bessel_j1", "j1", "The Bessel function of the first kind, of order 1."),
    ("bessel_y0", "y0", "The Bessel function of the second kind, of order 0."),
    ("bessel_y1", "y1", "The Bessel function of the second kind, of order 1."),
    ("modified_bessel_i0", "i0", "The modified Bessel function of the first kind, of order 0."),
    ("modified_bessel_i1", "i1", "The modified Bessel function of the first kind, of order 1."),
    ("modified_bessel_k0", "k0", "The modified Bessel function of the second kind, of order 0."),
    ("modified_bessel_k1", "k1", "The modified Bessel function of the second kind, of order 1."),
    ("scaled_modified_bessel_k0", "k0e", "`modified_bessel_k0` scaled by `exp(x)`."),
    ("scaled_modified_bessel_k1", "k1e", "`modified_bessel_k1` scaled by `exp(x)`."),
)
for _name, _scipy, _doc in _PLAIN:
    unary(
        f"special_{_name}",
        scipy_function(_scipy),
        public=f"special.{_name}",
        namespace=SPECIAL,
        refuses=no_kernel(f"{_name}_cpu", "hc"),
        doc=_doc,
        samples=over(0.2, 4),
    )


def _spherical_j0(x: Any) -> Any:
    # sin(x)/x, with the series 1 - x²/6 + … where the quotient loses digits
    near = np.abs(x) < 0.5
    square = x * x
    series = 1 - square / 6 * (
        1 - square / 20 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110)))
    )
    quotient = np.sin(x) / np.where(near, 1, x)
    return np.where(near, series, np.where(np.isinf(x), 0, quotient))


unary(
    "special_spherical_bessel_j0",
    _spherical_j0,
    public="special.spherical_bessel_j0",
    namespace=SPECIAL,
    refuses=no_kernel("spherical_bessel_j0_cpu", "hc"),
    doc="The spherical Bessel function of the first kind, of order 0.",
    samples=over(-4, 4),
)


def _airy(x: Any) -> Any:
    """SciPy's, up to where it gives up: to the right all is 0 by then, to the left a wave."""
    far = np.maximum(-x, 1)
    phase = 2 * far * np.sqrt(far) / 3 + math.pi / 4
    wave = (np.sin(phase) - np.cos(phase) * (5 / 48 / (far * np.sqrt(far)))) / (
        math.sqrt(math.pi) * np.sqrt(np.sqrt(far))
    )
    near = scipy_function("airy")(np.minimum(np.maximum(x, -1e6), 1000))[0]
    found = np.where((x > 1000) & (x < np.inf), 0, np.astype(near, x.dtype))
    return np.where(x < -1e6, wave, np.where(x == np.inf, np.nan, found))


unary(
    "special_airy_ai",
    _airy,
    public="special.airy_ai",
    namespace=SPECIAL,
    refuses=no_kernel("airy_ai_cpu", "hc"),
    doc="The Airy function Ai.",
    samples=over(-3, 3),
)
