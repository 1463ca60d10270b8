"""Sums, differences, products and signs, and the operators that mean them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import scalar_dtype
from ..._arrays.result_layout import as_iterated
from ..._autograd.lifted import COUNTERPARTS
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import (
    call_elementwise,
    conj,
    operator,
    require_operand,
    require_tensor,
    unary,
    updating,
)
from ..declare.out_argument import CONTIGUOUS_OUT
from ..declare.promotion import (
    as_number,
    common_dtype,
    is_number,
    number_as,
    plain_number,
    require_fit,
)
from ..declare.public import FUNCTIONS, METHODS, attach, public
from ..declare.record import LINEAR, MULTILINEAR, Op
from ..declare.samples import Sample, T, over, pairs
from ..declare.undefined_dtypes import NO_NEGATION, no_kernel, refusal
from .complex import sgn_op

_BOOL = np.dtype(np.bool_)


def _with_number(*more: Sample) -> Any:
    return lambda: [*pairs()(), Sample(T(2, 3), 2), Sample(T(2, 3), 1.7), Sample(T(), 3), *more]


def plus_product(x: Any, y: Any, alpha: Any) -> Any:
    """`x + y * alpha`, where an overflow of the product alone does not matter.

    PyTorch fuses the two, so that the product is never rounded. Halves are far from overflow.
    """
    if x.dtype.kind not in "fc":
        return x + y * alpha
    try:
        with np.errstate(over="raise"):
            return x + y * alpha
    except FloatingPointError:
        near, half = x + y * alpha, x * 0.5 + y * (alpha * 0.5)
        return np.where(np.isfinite(near), near, half + half)


def is_complex(x: Any) -> bool:
    """Whether an operand is complex: PyTorch then multiplies by alpha even if that is 1.

    So does this module, since it shows: infinity times (1 + 0i) has NaN in it.
    """
    if isinstance(x, Tensor):
        return bool(x._data.dtype.kind == "c")
    return isinstance(x, complex)


add_op = Op(
    "add",
    np.add,
    ("x", "y"),
    vjp={"x": lambda g: g, "y": lambda g: g},
    jvp=LINEAR,
    promotion="common",
    samples=_with_number(),
)
# alpha is a parameter of one operation, not a product recorded beside it.
add_scaled_op = Op(
    "add_scaled",
    lambda x, y, alpha: plus_product(x, y, alpha),
    ("x", "y"),
    vjp={"x": lambda g: g, "y": lambda g, alpha: g * conj(alpha)},
    jvp=LINEAR,
    promotion="common",
    node="AddBackward0",
    public="add",
    samples=lambda: [
        Sample(T(2, 3), T(3), alpha=2),
        Sample(T(2, 3), 3, alpha=-2),
        Sample(T(0, 2), T(2), alpha=3),
        Sample(T(), T(), alpha=3),
    ],
)
sub_op = Op(
    "sub",
    np.subtract,
    ("x", "y"),
    vjp={"x": lambda g: g, "y": lambda g: -g},
    jvp=LINEAR,
    promotion="common",
    samples=_with_number(),
)
sub_scaled_op = Op(
    "sub_scaled",
    lambda x, y, alpha: plus_product(x, y, -alpha),
    ("x", "y"),
    vjp={"x": lambda g: g, "y": lambda g, alpha: -g * conj(alpha)},
    jvp=LINEAR,
    promotion="common",
    node="SubBackward0",
    public="sub",
    samples=lambda: [Sample(T(2, 3), T(3), alpha=2), Sample(T(2, 3), 3, alpha=-2)],
)
rsub_op = Op(
    "rsub",
    lambda x, y, alpha: y - x * alpha,
    ("x", "y"),
    vjp={"x": lambda g, alpha: -g * conj(alpha), "y": lambda g: g},
    jvp=LINEAR,
    promotion="common",
    samples=lambda: [*pairs()(), Sample(T(2, 3), T(3), alpha=3)],
)
rsub_scalar_op = Op(
    "rsub_scalar",
    lambda x, y, alpha: y - x * alpha,
    ("x",),
    vjp={"x": lambda g, alpha: -g * conj(alpha)},
    jvp={"x": lambda t, alpha: -t * alpha},
    promotion="common",
    node="RsubBackward1",
    public="rsub",
    samples=lambda: [Sample(T(2, 3), 3), Sample(T(), 1.5), Sample(T(0, 2), 1, alpha=2)],
)
mul_op = Op(
    "mul",
    np.multiply,
    ("x", "y"),
    vjp={"x": lambda g, y: g * conj(y), "y": lambda g, x: g * conj(x)},
    jvp=MULTILINEAR,
    promotion="common",
    exact_second=True,
    samples=_with_number(),
)


def check_alpha(alpha: Any, operands: tuple[Any, ...], minus: bool = False) -> Any:
    """PyTorch's rules for the factor of the second operand; its value in their dtype.

    `minus`: the operand is subtracted, which is to add it times -alpha.
    """
    found = common_dtype(operands)
    if isinstance(alpha, (bool, np.bool_)) and found.numpy != _BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if not (found.is_floating_point or found.is_complex) and not isinstance(
        alpha, (int, np.integer)
    ):
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if not found.is_complex and isinstance(alpha, (complex, np.complexfloating)):
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    require_fit(operands, -alpha if minus else alpha)
    return number_as(alpha, found.numpy)


def check_subtraction(*operands: Any) -> None:
    """Booleans have no minus."""
    for x in operands:
        if not isinstance(x, Tensor):
            scalar_dtype(as_number(x))  # which has words for integers that are too large
    count = sum(
        x._data.dtype == _BOOL if isinstance(x, Tensor) else isinstance(x, bool) for x in operands
    )
    if count == len(operands):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if count:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def deprecated_order(name: str, alpha: Any, others: tuple[Any, ...]) -> Any:
    """(other, alpha) of `add(x, alpha, other)`, which PyTorch still takes."""
    if len(others) > 1 or not is_number(alpha):
        raise TypeError(f"{name}() takes 2 positional arguments but {len(others) + 2} were given")
    both = not isinstance(alpha, Tensor) and isinstance(others[0], Tensor)
    if both and is_number(others[0]):  # (other, alpha), two numbers
        return plain_number(alpha), plain_number(others[0])
    return others[0], plain_number(alpha)


@public(inplace=add_op)
def add(input: Any, other: Any, *others: Any, alpha: Any = 1) -> Tensor:
    """`input + alpha * other`."""
    if others:
        other, alpha = deprecated_order("add", other, others)
    require_operand("add", input, "input", 1)
    require_operand("add", other, "other", 2)
    if type(alpha) is int and alpha == 1 and not (is_complex(input) or is_complex(other)):
        return call_elementwise(add_op, (input, other), {})
    alpha = check_alpha(alpha, (input, other))
    return call_elementwise(add_scaled_op, (input, other), {"alpha": alpha})


@public(inplace=sub_op, aliases=("subtract",))
def sub(input: Any, other: Any, *others: Any, alpha: Any = 1) -> Tensor:
    """`input - alpha * other`."""
    if others:
        other, alpha = deprecated_order("sub", other, others)
    require_operand("sub", input, "input", 1)
    require_operand("sub", other, "other", 2)
    check_subtraction(input, other)
    if type(alpha) is int and alpha == 1 and not (is_complex(input) or is_complex(other)):
        return call_elementwise(sub_op, (input, other), {})
    alpha = check_alpha(alpha, (input, other), minus=True)
    return call_elementwise(sub_scaled_op, (input, other), {"alpha": alpha})


@public(method=False)
def rsub(input: Any, other: Any, *factor: Any, alpha: Any = 1) -> Tensor:
    """`other - alpha * input`."""
    require_tensor("rsub", input)
    if factor:  # alpha needs no name behind a number
        if not is_number(other) or len(factor) > 1:
            raise TypeError(f"rsub() takes 2 positional arguments but {len(factor) + 2} were given")
        other, alpha = plain_number(other), plain_number(factor[0])
    require_operand("rsub", other, "other", 2)
    check_subtraction(input, other)
    if type(alpha) is not int or alpha != 1:
        alpha = check_alpha(alpha, (input, other), minus=True)
    if isinstance(other, Tensor):
        result = call_elementwise(rsub_op, (input, other), {"alpha": alpha})
        result._data = as_iterated(result._data, (other._data, input._data))
        return result
    return call_elementwise(rsub_scalar_op, (input,), {"alpha": alpha}, numbers={"y": other})


@public(inplace=mul_op, aliases=("multiply",))
def mul(input: Any, other: Any) -> Tensor:
    """`input * other`, element by element."""
    require_operand("mul", input, "input", 1)
    require_operand("mul", other, "other", 2)
    return call_elementwise(mul_op, (input, other), {})


neg_op = unary(
    "neg",
    np.negative,
    vjp=lambda g: -g,
    jvp=lambda t: -t,
    promotion="common",
    aliases=("negative",),
    refuses=refusal(NO_NEGATION, "b"),
    doc="Minus each element.",
    samples=over(),
)
abs_op = unary(
    "abs",
    np.absolute,
    vjp=lambda g, x: g * sgn_op(x),
    jvp=lambda t, x: np.real(conj(t) * sgn_op(x)),
    promotion="common",
    aliases=("absolute",),
    refuses=no_kernel("abs_cpu", "b"),
    doc="The absolute value.",
    samples=lambda: [*over(0.2, 2)(), *over(-2, -0.2)()],
)


def _abs_(input: Any) -> Tensor:
    """In-place version of `abs`."""
    if is_complex(input):
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return _plain_abs_(input)  # type: ignore[no-any-return]


_plain_abs_ = METHODS["abs_"]
_abs_.__name__ = "abs_"
for _name in ("abs_", "absolute_"):
    attach(_name, _abs_)
FUNCTIONS["abs_"] = _abs_


@public(out=False)
def positive(input: Any) -> Tensor:
    """The tensor itself."""
    require_tensor("positive", input)
    if input._data.dtype == _BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input  # type: ignore[no-any-return]


COUNTERPARTS[np.add] = add
COUNTERPARTS[np.subtract] = sub
COUNTERPARTS[np.multiply] = mul
COUNTERPARTS[np.positive] = positive

cls: Any = Tensor
cls.__add__ = cls.__radd__ = operator(add_op, add)
cls.__sub__ = operator(sub_op, sub)
cls.__rsub__ = operator(rsub_op, rsub)
cls.__mul__ = cls.__rmul__ = operator(mul_op, mul)
for _name in ("add", "sub", "mul"):
    setattr(cls, f"__i{_name}__", updating(METHODS[_name + "_"]))
cls.__neg__, cls.__pos__, cls.__abs__ = cls.neg, cls.positive, cls.abs
CONTIGUOUS_OUT["abs"] = CONTIGUOUS_OUT["absolute"] = lambda result, input: is_complex(input)
