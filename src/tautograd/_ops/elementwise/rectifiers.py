"""Activation functions made of straight pieces; slopes at the kinks are PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.blend import blend, filled, masked
from ..._arrays.dtypes import LEGACY_NAMES, from_numpy_dtype
from ..._arrays.kernels import elementwise
from ..._arrays.limits import finfo
from ..._arrays.result_layout import as_iterated
from ..._autograd.modes import modes
from ..._autograd.views import check_writable
from ..._tensor.arguments import as_element
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import call_elementwise, contiguous, refuse, require_tensor, unary
from ..declare.promotion import plain_number, require_fit
from ..declare.public import FUNCTIONS, NN_FUNCTIONAL, public
from ..declare.record import Op
from ..declare.samples import Sample, T, over
from ..declare.undefined_dtypes import no_kernel, refusal
from .activations import NOT_FLOAT, activation, both_sides, slope_record, write_over


def _relu(x: Any) -> Any:
    found = elementwise("relu", x)
    return np.maximum(0, x) if found is None else found  # in this order -0 stays -0


def _through_relu(g: Any, out: Any) -> Any:
    found = elementwise("relu_gradient", g, out)
    return masked(g, ~(out <= 0)) if found is None else found


relu_op = unary(
    "relu",
    _relu,
    vjp=_through_relu,
    jvp=lambda t, out: masked(t, ~(out <= 0)),
    promotion="common",
    refuses=refusal("Boolean inputs not supported for relu", "b")
    | refusal("clamp is not supported for complex types", "c", NotImplementedError),
    doc="Each element, or 0 if it is negative.",
    samples=lambda: [*over(0.2, 2)(), *over(-2, -0.2)(), *over()()],
)


hardsigmoid_op = slope_record(
    "hardsigmoid",
    lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    lambda g, x: masked(g / 6, (x > -3) & (x < 3)),
    "hardsigmoid_cpu",
    both_sides(low=-5, high=5),
)
hardswish_op = slope_record(
    "hardswish",
    lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6,
    lambda g, x: masked(blend(x < 3, g * (x / 3 + 0.5), g), x > -3),
    "hardswish_cpu",
    both_sides(low=-5, high=5),
)
leaky_relu_op = slope_record(
    "leaky_relu",
    lambda x, negative_slope: blend(x > 0, x, x * negative_slope),
    lambda g, x, negative_slope: blend(x > 0, g, g * negative_slope),
    "leaky_relu_cpu",
    both_sides({"negative_slope": 0.3}),
)


def _outside(x: Any, lambd: float) -> Any:
    limit = np.full_like(x, float(lambd), shape=())  # rounded to the dtype before it is compared
    return ~((x >= -limit) & (x <= limit))


hardshrink_op = slope_record(
    "hardshrink",
    lambda x, lambd: masked(x, _outside(x, lambd)),
    lambda g, x, lambd: masked(g, _outside(x, lambd)),
    "hardshrink_cpu",
    both_sides({"lambd": 1.3}),
    public="hardshrink",
    opmath=False,
)
softshrink_op = slope_record(
    "softshrink",
    lambda x, lambd: blend(x > lambd, x - lambd, blend(x < -lambd, x + lambd, x * 0)),
    lambda g, x, lambd: masked(g, ~((x >= -lambd) & (x <= lambd))),
    "softshrink_check",
    both_sides({"lambd": 1.3}),
)
hardtanh_op = Op(
    "hardtanh",
    lambda x, min_val, max_val: np.minimum(max_val, np.maximum(min_val, x)),
    ("x",),
    vjp={"x": lambda g, x, min_val, max_val: masked(g, ~((x <= min_val) | (x >= max_val)))},
    jvp={"x": lambda t, x, min_val, max_val: masked(t, ~((x <= min_val) | (x >= max_val)))},
    promotion="common",
    public="nn.functional.hardtanh",
    refuses=refusal("Bool inputs not supported for hardtanh", "b")
    | refusal("clamp is not supported for complex types", "c", NotImplementedError),
    samples=both_sides({"min_val": -2, "max_val": 1}),
)


def _threshold(x: Any, threshold: Any, value: Any) -> Any:
    if x.dtype.kind in "iu":  # both are cast first, so that large elements stay what they are
        kind = from_numpy_dtype(x.dtype)
        threshold, value = as_element(threshold, kind), as_element(value, kind)
    return filled(x, x <= threshold, value)


threshold_op = Op(
    "threshold",
    _threshold,
    ("x",),
    vjp={"x": lambda g, x, threshold: masked(g, ~(x <= threshold))},
    jvp={"x": lambda t, x, threshold: masked(t, ~(x <= threshold))},
    promotion="common",
    refuses=no_kernel("threshold_cpu", "bc"),
    samples=lambda: [Sample(T(2, 3), 1, 2), Sample(T(), 0, -3), Sample(T(0, 2), 0, 1)],
)
prelu_op = Op(
    "prelu",
    lambda x, weight: blend(x > 0, x, weight * x),
    ("x", "weight"),
    layout=as_iterated,
    vjp={
        "x": lambda g, x, weight: blend(x > 0, g, weight * g),
        "weight": lambda g, x: masked(x * g, ~(x > 0)),
    },
    jvp={
        "x": lambda t, x, weight: blend(x > 0, t, weight * t),
        "weight": lambda t, x: masked(x * t, ~(x > 0)),
    },
    node="PreluKernelBackward0",
    refuses=no_kernel("prelu_cpu", NOT_FLOAT),
    samples=lambda: [
        Sample(T(2, 3), T(3, seed=1)),
        Sample(T(2, 3, 2), T(1, seed=1)),
        Sample(T(2, 3, 2), T(3, seed=1)),
        Sample(T(4), T(seed=1)),
        Sample(T(), T(seed=1)),
    ],
)
rrelu_op = Op(
    "rrelu",
    lambda x, noise: x * noise,
    ("x",),
    vjp={"x": lambda g, noise: g * noise},
    jvp={"x": lambda t, noise: t * noise},
    promotion="common",
    node="RreluWithNoiseBackward0",
    refuses=no_kernel("leaky_relu_cpu", NOT_FLOAT),
    samples=lambda: [Sample(T(2, 3)), Sample(T(2, 3), lower=0.1, upper=0.1), Sample(T(0, 2))],
)

# --- public functions ----------------------------------------------------------------------------

activation(hardsigmoid_op, "", "A straight line from 0 to 1 between -3 and 3.", "inplace")
activation(hardswish_op, "", "x times `hardsigmoid(x)`.", "inplace")
activation(
    leaky_relu_op, "negative_slope=0.01", "x, or a small multiple of it below 0.", "inplace twin"
)


def _fits(input: Tensor, parameters: dict[str, Any]) -> None:
    require_fit((input,), *parameters.values())


def _threshold_fits(input: Tensor, parameters: dict[str, Any]) -> None:
    require_fit((input,), parameters["threshold"], opmath=True)  # it is only compared with
    require_fit((input,), parameters["value"])


activation(hardshrink_op, "lambd=0.5", "x, or 0 within `lambd` of 0.", "torch method out", _fits)
activation(
    threshold_op, "threshold, value", "x, or `value` up to the threshold.", "torch inplace out twin",
    _threshold_fits,
)  # fmt: skip


def _softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by `lambd`, or 0 if it lies nearer."""
    require_tensor("softshrink", input)
    refuse(softshrink_op, input._data.dtype)
    lambd = plain_number(lambd)
    most = float(finfo(input.dtype).max) if input.dtype.is_floating_point else float("inf")
    if not 0 <= lambd <= most:
        raise RuntimeError(
            f"lambda must be in range [0, {most:g}] for input dtype {LEGACY_NAMES[input.dtype]}, "
            f"but found {lambd:g}"
        )
    return call_elementwise(softshrink_op, (input,), {"lambd": lambd})


public("softshrink", namespace=NN_FUNCTIONAL, method=False)(_softshrink)


def plain_hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x, or the bound it lies beyond, whichever of the bounds is the lower."""
    require_tensor("hardtanh", input)
    if not type(min_val) is type(max_val) is float:
        min_val, max_val = plain_number(min_val), plain_number(max_val)
    if input._data.dtype.kind == "u" and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if input._data.dtype.kind != "b":
        require_fit((input,), min_val, max_val)
    if input._data.dtype.kind in "iu":
        min_val, max_val = int(min_val), int(max_val)
    return call_elementwise(hardtanh_op, (input,), {"min_val": min_val, "max_val": max_val})


def _maybe_inplace(name: str, function: Any, input: Any, inplace: bool, *rest: Any) -> Tensor:
    if not inplace:
        return function(input, *rest)  # type: ignore[no-any-return]
    check_writable(input)
    return write_over(input, function(input, *rest), name)


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def hardtanh(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x, or the bound it lies beyond."""
    if min_val > max_val:  # in Python, in PyTorch too: `hardtanh_` does not ask
        raise ValueError("min_val cannot be greater than max_val")
    return _maybe_inplace("hardtanh", plain_hardtanh, input, inplace, min_val, max_val)


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place version of `hardtanh`."""
    return _maybe_inplace("hardtanh", plain_hardtanh, input, True, min_val, max_val)


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def relu6(input: Any, inplace: bool = False) -> Tensor:
    """x between 0 and 6, or the bound it lies beyond."""
    return hardtanh(input, 0.0, 6.0, inplace)


@public("relu", namespace=NN_FUNCTIONAL, method=False, out=False)
def _nn_relu(input: Any, inplace: bool = False) -> Tensor:
    """Each element, or 0 if it is negative."""
    return input.relu_() if inplace else FUNCTIONS["relu"](input)  # type: ignore[no-any-return]


@public(out=False)
def prelu(input: Any, weight: Any) -> Tensor:
    """x, or `weight * x` below 0; the weight is one number, or one per channel (dimension 1)."""
    require_tensor("prelu", input)
    require_tensor("prelu", weight, "weight", 2)
    ndim, count = input._data.ndim, weight._data.size
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {_spoken(input)} and {_spoken(weight)}"
        )
    if weight._data.ndim > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{weight._data.ndim}"
        )
    if count != 1:
        if ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input._data.shape[1] if ndim > 1 else 1
        if channels != count:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{count} and channel size = {channels}."
            )
    if weight._data.ndim or ndim:
        weight = weight.reshape([count if d == min(1, ndim - 1) else 1 for d in range(ndim)])
    return call_elementwise(prelu_op, (input, weight), {})


def _spoken(tensor: Tensor) -> str:
    names = {
        "float32": "float",
        "float64": "double",
        "float16": "c10::Half",
        "bfloat16": "c10::BFloat16",
    }
    return names.get(tensor.dtype.name, tensor.dtype.name)


NN_FUNCTIONAL["relu_"] = FUNCTIONS["relu_"]
NN_FUNCTIONAL["prelu"] = prelu


def _noise(input: Any, lower: float, upper: float, training: bool, generator: Any) -> Any:
    """The slope of each element: drawn for those not above 0, or the mean of the two bounds."""
    x = input._data
    with np.errstate(invalid="ignore"):  # NaN is neither
        above, chosen = x > 0, x <= 0
    if not training:
        return np.where(above, 1, (lower + upper) / 2)
    from ..._random import default_generator
    from ..._random.engine import unit_doubles

    draws = unit_doubles(generator or default_generator, int(np.count_nonzero(chosen)))
    noise = np.ones_like(x, dtype=np.float64)
    with np.errstate(all="ignore"):  # bounds may be infinite
        noise[chosen] = draws * (upper - lower) + lower
    return noise


def _rrelu(input: Any, lower: float, upper: float, training: bool, generator: Any = None) -> Tensor:
    require_tensor("rrelu", input)
    refuse(rrelu_op, input._data.dtype)
    for side, bound in (("lower", lower), ("upper", upper)):
        if not -math.inf < bound < math.inf:
            raise RuntimeError(f"rrelu: {side} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError(
            "Lower bound should be less than or equal to the upper bound, but got lower: "
            f"{lower:g} and upper: {upper:g}"
        )
    if modes.exporter is not None and not training:  # a graph has an operator for a fixed slope
        return NN_FUNCTIONAL["leaky_relu"](input, (lower + upper) / 2)  # type: ignore[no-any-return]
    noise = _noise(input, lower, upper, training, generator)
    wide = np.float64 if input._data.dtype == np.float64 else np.float32
    return contiguous(call_elementwise(rrelu_op, (input,), {"noise": np.astype(noise, wide)}))


def _rrelu_over(
    input: Any, lower: float, upper: float, training: bool, generator: Any = None
) -> Tensor:
    check_writable(input)
    result = _rrelu(input, lower, upper, training, generator)
    drawn = training and upper - lower > 1e-6  # each element knows its own slope
    return write_over(input, result, "rrelu", 0.0 if drawn else (lower + upper) / 2)


_THIRD, _EIGHTH = 1.0 / 3, 1.0 / 8


@public("rrelu", method=False, out=False)
def rrelu(
    input: Any,
    lower: float = _EIGHTH,
    upper: float = _THIRD,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """x, or a random multiple of it below 0 (outside training: the mean one)."""
    return _rrelu(input, lower, upper, training, generator)


@public("rrelu_", method=False, out=False)
def rrelu_(
    input: Any,
    lower: float = _EIGHTH,
    upper: float = _THIRD,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """In-place version of `rrelu`."""
    return _rrelu_over(input, lower, upper, training, generator)


@public("rrelu", namespace=NN_FUNCTIONAL, method=False, out=False)
def _nn_rrelu(
    input: Any,
    lower: float = _EIGHTH,
    upper: float = _THIRD,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """x, or a random multiple of it below 0 (outside training: the mean one)."""
    if inplace:
        return _rrelu_over(input, lower, upper, training)
    return _rrelu(input, lower, upper, training)


NN_FUNCTIONAL["rrelu_"] = rrelu_
