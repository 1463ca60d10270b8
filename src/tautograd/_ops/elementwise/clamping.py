"""Values kept within bounds: clamp, with numbers or tensors for bounds.

At a tie the gradient goes to the input. `masked` says which part of a gradient passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.blend import masked
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import call_elementwise, require_operand, require_tensor
from ..declare.promotion import common_dtype, require_fit
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T, pairs
from ..declare.undefined_dtypes import no_kernel, refusal

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
    require_fit((input, *given.values()), *given.values())
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
