"""Powers: a tensor or a number to the power of a tensor or a number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.dtypes import complex128, float64, scalar_dtype
from ..._arrays.limits import finfo, iinfo
from ..._autograd.apply import apply
from ..._autograd.lifted import COUNTERPARTS
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import (
    call_elementwise,
    conj,
    contiguous,
    operator,
    require_operand,
    require_tensor,
    updating,
)
from ..declare.promotion import common_dtype, number_as
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel
from .complex_products import product_of_c

_FLOAT32 = np.dtype(np.float32)


def _power(x: Any, y: Any) -> Any:
    """`x ** y`; an integer to a negative power is 0 unless it is 1 or -1."""
    if x.dtype.kind == "c" or y.dtype.kind == "c":
        return power_of_complex(x, y)
    if x.dtype.kind != "i":
        return np.power(x, y)
    odd = np.where(y % 2 == 0, 1, x)
    inverse = np.where((x == 1) | (x == -1), odd, np.zeros_like(x))
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0)))


def power_of_complex(x: Any, y: Any) -> Any:
    """`exp(y * log(x))`, as C's cpow has it: PyTorch knows no other way."""
    return np.exp(product_of_c(y, np.log(x)))


# What PyTorch computes without a power, and so rounds otherwise.
_SHORT: dict[Any, Any] = {
    2: lambda x: x * x,
    3: lambda x: x * x * x,
    -2: lambda x: 1 / (x * x),
    0.5: np.sqrt,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1: lambda x: 1 / x,
}


def _power_scalar(x: Any, exponent: Any) -> Any:
    short = _SHORT.get(exponent) if type(exponent) in (int, float) else _short(exponent)
    if short is not None and (x.dtype.kind != "i" or exponent > 0):
        return short(x)
    return np.power(x, exponent)


def _short(exponent: Any) -> Any:
    """The same, by comparisons."""
    return next((short for known, short in _SHORT.items() if exponent == known), None)


def _zero_where(condition: Any, value: Any) -> Any:
    return np.where(condition, 0, value)


def _slope(x: Any, exponent: Any) -> Any:
    """d(x ** exponent)/dx for a number as exponent: 0 everywhere for 0, even at x = 0."""
    if exponent == 2:
        return x + x
    return exponent * pow_scalar_op(x, exponent=exponent - 1)


pow_scalar_op = Op(
    "pow_scalar",
    _power_scalar,
    ("x",),
    vjp={
        "x": lambda g, x, exponent: (
            np.zeros_like(g) if exponent == 0 else g * conj(_slope(x, exponent))
        )
    },
    jvp={
        "x": lambda t, x, exponent: np.zeros_like(t) if exponent == 0 else t * _slope(x, exponent)
    },
    promotion="common",
    node="PowBackward0",
    public="pow",
    samples=lambda: [
        *(Sample(T(2, 3, low=0.3), e) for e in (0, 1, 2, 3, 2.5, -1, -2, 0.5, -0.5, -1.5)),
        Sample(T(low=0.3), 2),
        Sample(T(0, 2), 2),
        Sample(T(2, 3), 4),
        Sample(T(2, 3, low=0.3), 1.5 + 0.5j),
    ],
)


def _log(x: Any, out: Any) -> Any:
    """The logarithm of the base, which may be of a lesser kind than the exponent."""
    if out.dtype.kind == "c":
        return np.log(x + 0j if x.dtype.kind != "c" else x)  # a negative base has one, too
    return np.log(x * 1.0 if x.dtype.kind in "biu" else x)


def _at_zero(x: Any, y: Any) -> Any:
    """Where x ** y does not move with y: a base of 0 and an exponent that is not negative."""
    not_negative = (x == 0) & (np.real(y) >= 0)
    return not_negative & (np.imag(y) == 0) if y.dtype.kind == "c" else not_negative


pow_op = Op(
    "pow",
    _power,
    ("x", "y"),
    # d(x^y)/dx = y x^(y-1),  d(x^y)/dy = x^y log x
    vjp={
        "x": lambda g, x, y: _zero_where(y == 0, g * conj(y * np.power(x, y - 1))),
        "y": lambda g, x, y, out: g * _zero_where(_at_zero(x, y), conj(out * _log(x, out))),
    },
    jvp={
        "x": lambda t, x, y: _zero_where(y == 0, t * (y * np.power(x, y - 1))),
        "y": lambda t, x, y, out: t * _zero_where(_at_zero(x, y), out * _log(x, out)),
    },
    promotion="common",
    node="PowBackward1",
    refuses=no_kernel("pow", "b"),
    samples=lambda: [
        Sample(T(2, 3, low=0.3), T(2, 3, seed=1)),
        Sample(T(2, 1, low=0.3), T(3, seed=1)),
        Sample(T(low=0.3), T(2, 2, seed=1)),
        Sample(T(low=0.3), T(seed=1)),
        Sample(T(0, 2), T(2)),
    ],
)
pow_base_op = Op(
    "pow_base",
    lambda y, base: _power(base, y),
    ("y",),
    vjp={
        "y": lambda g, y, base, out: g * _zero_where(_at_zero(base, y), conj(out * _log(base, out)))
    },
    jvp={"y": lambda t, y, base, out: t * _zero_where(_at_zero(base, y), out * _log(base, out))},
    promotion="common",
    node="PowBackward2",
    public="pow",
    refuses=no_kernel("pow", "b"),
    samples=lambda: [
        *(Sample(base, T(2, 3)) for base in (2, 0.7, 1, 3)),
        Sample(2, T()),
        Sample(1.5, T(0, 2)),
    ],
)


_C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
}  # fmt: skip


def check_convertible(value: Any, kind: Any) -> None:
    """PyTorch's error for a number that the dtype it is converted to cannot hold."""
    if kind.name not in _C_NAMES or not math.isfinite(value):
        return
    limits = finfo(kind) if kind.is_floating_point else iinfo(kind)
    if not limits.min <= value <= limits.max:
        raise RuntimeError(
            f"value cannot be converted to type {_C_NAMES[kind.name]} without overflow"
        )


@public(inplace=True, number_first=True)
def pow(input: Any, exponent: Any) -> Tensor:
    """`input ** exponent`; one of the two may be a number."""
    if isinstance(input, Tensor):
        if isinstance(exponent, Tensor):
            return call_elementwise(pow_op, (input, exponent), {})
        require_operand("pow", exponent, "exponent", 2)
        if isinstance(exponent, int) and exponent >= 2**63 and input.dtype.category < 2:
            scalar_dtype(exponent)  # which has words for what is larger still
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        kind = common_dtype((input, exponent))
        if kind.category == 1 and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if kind.category == 0:  # True ** True, True ** False
            return input.clone() if exponent else input.logical_or(~input)
        check_convertible(exponent, kind)
        # A Python number, rounded to the dtype: it chooses the way to compute.
        rounded = number_as(exponent, kind.numpy, _FLOAT32 if kind.is_half else None).item()
        found: Tensor = apply(pow_scalar_op, (input,), {"exponent": rounded}, kind.numpy)
        return found
    require_operand("pow", input, "input", 1)
    require_tensor("pow", exponent, "exponent", 2)
    return contiguous(call_elementwise(pow_base_op, (exponent,), {}, numbers={"base": input}))


@public(inplace=True)
def square(input: Any) -> Tensor:
    """`input ** 2`."""
    require_tensor("square", input)
    return pow(input, 2)


def _float_power(input: Any, exponent: Any) -> Tensor:
    operands = (input, exponent)
    if not any(isinstance(x, Tensor) for x in operands):
        require_tensor("float_power", input)
    wide = complex128 if common_dtype(operands).is_complex else float64
    return pow(*(x.to(wide) if isinstance(x, Tensor) else x for x in operands))


def _wide_out(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """`out` has the dtype of the result, and no other."""
    given = [*args, *(v for k, v in kwargs.items() if k in ("input", "exponent"))]
    wide = complex128 if common_dtype(tuple(given)).is_complex else float64
    if isinstance(out, Tensor) and out.dtype is not wide:
        raise RuntimeError(
            f"the output given to float_power has dtype {_spoken(out.dtype)} but the operation's result "
            f"requires dtype {_spoken(wide)}"
        )
    return args


@public(out=_wide_out)
def float_power(input: Any, exponent: Any) -> Tensor:
    """`input ** exponent` in double precision."""
    return _float_power(input, exponent)


def _float_power_(self: Any, exponent: Any) -> Tensor:
    """In-place version of `float_power`, for tensors of double precision."""
    wide = complex128 if common_dtype((self, exponent)).is_complex else float64
    if self.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {_spoken(self.dtype)} but the operation's "
            f"result requires dtype {_spoken(wide)}"
        )
    return self.pow_(exponent)  # type: ignore[no-any-return]


def _spoken(kind: Any) -> str:
    from ..._arrays.dtypes import LEGACY_NAMES

    return LEGACY_NAMES[kind]


cls: Any = Tensor
cls.float_power_ = _float_power_
cls.__pow__ = operator(pow_op, pow)
cls.__rpow__ = operator(pow_op, pow, reflected=True)
cls.__ipow__ = updating(cls.pow_)
COUNTERPARTS[np.power] = pow
COUNTERPARTS[np.square] = square
