"""Rounding: functions whose gradient is zero wherever they have one."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..._autograd.lifted import COUNTERPARTS
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import call_elementwise, require_tensor, unary
from ..declare.public import SPECIAL, public
from ..declare.record import Op
from ..declare.samples import Sample, T, over
from ..declare.undefined_dtypes import no_kernel, refusal

ZERO: dict[str, Any] = {
    "vjp": lambda g: np.zeros_like(g),
    "jvp": lambda t: np.zeros_like(t),
    "promotion": "common",
}


def _not_complex(name: str) -> Any:
    sentence = f"{name} is not supported for complex inputs"
    return refusal(sentence, "c", NotImplementedError) | no_kernel(f"{name}_vml_cpu", "b")


def _whole(function: Any) -> Any:
    """Integers are whole already; NumPy would turn some of them into floats."""
    return lambda x: np.copy(x) if x.dtype.kind in "iu" else function(x)


floor_op = unary(
    "floor", _whole(np.floor), **ZERO, refuses=_not_complex("floor"),
    doc="The largest integer not above each element.", samples=over(-3.3, 3.4),
)  # fmt: skip
ceil_op = unary(
    "ceil", _whole(np.ceil), **ZERO, refuses=_not_complex("ceil"),
    doc="The smallest integer not below each element.", samples=over(-3.3, 3.4),
)  # fmt: skip
trunc_op = unary(
    "trunc", _whole(np.trunc), **ZERO, refuses=_not_complex("trunc"), aliases=("fix",),
    doc="Each element without its fraction.", samples=over(-3.3, 3.4),
)  # fmt: skip
round_op = Op(
    "round",
    _whole(np.rint),
    ("x",),
    vjp={"x": ZERO["vjp"]},
    jvp={"x": ZERO["jvp"]},
    promotion="common",
    refuses=no_kernel("round_vml_cpu", "bc"),
    samples=over(-3.3, 3.4),
)


def _round_decimals(x: Any, decimals: int) -> Any:
    scale = 10.0 ** abs(decimals) if abs(decimals) < 308 else math.inf
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


round_decimals_op = Op(
    "round_decimals",
    _round_decimals,
    ("x",),
    vjp={"x": ZERO["vjp"]},
    jvp={"x": ZERO["jvp"]},
    promotion="common",
    node="RoundBackward1",
    refuses=no_kernel("round_vml_cpu", "bic"),
    public="round",
    samples=lambda: [Sample(T(2, 3, low=-300.0, high=300.0), decimals=d) for d in (1, 3, -1, -2)],
)


@public(inplace=True)
def round(input: Any, *, decimals: int = 0) -> Tensor:
    """Each element to the nearest integer (or decimal), halves to the even one."""
    require_tensor("round", input)
    if decimals == 0:
        return call_elementwise(round_op, (input,), {})
    return call_elementwise(round_decimals_op, (input,), {"decimals": operator.index(decimals)})


def _special_round(input: Any, *, decimals: int = 0) -> Tensor:
    require_tensor("special_round", input)
    return call_elementwise(round_decimals_op, (input,), {"decimals": operator.index(decimals)})


_special_round.__name__, _special_round.__doc__ = "round", round.__doc__
public("round", namespace=SPECIAL, method=False)(_special_round)

frac_op = unary(
    "frac",
    lambda x: x - np.trunc(x),
    vjp=lambda g: g,
    jvp=lambda t: t,
    promotion="common",
    refuses=no_kernel("frac_cpu", "bic"),
    doc="The fraction that `trunc` drops.",
    samples=over(-3.3, 3.4),
)
sign_op = unary(
    "sign",
    # NaN has no sign: 0, as PyTorch gives.
    lambda x: (
        np.astype(x > 0, x.dtype) - np.astype(x < 0, x.dtype) if x.dtype.kind != "b" else np.copy(x)
    ),
    **ZERO,
    refuses=refusal(
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
        "instead.",
        "c",
        NotImplementedError,
    ),
    doc="-1, 0 or 1: the sign of each element.",
    samples=over(0.2, 3),
)

for ufunc, op in (
    (np.floor, floor_op),
    (np.ceil, ceil_op),
    (np.trunc, trunc_op),
    (np.rint, round_op),
):
    COUNTERPARTS[ufunc] = lambda x, op=op: call_elementwise(op, (x,), {})
