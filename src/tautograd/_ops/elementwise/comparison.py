"""Comparisons, logic and questions about numbers: boolean results, no gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import COMPLEX, FLOAT, LEGACY_NAMES
from ..._autograd.apply import apply
from ..._autograd.lifted import COUNTERPARTS, counterpart
from ..._autograd.views import check_writable
from ..._tensor.creation import from_numpy
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import (
    binary,
    call_elementwise,
    operator,
    require_operand,
    require_tensor,
    unary,
)
from ..declare.guarding import explain, marked, no_method
from ..declare.in_place_twins import inplace_twin, write_into
from ..declare.public import FUNCTIONS, attach, public
from ..declare.record import Op
from ..declare.samples import Sample, T, over, pairs
from ..declare.undefined_dtypes import no_kernel, refusal

# name, ufunc, PyTorch's other name, what it asks, kernel that refuses complex numbers
_COMPARISONS = (
    ("eq", np.equal, (), "Whether elements are equal.", None),
    ("ne", np.not_equal, ("not_equal",), "Whether elements differ.", None),
    ("lt", np.less, ("less",), "Whether input is less than other.", "lt_cpu"),
    ("le", np.less_equal, ("less_equal",), "Whether input is at most other.", "le_cpu"),
    ("gt", np.greater, ("greater",), "Whether input is greater than other.", "gt_cpu"),
    ("ge", np.greater_equal, ("greater_equal",), "Whether input is at least other.", "ge_cpu"),
)


def _compared() -> list[Sample]:
    return [*pairs()(), Sample(T(2, 3, kind="ties"), 1), Sample(T(2, 3, kind="ties"), 0.5)]


comparison_ops = {
    name: binary(
        name,
        ufunc,
        doc=doc,
        aliases=aliases,
        numbers="y",
        opmath=False,
        refuses=None if kernel is None else no_kernel(kernel, "c"),
        samples=_compared,
    )
    for name, ufunc, aliases, doc, kernel in _COMPARISONS
}

# --- written in place, an answer has a node: its gradient is zero ---------------------------------

_NO_SLOPE: dict[str, Any] = {
    "x": lambda g: np.zeros_like(g),
    "y": lambda g: np.zeros_like(g),
}
_NO_TANGENT: dict[str, Any] = {
    "x": lambda t: np.zeros_like(t),
    "y": lambda t: np.zeros_like(t),
}


def _answer(x: Any, y: Any, answer: Any) -> Any:
    return np.astype(answer, x.dtype)


def _declare_twin(name: str) -> None:
    camel = name.capitalize()
    method = f"Tensor.{name}_"
    common: dict[str, Any] = {"opmath": False, "public": method}
    tensors = Op(
        f"{name}_", _answer, ("x", "y"), vjp=_NO_SLOPE, jvp=_NO_TANGENT, node=f"{camel}Backward1",
        samples=lambda: [Sample(T(2, 3), T(2, 3)), Sample(T(2, 3), T(3))], **common,
    )  # fmt: skip
    number = Op(
        f"{name}_scalar_", lambda x, answer: np.astype(answer, x.dtype), ("x",),
        vjp={"x": _NO_SLOPE["x"]}, jvp={"x": _NO_TANGENT["x"]}, node=f"{camel}Backward0",
        samples=lambda: [Sample(T(2, 3, kind="ties"), 1), Sample(T(), 0.5)], **common,
    )  # fmt: skip

    def compared(self: Any, other: Any) -> Any:
        require_operand(name, other, "other", 2)
        found = {"answer": call_elementwise(comparison_ops[name], (self, other), {})._data}
        if isinstance(other, Tensor):
            return apply(tensors, (self, other), found)
        return apply(number, (self,), found)

    for label in (name, *(_ALIASES[name])):
        attach(label + "_", inplace_twin(label, compared))


_ALIASES = {name: aliases for name, _, aliases, _, _ in _COMPARISONS}
for _name in comparison_ops:
    _declare_twin(_name)


def _logical_twin(name: str) -> None:
    """In place, the answer takes the tensor's memory and leaves its history as it was."""
    function = FUNCTIONS[name]

    def twin(self: Any, *other: Any) -> Tensor:
        if not isinstance(self, Tensor):
            raise no_method(name + "_", (self,))
        if self._is_inference:  # autograd does not follow it, so a leaf may be changed as well
            check_writable(self, *other)
        return write_into(self, function(self, *other), name, history=False)

    twin.__name__ = twin.__qualname__ = name + "_"
    twin.__doc__ = f"In-place version of `{name}`."
    attach(name + "_", twin)


for _name, _ufunc, _doc in (
    ("logical_and", np.logical_and, "Whether both are true (not zero)."),
    ("logical_or", np.logical_or, "Whether either is true (not zero)."),
    ("logical_xor", np.logical_xor, "Whether exactly one is true (not zero)."),
):
    binary(_name, _ufunc, doc=_doc, opmath=False, samples=pairs())
unary(
    "logical_not",
    np.logical_not,
    promotion="common",
    opmath=False,
    doc="Whether each element is false (zero).",
    samples=over(),
)

for _name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
    _logical_twin(_name)

# --- questions about one number ------------------------------------------------------------------

_QUESTION: dict[str, Any] = {
    "promotion": "common",
    "opmath": False,
    "inplace": False,
    "samples": lambda: [*over()(), Sample(T(8, 8, kind="extremes"))],
}


def _isinf_with(sign: int) -> Any:
    def ask(x: Any) -> Any:
        if x.dtype.kind in "biu":
            return np.zeros_like(x, dtype=bool)
        return np.isinf(x) & (x > 0 if sign > 0 else x < 0)

    return ask


def _signbit(x: Any) -> Any:
    return x < 0 if x.dtype.kind in "biu" else np.signbit(x)


unary("isnan", np.isnan, **_QUESTION, doc="Whether each element is NaN.")
unary("isinf", np.isinf, **_QUESTION, doc="Whether each element is infinite.")
unary("isfinite", np.isfinite, **_QUESTION, doc="Whether each element is neither infinite nor NaN.")
unary("isreal", lambda x: np.imag(x) == 0, **_QUESTION, doc="Whether the imaginary part is 0.")
unary(
    "isposinf", _isinf_with(1), **_QUESTION, doc="Whether each element is plus infinity.",
    refuses=refusal("isposinf does not support complex inputs.", "c"),
)  # fmt: skip
unary(
    "isneginf", _isinf_with(-1), **_QUESTION, doc="Whether each element is minus infinity.",
    refuses=refusal("isneginf does not support complex inputs.", "c"),
)  # fmt: skip
unary(
    "signbit", _signbit, **_QUESTION, doc="Whether the sign bit is set (-0.0 included).",
    refuses=refusal("signbit is not implemented for complex tensors.", "c", NotImplementedError),
)  # fmt: skip

# --- questions about whole tensors ---------------------------------------------------------------


def _is_close(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = x == y
    if equal_nan:
        close = close | (np.isnan(x) & np.isnan(y))
    if rtol == 0 and atol == 0:
        return close
    distance = np.abs(x - y)
    return close | (np.isfinite(distance) & (distance <= atol + np.abs(rtol * y)))


isclose_op = Op(
    "isclose",
    _is_close,
    ("x", "y"),
    promotion="float",
    samples=lambda: [
        *pairs()(),
        Sample(T(4, 3, kind="ties"), T(4, 3, kind="ties"), rtol=0, atol=0),
        Sample(T(4, 3, kind="ties"), T(4, 3, kind="ties"), rtol=0.1, atol=0.5),
        Sample(T(8, 8, kind="extremes"), T(8, 8, kind="extremes"), equal_nan=True),
    ],
)


@public(out=False)
def isclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether `|input - other| <= atol + rtol * |other|`, element by element."""
    require_tensor("isclose", input)
    require_tensor("isclose", other, "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{LEGACY_NAMES[input.dtype]} did not match {LEGACY_NAMES[other.dtype]}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    parameters = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    return call_elementwise(isclose_op, (input, other), parameters)


@public(out=False)
def allclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds for every element."""
    return bool(np.all(isclose(input, other, rtol, atol, equal_nan)._data))


@public(out=False)
def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and elements."""
    require_tensor("equal", input)
    require_tensor("equal", other, "other", 2)
    if input._data.shape != other._data.shape:
        return False
    return bool(np.all(call_elementwise(comparison_ops["eq"], (input, other), {})._data))


@public(out=False)
@marked
def is_complex(input: Any) -> bool:
    """Whether the dtype is complex."""
    try:
        require_tensor("is_complex", input)
        return bool(input.dtype.category == COMPLEX)
    except Exception as error:
        explain(error, "is_complex", (input,), {}, method=True)
        raise


@public(out=False)
@marked
def is_floating_point(input: Any) -> bool:
    """Whether the dtype is a floating-point one."""
    try:
        require_tensor("is_floating_point", input)
        return bool(input.dtype.category == FLOAT)
    except Exception as error:
        explain(error, "is_floating_point", (input,), {}, method=True)
        raise


@public(out=False)
def is_signed(input: Any) -> bool:
    """Whether the dtype can hold negative numbers."""
    require_tensor("is_signed", input)
    return bool(input.dtype.is_signed)


@public(out=False)
def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape."""
    return bool(input._data.shape == other._data.shape)


@counterpart(np.isclose)
def _isclose_on_tensors(x: Any, y: Any, rtol: float = 1e-05, atol: float = 1e-08) -> Any:
    return call_elementwise(isclose_op, (x, y), {"rtol": rtol, "atol": atol, "equal_nan": False})


COUNTERPARTS[np.signbit] = lambda x: x.signbit()

cls: Any = Tensor
for _name, _op in comparison_ops.items():
    setattr(cls, f"__{_name}__", operator(_op, getattr(Tensor, _name)))
_equal = Tensor.__eq__


def _equal_to_any(self: Any, other: Any) -> Any:
    """Whether elements are equal; an array of NumPy counts as a tensor here."""
    return _equal(self, from_numpy(other) if isinstance(other, np.ndarray) else other)


cls.__eq__ = _equal_to_any
