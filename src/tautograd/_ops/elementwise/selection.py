"""Choosing between values: where, maximum, minimum, and replacing NaN.

At a tie PyTorch's maximum and minimum send half of the gradient each way. `masked` says which part
of a gradient passes.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..._arrays.blend import blend, masked
from ..._arrays.dtypes import COMPLEX, HALF_CODES, LEGACY_NAMES
from ..._arrays.result_layout import as_iterated
from ..._autograd.apply import apply
from ..._autograd.lifted import COUNTERPARTS
from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import (
    binary,
    call_elementwise,
    check_broadcast,
    no_derivative,
    refuse,
    require_operand,
    require_tensor,
)
from ..declare.in_place_twins import inplace_twin
from ..declare.out_argument import write_out
from ..declare.promotion import common_dtype, compute_dtype, is_number, number_as, require_fit
from ..declare.public import FUNCTIONS, METHODS, attach, public
from ..declare.record import Op
from ..declare.rule_calls import Rule
from ..declare.samples import Sample, T, pairs
from ..declare.undefined_dtypes import refusal
from ..declare.wrong_argument import WrongArgument

# --- where ---------------------------------------------------------------------------------------

where_op = Op(
    "where",
    lambda condition, x, y: blend(condition, x, y),
    ("condition", "x", "y"),
    layout=as_iterated,
    vjp={
        "x": lambda g, condition: masked(g, condition),
        "y": lambda g, condition: np.where(condition, 0, g),
    },
    jvp={
        "x": lambda t, condition: masked(t, condition),
        "y": lambda t, condition: np.where(condition, 0, t),
    },
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3, dtype="bool"), T(2, 3), T(2, 3, seed=1)),
        Sample(T(2, 1, dtype="bool"), T(3), T(seed=1)),
        Sample(T(dtype="bool"), T(), T(seed=1)),
        Sample(T(0, 2, dtype="bool"), T(2), T(0, 2, seed=1)),
        Sample(T(2, 3, dtype="bool"), T(2, 3), 1.5),
        Sample(T(2, 3, dtype="bool"), 1, T(2, 3)),
    ],
)


@public(method=False)
def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """`input` where the condition holds, `other` elsewhere; alone, where the condition holds."""
    require_tensor("where", condition, "condition")
    if out is not None:
        require_tensor("where", input, "input", 2)
        require_tensor("where", other, "other", 3)
        return write_out(where, (condition, input, other), {}, out)
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    require_operand("where", input, "input", 2)
    require_operand("where", other, "other", 3)
    if condition.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{LEGACY_NAMES[condition.dtype]}"
        )
    return choose(condition, input, other)


def choose(condition: Any, x: Any, y: Any) -> Tensor:
    compute = compute_dtype((x, y), "common")
    if compute.char not in HALF_CODES:  # in which a number that is too large is infinite
        require_fit((x, y), *(v for v in (x, y) if not isinstance(v, Tensor)))
    x, y = (v if isinstance(v, Tensor) else number_as(v, compute) for v in (x, y))
    if all(v._data.dtype == compute if isinstance(v, Tensor) else True for v in (x, y)):
        compute = None
    shapes = [v._data.shape for v in (condition, x, y) if isinstance(v, Tensor)]
    try:
        found: Tensor = apply(where_op, (condition, x, y), {}, compute)
    except ValueError:
        check_broadcast(*shapes, shapes[0])
        raise
    return found


def _where_method(self: Any, condition: Any, other: Any) -> Any:
    """This tensor where the condition holds, `other` elsewhere."""
    return where(condition, self, other)


attach("where", _where_method)
COUNTERPARTS[np.where] = choose

# --- the larger and the smaller ------------------------------------------------------------------


def _declare_choice(name: str, forward: Any, larger: bool) -> Op:
    def half(g: Any, x: Any, y: Any) -> Any:
        return blend(x == y, g / 2, g)

    lost_x: Rule
    lost_y: Rule
    if larger:
        lost_x, lost_y = (lambda x, y: x < y), (lambda x, y: x > y)
    else:
        lost_x, lost_y = (lambda x, y: x > y), (lambda x, y: x < y)
    return binary(
        name,
        forward,
        vjp={
            "x": lambda g, x, y: masked(half(g, x, y), ~lost_x(x, y)),
            "y": lambda g, x, y: masked(half(g, x, y), ~lost_y(x, y)),
        },
        jvp={
            "x": lambda t, x, y: masked(half(t, x, y), ~lost_x(x, y)),
            "y": lambda t, x, y: masked(half(t, x, y), ~lost_y(x, y)),
        },
        inplace=False,
        refuses=refusal(f"{name} not implemented for complex tensors.", "c"),
        doc=f"The {'larger' if larger else 'smaller'} of two elements; NaN if either is NaN.",
        samples=pairs(),
    )


maximum_op = _declare_choice("maximum", np.maximum, larger=True)
minimum_op = _declare_choice("minimum", np.minimum, larger=False)


def _declare_numeric_choice(name: str, ufunc: Any, larger: bool) -> Op:
    def first_wins(x: Any, y: Any) -> Any:
        return (x >= y if larger else x <= y) | np.isnan(y)

    def forward(x: Any, y: Any) -> Any:
        # Of two zeros PyTorch gives the first (in bfloat16 the second), the ufunc either.
        return blend(first_wins(x, y), x, y) if x.dtype.kind == "f" else ufunc(x, y)

    return binary(
        name,
        forward,
        vjp={
            "x": lambda g, x, y: masked(g, first_wins(x, y)),
            "y": lambda g, x, y: masked(g, ~first_wins(x, y)),
        },
        jvp={
            "x": lambda t, x, y: masked(t, first_wins(x, y)),
            "y": lambda t, x, y: masked(t, ~first_wins(x, y)),
        },
        inplace=False,
        opmath=False,
        refuses=refusal(f"{name} not implemented for complex tensors.", "c"),
        doc=f"The {'larger' if larger else 'smaller'} of two elements; NaN only if both are NaN.",
        samples=pairs(),
    )


fmax_op = _declare_numeric_choice("fmax", np.fmax, larger=True)
fmin_op = _declare_numeric_choice("fmin", np.fmin, larger=False)

# --- NaN and steps -------------------------------------------------------------------------------


def _replace_strange(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if x.dtype.kind in "biu":
        return np.copy(x)
    if x.dtype.kind == "c":
        out = np.copy(x)
        np.copyto(np.real(out), _replace_strange(np.real(x), nan, posinf, neginf))
        np.copyto(np.imag(out), _replace_strange(np.imag(x), nan, posinf, neginf))
        return out
    infinite = np.isinf(x)
    out = np.where(np.isnan(x), nan, np.where(infinite & (x > 0), posinf, x))
    return np.where(infinite & (x < 0), neginf, out)


nan_to_num_op = Op(
    "nan_to_num",
    _replace_strange,
    ("x",),
    vjp={"x": lambda g, x: g * np.isfinite(x)},
    jvp={"x": lambda t, x: t * np.isfinite(x)},
    promotion="common",
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3)),
        Sample(T()),
        Sample(T(0, 2)),
        Sample(T(8, 8, kind="extremes", grad=False), nan=1.5, posinf=2.0, neginf=-3.0),
    ],
)


@public()
def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and infinities replaced by numbers: 0 and the largest ones, unless told otherwise."""
    require_tensor("nan_to_num", input)
    for name, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if value is not None and not is_number(value):
            raise WrongArgument(f"nan_to_num(): argument '{name}' must be float")
    if input.dtype.category == COMPLEX and input.requires_grad and modes.grad:
        raise RuntimeError(
            "nan_to_num does not support automatic differentiation for outputs with complex dtype."
        )
    return _nan_to_num(input, nan, posinf, neginf)


def _in_range(value: Any, kind: Any) -> Any:
    """A number rounded to a dtype; what is beyond its range is infinite, and no warning."""
    if type(value) is int:
        value = float(value)
    if type(value) is float and kind.itemsize < 8 and abs(value) > 65504:
        with np.errstate(over="ignore"):
            return number_as(value, kind)
    return number_as(value, kind)


def _nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    kind = input.dtype
    if kind.category < 2:
        return call_elementwise(nan_to_num_op, (input,), dict.fromkeys(("nan", "posinf", "neginf")))
    limits = ml_dtypes.finfo(kind.to_real().numpy)  # type: ignore[no-untyped-call]
    values = {
        "nan": 0.0 if nan is None else nan,
        "posinf": limits.max if posinf is None else posinf,
        "neginf": limits.min if neginf is None else neginf,
    }
    numbers = {name: _in_range(value, kind.to_real().numpy) for name, value in values.items()}
    return call_elementwise(nan_to_num_op, (input,), numbers)


heaviside_op = Op(
    "heaviside",
    lambda x, values: np.where(x == 0, values, np.astype(x > 0, values.dtype)),
    ("x", "values"),
    **no_derivative("heaviside", "x", "values"),
    promotion="common",
    opmath=False,
    node="torch::autograd::NotImplemented",
    refuses=refusal("heaviside is not yet implemented for complex tensors.", "c"),
    samples=lambda: [
        Sample(T(2, 3), T(2, 3)),
        Sample(T(4, 3, kind="ties"), T(3)),
        Sample(T(), T()),
    ],
)


@public(inplace=True)
def heaviside(input: Any, values: Any) -> Tensor:
    """0 for negative elements, 1 for positive ones, `values` at 0."""
    require_tensor("heaviside", input)
    require_tensor("heaviside", values, "values", 2)
    refuse(heaviside_op, common_dtype((input, values)).numpy)
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return call_elementwise(heaviside_op, (input, values), {})


attach("nan_to_num_", inplace_twin("nan_to_num", _nan_to_num))
FUNCTIONS["nan_to_num_"] = METHODS["nan_to_num_"]
COUNTERPARTS[np.nan_to_num] = nan_to_num
