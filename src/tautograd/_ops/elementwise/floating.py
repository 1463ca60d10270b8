"""The make-up of numbers: sign, neighbour, mantissa and exponent, common divisors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.dtypes import HALVES
from ..._arrays.formats import dense
from ..._arrays.result_layout import as_first, as_iterated, each
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import (
    binary,
    call_elementwise,
    conj,
    require_operand,
    require_tensor,
)
from ..declare.out_rules import cpp_name
from ..declare.public import public
from ..declare.record import Op
from ..declare.return_types import RETURN_TYPES
from ..declare.samples import Sample, T, pairs
from ..declare.undefined_dtypes import no_kernel
from .exponential import exp2_op
from .powers import power_of_complex


def _same_sign(g: Any, x: Any, out: Any) -> Any:
    # |x| with another sign: the slope is out / x, which is 1 or -1, and 0 where x is 0
    return g * np.where(x == 0, 0, out / x)


copysign_op = Op(
    "copysign",
    np.copysign,
    ("x", "y"),
    vjp={"x": lambda g, x, out: _same_sign(g, x, out), "y": lambda g: np.zeros_like(g)},
    jvp={"x": lambda t, x, out: _same_sign(t, x, out), "y": lambda t: np.zeros_like(t)},
    promotion="float",
    refuses=no_kernel("copysign_cpu", "c"),
    samples=pairs((0.2, 2), (0.2, 2)),
)
copysign_scalar_op = Op(
    "copysign_scalar",
    lambda x, y: np.copysign(x, y),
    ("x",),
    vjp={"x": lambda g, x, out: _same_sign(g, x, out)},
    jvp={"x": lambda t, x, out: _same_sign(t, x, out)},
    promotion="float",
    node="CopysignBackward1",
    public="copysign",
    refuses=no_kernel("copysign_cpu", "c"),
    samples=lambda: [Sample(T(2, 3, low=0.2), -2), Sample(T(low=0.2), 1.5), Sample(T(0, 2), -1.0)],
)


@public(inplace=True)
def copysign(input: Any, other: Any) -> Tensor:
    """The size of `input` with the sign of `other`."""
    require_tensor("copysign", input)
    require_operand("copysign", other, "other", 2)
    if isinstance(other, Tensor):
        return call_elementwise(copysign_op, (input, other), {})
    return call_elementwise(copysign_scalar_op, (input,), {}, numbers={"y": other})


nextafter_op = binary(
    "nextafter",
    lambda x, y: np.where(x == y, y, np.nextafter(x, y)),  # of two zeros: the second
    vjp={
        "x": lambda g, x, y: np.where(x == y, 0, g),
        "y": lambda g: np.zeros_like(g),
    },
    jvp={
        "x": lambda t, x, y: np.where(x == y, 0, t),
        "y": lambda t: np.zeros_like(t),
    },
    opmath=False,
    refuses=no_kernel("nextafter_cpu", "bic"),
    doc="The next number after `input` on the way to `other`.",
    samples=pairs((-2, -0.2), (0.2, 2)),
)


def _times_power(x: Any, y: Any, kind: Any) -> Any:
    """x times 2**y, the power rounded to the dtype that y had (`kind`), if that is one for it."""
    if y.dtype.kind == "c":
        exponent = y if kind is None else np.astype(y, kind)
        return x * np.astype(power_of_complex(np.asarray(2, exponent.dtype), exponent), y.dtype)
    if kind is None:
        return x * np.exp2(y)
    power = np.astype(np.exp2(np.astype(y, np.float64)), kind)
    if kind == np.float32 and x.dtype in HALVES:  # an integer's power, which is rounded but once
        return np.astype(np.astype(x, kind) * power, x.dtype)
    return x * np.astype(power, y.dtype)


def _layout(out: Any, operands: Any) -> Any:
    """A product's. PyTorch writes the power of 2 in C order beside integers, and beside single
    precision unless the exponent is an integer."""
    x, y = operands
    whole = x.dtype.kind in "iub"
    if whole or (x.dtype.char == "f" and y.dtype.kind not in "iub"):
        y = dense(y)
    return as_iterated(out, (x, y))


ldexp_op = Op(
    "ldexp",
    _times_power,
    ("x", "y"),
    layout=_layout,
    vjp={
        "x": lambda g, y: g * conj(exp2_op(y)),
        "y": lambda g, out: g * conj(out * math.log(2)),
    },
    jvp={"x": lambda t, y: t * exp2_op(y), "y": lambda t, out: t * out * math.log(2)},
    promotion="float",
    opmath=False,  # PyTorch rounds the power, too
    samples=lambda: [*pairs()(), Sample(T(2, 3), T(2, 3, low=-3, high=3, dtype="int64"))],
)


@public(inplace=True)
def ldexp(input: Any, other: Any) -> Tensor:
    """`input * 2**other`."""
    require_tensor("ldexp", input)
    require_tensor("ldexp", other, "other", 2)
    if other.dtype.name == "bool" and input.dtype.is_floating_point:
        raise NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")
    kind: np.dtype[Any] | None = None
    if other.dtype.is_half and input.dtype.is_complex:
        kind = np.dtype(np.complex64) if other._data.ndim else None
    elif input.dtype.is_half and other.dtype.category < 2:
        kind = np.dtype(np.float32)
    elif other.dtype.category > 1 and (other._data.ndim > 0 or input.dtype.name == "float32"):
        kind = other._data.dtype
    return call_elementwise(ldexp_op, (input, other), {"kind": kind})


frexp_op = Op(
    "frexp",
    lambda x: np.frexp(x),
    ("x",),
    layout=each(as_first),
    vjp={"x": lambda g, out1: g / exp2_op(out1)},
    jvp={"x": lambda t, out1: (t / exp2_op(out1), None)},
    outputs=2,
    differentiable_outputs=(0,),
    samples=lambda: [Sample(T(2, 3)), Sample(T()), Sample(T(0, 2))],
)


def _mantissa_and_exponent(name: str, args: Any, kwargs: Any, out: Any) -> Any:
    """Mantissas go into the input's dtype, exponents into int32."""
    if isinstance(out, (tuple, list)) and len(out) == 2:
        input = args[0] if args else kwargs["input"]
        if out[0].dtype is not input.dtype:
            raise RuntimeError(
                f"torch.frexp() expects mantissa to have dtype {cpp_name(input.dtype)} but got "
                f"{cpp_name(out[0].dtype)}"
            )
        if out[1]._data.dtype != np.int32:
            raise RuntimeError(
                f"torch.frexp() expects exponent to have int dtype but got {cpp_name(out[1].dtype)}"
            )
    return args


@public(out=_mantissa_and_exponent)
def frexp(input: Any) -> Any:
    """Mantissa (between 1/2 and 1) and exponent: `input = mantissa * 2**exponent`."""
    require_tensor("frexp", input)
    if not input.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return RETURN_TYPES["frexp"](apply(frexp_op, (input,)))


def _least_common(x: Any, y: Any) -> Any:
    """Integers narrower than C's int are computed as int, and wrap at the end."""
    if x.dtype.itemsize >= 4:
        return np.absolute(np.lcm(x, y))
    wide = np.lcm(np.astype(x, np.int32), np.astype(y, np.int32))
    return np.astype(np.absolute(wide), x.dtype)


for _name, _ufunc, _doc in (
    ("gcd", np.gcd, "The greatest common divisor."),
    ("lcm", _least_common, "The least common multiple."),
):
    binary(
        _name,
        _ufunc,
        refuses=no_kernel(f"{_name}_cpu", "bhfc"),
        doc=_doc,
        samples=pairs((-12, 12), (-12, 12)),
    )
