"""Division: exact, rounded down or towards zero, and what remains."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.checks import require_nonzero
from ..._autograd.lifted import COUNTERPARTS
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import (
    call_elementwise,
    conj,
    no_derivative,
    operator,
    require_operand,
    updating,
)
from ..declare.promotion import common_dtype, number_as
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T, pairs
from ..declare.subclasses import GENERAL
from ..declare.undefined_dtypes import no_kernel
from .arithmetic import mul


def _with_number() -> list[Sample]:
    return [
        *pairs((-3, 3), (0.4, 3))(),
        Sample(T(2, 3), 2),
        Sample(T(2, 3), -1.7),
        Sample(T(), 3),
    ]


def _rounded() -> list[Sample]:
    return [Sample(*s.args, rounding_mode=m) for s in _with_number() for m in ("floor", "trunc")]


div_op = Op(
    "div",
    np.true_divide,
    ("x", "y"),
    vjp={"x": lambda g, y: g / conj(y), "y": lambda g, x, y: -g * conj((x / y) / y)},
    jvp={"x": lambda t, y: t / y, "y": lambda t, x, y: -t * ((x / y) / y)},
    promotion="float",
    exact_second=True,
    samples=_with_number,
)


def _truncated(x: Any, y: Any) -> Any:
    """The quotient rounded towards zero."""
    if x.dtype.kind not in "iu":
        return np.trunc(x / y)
    down = np.floor_divide(x, y)
    up = (down * y != x) & ((x < 0) != (y < 0))
    return down + np.astype(up, x.dtype)


def _divide_rounded(x: Any, y: Any, rounding_mode: str) -> Any:
    return np.floor_divide(x, y) if rounding_mode == "floor" else _truncated(x, y)


div_rounded_op = Op(
    "div_rounded",
    _divide_rounded,
    ("x", "y"),
    vjp={"x": lambda g: np.zeros_like(g), "y": lambda g: np.zeros_like(g)},
    jvp={"x": lambda t: np.zeros_like(t), "y": lambda t: np.zeros_like(t)},
    promotion="common",
    exact_second=True,
    node="DivBackward2",
    public="div",
    samples=_rounded,
)
# PyTorch records this one as a node that refuses to be differentiated.
floor_divide_op = Op(
    "floor_divide",
    np.floor_divide,
    ("x", "y"),
    **no_derivative("floor_divide", "x", "y"),
    promotion="common",
    exact_second=True,
    node="torch::autograd::NotImplemented",
    refuses=no_kernel("div_floor_cpu", "bc"),
    samples=_with_number,
)


def _fmod(x: Any, y: Any) -> Any:
    return np.fmod(x, y)


def _remainder(x: Any, y: Any) -> Any:
    """What is left of x after floor division by y: it has the sign of y."""
    if x.dtype.kind in "iu":
        return np.remainder(x, y)
    left = np.fmod(x, y)
    return np.where((left != 0) & ((y < 0) != (left < 0)), left + y, left)


# x mod y = x - y * round(x / y): slopes 1 and -round(x / y)
_SLOPES: dict[str, Any] = {
    "fmod": lambda x, y: div_rounded_op(x, y, rounding_mode="trunc"),
    "remainder": lambda x, y: div_rounded_op(x, y, rounding_mode="floor"),
}


def _declare_remainder(name: str, forward: Any, kernel: str) -> tuple[Op, Op]:
    slope = _SLOPES[name]
    camel = name.capitalize()
    refuses = no_kernel(kernel, "bc")
    tensors = Op(
        name,
        forward,
        ("x", "y"),
        vjp={"x": lambda g: g, "y": lambda g, x, y: -g * slope(x, y)},
        jvp={"x": lambda t: t, "y": lambda t, x, y: -t * slope(x, y)},
        promotion="common",
        node=f"{camel}Backward1",
        refuses=refuses,
        samples=pairs((-3, 3), (0.4, 3)),
    )
    scalar = Op(
        f"{name}_scalar",
        forward,
        ("x",),
        vjp={"x": lambda g: g},
        jvp={"x": lambda t: t},
        promotion="common",
        node=f"{camel}Backward0",
        refuses=refuses,
        public=name,
        samples=lambda: [Sample(T(2, 3), 2), Sample(T(), -1.7), Sample(T(0, 2), 1.5)],
    )
    return tensors, scalar


fmod_op, fmod_scalar_op = _declare_remainder("fmod", _fmod, "fmod_cpu")
remainder_op, remainder_scalar_op = _declare_remainder("remainder", _remainder, "remainder_cpu")
remainder_of_number_op = Op(
    "remainder_of_number",
    lambda y, x: _remainder(x, y),
    ("y",),
    **no_derivative("remainder", "y"),
    promotion="common",
    node="torch::autograd::NotImplemented",
    refuses=no_kernel("remainder_cpu", "bc"),
    public="remainder",
    samples=lambda: [Sample(5, T(2, 3, low=0.4, high=3))],
)


def check_divisor(input: Any, other: Any) -> None:
    """Integers have no quotient by zero; PyTorch's error says so in one word."""
    if common_dtype((input, other)).numpy.kind not in "iu":
        return
    if isinstance(input, Tensor) and not input._data.size:
        return  # nothing is divided
    if isinstance(other, Tensor):
        require_nonzero(other._data, lambda _: RuntimeError("ZeroDivisionError"))
    elif not number_as(other, common_dtype((input, other)).numpy):
        raise RuntimeError("ZeroDivisionError")


@public(inplace=div_op, aliases=("divide",))
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`input / other`, or rounded: "floor" (down) or "trunc" (towards zero)."""
    require_operand("div", input, "input", 1)
    require_operand("div", other, "other", 2)
    if rounding_mode is None:
        return call_elementwise(div_op, (input, other), {})
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    kind = common_dtype((input, other))
    if kind.category in (0, 3):
        from ..._arrays.dtypes import LEGACY_NAMES

        raise NotImplementedError(
            f"\"div_{rounding_mode}_cpu\" not implemented for '{LEGACY_NAMES[kind]}'"
        )
    check_divisor(input, other)
    parameters = {"rounding_mode": rounding_mode}
    return call_elementwise(div_rounded_op, (input, other), parameters)


@public(inplace=True)
def true_divide(input: Any, other: Any) -> Tensor:
    """`input / other`."""
    return div(input, other)


@public(inplace=True)
def floor_divide(input: Any, other: Any) -> Tensor:
    """`input // other`: the quotient rounded down."""
    require_operand("floor_divide", input, "input", 1)
    require_operand("floor_divide", other, "other", 2)
    check_divisor(input, other)
    return call_elementwise(floor_divide_op, (input, other), {})


@public(inplace=True)
def fmod(input: Any, other: Any) -> Tensor:
    """What division leaves when the quotient is rounded towards zero."""
    return _remains("fmod", fmod_op, fmod_scalar_op, input, other)


@public(inplace=True, number_first=True)
def remainder(input: Any, other: Any) -> Tensor:
    """`input % other`: what division leaves when the quotient is rounded down."""
    if not isinstance(input, Tensor) and isinstance(other, Tensor):
        check_divisor(input, other)
        return call_elementwise(remainder_of_number_op, (other,), {}, numbers={"x": input})
    return _remains("remainder", remainder_op, remainder_scalar_op, input, other)


def _remains(name: str, tensors: Op, scalar: Op, input: Any, other: Any) -> Tensor:
    from ..declare.elementwise_calls import require_tensor

    require_tensor(name, input)
    require_operand(name, other, "other", 2)
    check_divisor(input, other)
    if isinstance(other, Tensor):
        return call_elementwise(tensors, (input, other), {})
    return call_elementwise(scalar, (input,), {}, numbers={"y": other})


def _divided_into(self: Any, other: Any) -> Tensor:
    """`other / self`, as PyTorch computes it."""
    return mul(self.reciprocal(), other)


def _divided_into_any(self: Any, other: Any) -> Any:
    """`other / self`; an array of NumPy is left to the product."""
    if isinstance(other, np.ndarray):
        return self.reciprocal() * other
    return _divided_by_operator(self, other)


COUNTERPARTS[np.true_divide] = div
COUNTERPARTS[np.floor_divide] = lambda x, y: div(x, y, rounding_mode="floor")
COUNTERPARTS[np.remainder] = remainder
COUNTERPARTS[np.fmod] = fmod

cls: Any = Tensor
cls.__truediv__ = cls.__div__ = operator(div_op, div)
_divided_by_operator = operator(div_op, _divided_into)
cls.__rtruediv__ = cls.__rdiv__ = _divided_into_any
GENERAL["__rtruediv__"] = _divided_by_operator
cls.__floordiv__ = operator(floor_divide_op, floor_divide)
cls.__rfloordiv__ = operator(floor_divide_op, floor_divide, reflected=True)
cls.__mod__ = operator(remainder_op, remainder)
cls.__rmod__ = operator(remainder_op, remainder, reflected=True)
cls.__itruediv__ = cls.__idiv__ = updating(cls.div_)
cls.__ifloordiv__, cls.__imod__ = updating(cls.floor_divide_), updating(cls.remainder_)
