"""Choosing between values: where, clamp, maximum, minimum, and replacing NaN.

At a tie PyTorch's maximum and minimum send half of the gradient each way; clamp sends it to the
input. `masked` says which part of a gradient passes.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .._arrays.blend import blend, masked
from .._arrays.dtypes import COMPLEX, LEGACY_NAMES
from .._arrays.result_layout import as_iterated
from .._autograd.apply import apply
from .._autograd.lifted import COUNTERPARTS, counterpart
from .._autograd.modes import modes
from .._tensor.tensor import Tensor
from .elementwise import (
    binary,
    call_elementwise,
    check_broadcast,
    no_derivative,
    refuse,
    require_operand,
    require_tensor,
)
from .promotion import common_dtype, compute_dtype, number_as
from .public import FUNCTIONS, METHODS, attach, inplace_twin, public, write_out
from .record import Op
from .refusals import no_kernel, refusal
from .rule_calls import Rule
from .samples import Sample, T, pairs

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


cls: Any = Tensor
cls.where = _where_method
COUNTERPARTS[np.where] = choose

# --- the larger and the smaller ------------------------------------------------------------------


def _declare_choice(name: str, forward: Any, larger: bool) -> Op:
    def half(g: Any, x: Any, y: Any) -> Any:
        return np.where(x == y, g / 2, g)

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

# --- clamp ---------------------------------------------------------------------------------------

_NOT_COMPLEX = refusal("clamp is not supported for complex types", "c", NotImplementedError)


def _clamp(x: Any, lo: Any, hi: Any) -> Any:
    # The input comes second: at a tie (of zeros) it is what stays.
    if lo is not None:
        x = np.maximum(lo, x)
    return x if hi is None else np.minimum(hi, x)


def _inside(x: Any, lo: Any, hi: Any) -> Any:
    if lo is None:
        return x <= hi
    return x >= lo if hi is None else (x >= lo) & (x <= hi)


def _below(x: Any, lo: Any, hi: Any) -> Any:
    """Where the lower bound is what comes out."""
    return x < lo if hi is None else (x < lo) & (lo < hi)


def _above(x: Any, lo: Any, hi: Any) -> Any:
    """Where the upper bound is what comes out; it wins if the bounds cross."""
    return x > hi if lo is None else (x > hi) | (hi < lo)


def _number_clamp(name: str, node: str, public_name: str, samples: Any) -> Op:
    return Op(
        name,
        lambda x, lo, hi: _clamp(x, lo, hi),
        ("x",),
        vjp={"x": lambda g, x, lo, hi: masked(g, _inside(x, lo, hi))},
        jvp={"x": lambda t, x, lo, hi: masked(t, _inside(x, lo, hi))},
        promotion="common",
        node=node,
        public=public_name,
        refuses=_NOT_COMPLEX,
        samples=samples,
    )


def _bounded(*bounds: Any, **named: Any) -> list[Sample]:
    shapes: list[tuple[int, ...]] = [(2, 3), (), (0, 2)]
    return [Sample(T(*s, low=-3, high=3), *bounds, **named) for s in shapes]


clamp_op = _number_clamp(
    "clamp",
    "ClampBackward1",
    "clamp",
    lambda: [
        *_bounded(-1, 2),
        *_bounded(-0.7, 1.3),
        *_bounded(min=0),
        *_bounded(max=0.5),
        *_bounded(2, -1),
    ],
)
clamp_min_op = _number_clamp(
    "clamp_min", "ClampMinBackward0", "clamp_min", lambda: [*_bounded(0), *_bounded(0.5)]
)
clamp_max_op = _number_clamp(
    "clamp_max", "ClampMaxBackward0", "clamp_max", lambda: [*_bounded(0), *_bounded(0.5)]
)

clamp_tensor_op = Op(
    "clamp_tensor",
    _clamp,
    ("x", "lo", "hi"),
    vjp={
        "x": lambda g, x, lo, hi: masked(g, _inside(x, lo, hi)),
        "lo": lambda g, x, lo, hi: masked(g, _below(x, lo, hi)),
        "hi": lambda g, x, lo, hi: masked(g, _above(x, lo, hi)),
    },
    jvp={
        "x": lambda t, x, lo, hi: masked(t, _inside(x, lo, hi)),
        "lo": lambda t, x, lo, hi: masked(t, _below(x, lo, hi)),
        "hi": lambda t, x, lo, hi: masked(t, _above(x, lo, hi)),
    },
    promotion="common",
    node="ClampBackward0",
    public="clamp",
    refuses=_NOT_COMPLEX,
    samples=lambda: [
        Sample(T(2, 3, low=-3, high=3), T(3, low=-2, high=0), T(2, 3, low=0, high=2, seed=1)),
        Sample(T(2, 3, low=-3, high=3), T(2, 3, seed=1), T(2, 3, seed=2)),
        Sample(T(2, 3, low=-3, high=3), min=T(seed=1)),
        Sample(T(2, 3, low=-3, high=3), max=T(3, seed=1)),
        Sample(T(), T(seed=1), T(seed=2)),
    ],
)


def _bound_by_tensor(name: str, node: str, forward: Any, kernel: str, larger: bool) -> Op:
    def keeps(x: Any, y: Any) -> Any:
        return x >= y if larger else x <= y

    def yields(x: Any, y: Any) -> Any:
        return x < y if larger else x > y

    return Op(
        name,
        forward,
        ("x", "y"),
        vjp={
            "x": lambda g, x, y: masked(g, keeps(x, y)),
            "y": lambda g, x, y: masked(g, yields(x, y)),
        },
        jvp={
            "x": lambda t, x, y: masked(t, keeps(x, y)),
            "y": lambda t, x, y: masked(t, yields(x, y)),
        },
        promotion="common",
        node=node,
        public=name.removesuffix("_tensor"),
        refuses=no_kernel(kernel, "c"),
        samples=pairs(),
    )


clamp_min_tensor_op = _bound_by_tensor(
    "clamp_min_tensor", "ClampMinBackward1", lambda x, y: np.maximum(x, y), "maximum_cpu", True
)
clamp_max_tensor_op = _bound_by_tensor(
    "clamp_max_tensor", "ClampMaxBackward1", lambda x, y: np.minimum(x, y), "minimum_cpu", False
)


def _clamp_numbers(op: Op, input: Any, lo: Any, hi: Any) -> Tensor:
    bounds = {"lo": lo, "hi": hi}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    return call_elementwise(op, (input,), dict.fromkeys(bounds), numbers=given)


@public(inplace=True, aliases=("clip",))
def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Each element, or the bound it lies beyond; bounds are numbers or tensors."""
    require_tensor("clamp", input)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    tensors = [isinstance(bound, Tensor) for bound in (min, max) if bound is not None]
    if not all(tensors):
        for position, (name, bound) in enumerate((("min", min), ("max", max)), 2):
            if any(tensors) or bound is not None:
                require_operand("clamp", bound, name, position)
        if any(tensors):
            raise TypeError(
                "clamp() received an invalid combination of arguments - got "
                f"({', '.join(type(v).__name__ for v in (input, min, max))}), "
                "but expected one of:\n"
                " * (Tensor input, Tensor min = None, Tensor max = None)\n"
                " * (Tensor input, Number min = None, Number max = None)"
            )
        return _clamp_numbers(clamp_op, input, min, max)
    if len(tensors) == 2:
        _refuse_booleans("clamp_cpu", input, min, max)
    return call_elementwise(clamp_tensor_op, (input, min, max), {})


def _refuse_booleans(kernel: str, *operands: Any) -> None:
    if common_dtype(operands).name == "bool":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


@public(inplace=True)
def clamp_min(input: Any, min: Any) -> Tensor:
    """Each element, or `min` if that is larger."""
    require_tensor("clamp_min", input)
    require_operand("clamp_min", min, "min", 2)
    if isinstance(min, Tensor):
        return call_elementwise(clamp_min_tensor_op, (input, min), {})
    _refuse_booleans("clamp_min_scalar_cpu", input, min)
    return _clamp_numbers(clamp_min_op, input, min, None)


@public(inplace=True)
def clamp_max(input: Any, max: Any) -> Tensor:
    """Each element, or `max` if that is smaller."""
    require_tensor("clamp_max", input)
    require_operand("clamp_max", max, "max", 2)
    if isinstance(max, Tensor):
        return call_elementwise(clamp_max_tensor_op, (input, max), {})
    _refuse_booleans("clamp_max_scalar_cpu", input, max)
    return _clamp_numbers(clamp_max_op, input, None, max)


@counterpart(np.clip)
def _clip_on_tensors(x: Any, a_min: Any = None, a_max: Any = None) -> Tensor:
    return clamp(x, a_min, a_max)


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
    if input.dtype.category == COMPLEX and input.requires_grad and modes.grad:
        raise RuntimeError(
            "nan_to_num does not support automatic differentiation for outputs with complex dtype."
        )
    return _nan_to_num(input, nan, posinf, neginf)


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
    numbers = {name: number_as(value, kind.to_real().numpy) for name, value in values.items()}
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
