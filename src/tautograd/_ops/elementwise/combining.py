"""Two or three tensors combined: interpolation and products or quotients that are added."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from ..declare.elementwise_calls import call_elementwise, conj, require_operand, require_tensor
from ..declare.promotion import as_number, common_dtype, number_as, require_fit
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel


def _lerp(x: Any, y: Any, weight: Any) -> Any:
    """From the nearer end, so that both ends come out exactly."""
    near = np.abs(weight) < 0.5
    return np.where(near, x + weight * (y - x), y - (y - x) * (1 - weight))


def _lerp_by_number(x: Any, y: Any, weight: Any) -> Any:
    if abs(weight) >= 0.5:
        return y - (y - x) * (1 - weight)
    try:
        with np.errstate(under="raise"):
            return x + weight * (y - x)
    except FloatingPointError:
        # PyTorch fuses product and sum: one that is too small for a number still has a sign.
        near, enlarged = x + weight * (y - x), x * 2.0**60 + weight * ((y - x) * 2.0**60)
        return np.where((near == 0) & (enlarged != 0), np.copysign(near, enlarged), near)


_LERP_VJP: dict[str, Any] = {
    "x": lambda g, weight: g * conj(1 - weight),
    "y": lambda g, weight: g * conj(weight),
}
_LERP_JVP: dict[str, Any] = {
    "x": lambda t, weight: t * (1 - weight),
    "y": lambda t, weight: t * weight,
}
lerp_op = Op(
    "lerp",
    _lerp,
    ("x", "y", "weight"),
    vjp={**_LERP_VJP, "weight": lambda g, x, y: g * conj(y - x)},
    jvp={**_LERP_JVP, "weight": lambda t, x, y: t * (y - x)},
    promotion="common",
    node="LerpBackward1",
    refuses=no_kernel("lerp_kernel_tensor", "bi"),
    samples=lambda: [
        Sample(T(2, 3), T(2, 3, seed=1), T(2, 3, seed=2)),
        Sample(T(2, 1), T(3, seed=1), T(seed=2)),
        Sample(T(), T(seed=1), T(seed=2)),
        Sample(T(0, 2), T(2), T(2)),
    ],
)
lerp_scalar_op = Op(
    "lerp_scalar",
    _lerp_by_number,
    ("x", "y"),
    vjp=_LERP_VJP,
    jvp=_LERP_JVP,
    promotion="common",
    node="LerpBackward0",
    public="lerp",
    refuses=no_kernel("lerp_kernel_scalar", "bi"),
    samples=lambda: [
        Sample(T(2, 3), T(2, 3, seed=1), 0.3),
        Sample(T(2, 1), T(3, seed=1), 0.8),
        Sample(T(), T(seed=1), -1.5),
        Sample(T(0, 2), T(2), 2),
    ],
)


@public(inplace=True)
def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """`input + weight * (end - input)`."""
    require_tensor("lerp", input)
    require_tensor("lerp", end, "end", 2)
    require_operand("lerp", weight, "weight", 3)
    one_number = isinstance(weight, Tensor) and not weight._data.ndim
    if one_number and weight.dtype is not input.dtype and end.dtype is input.dtype:
        kind = common_dtype((input, end, weight))
        input, end, weight = input.to(kind), end.to(kind), weight.to(kind)
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and value.dtype is not input.dtype:
            raise RuntimeError(
                f"expected dtype {_spoken(input)} for `{name}` but got dtype {_spoken(value)}"
            )
    if isinstance(weight, Tensor):
        return call_elementwise(lerp_op, (input, end, weight), {})
    return call_elementwise(lerp_scalar_op, (input, end), {"weight": as_number(weight)})


def _spoken(tensor: Tensor) -> str:
    """The names that this error of PyTorch uses for dtypes."""
    names = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}
    return names.get(tensor.dtype.name, LEGACY_NAMES[tensor.dtype])


def _three() -> list[Sample]:
    def of(*shapes: tuple[int, ...], **options: Any) -> Sample:
        ends = [(-2.0, 2.0), (-2.0, 2.0), (0.4, 2.0)]
        tensors = [
            T(*s, low=lo, high=hi, seed=i)
            for i, (s, (lo, hi)) in enumerate(zip(shapes, ends, strict=True))
        ]
        return Sample(*tensors, **options)

    return [
        of((2, 3), (2, 3), (2, 3)),
        of((2, 3), (2, 1), (3,), value=2),
        of((), (), (), value=3),
        of((0, 2), (2,), (2,)),
    ]


addcmul_op = Op(
    "addcmul",
    lambda x, a, b, value: x + value * a * b,
    ("x", "a", "b"),
    vjp={
        "x": lambda g: g,
        "a": lambda g, b, value: g * conj(b * value),
        "b": lambda g, a, value: g * conj(a * value),
    },
    jvp={
        "x": lambda t: t,
        "a": lambda t, b, value: t * (b * value),
        "b": lambda t, a, value: t * (a * value),
    },
    promotion="common",
    refuses=no_kernel("addcmul_cpu_out", "b"),
    samples=_three,
)
addcdiv_op = Op(
    "addcdiv",
    lambda x, a, b, value: x + value * a / b,
    ("x", "a", "b"),
    vjp={
        "x": lambda g: g,
        "a": lambda g, b, value: g * conj(value / b),
        "b": lambda g, a, b, value: -g * conj((value * a) / (b * b)),
    },
    jvp={
        "x": lambda t: t,
        "a": lambda t, b, value: t * (value / b),
        "b": lambda t, a, b, value: -t * ((value * a) / (b * b)),
    },
    promotion="common",
    samples=_three,
)


def _scaled(op: Op, name: str, input: Any, tensor1: Any, tensor2: Any, value: Any) -> Tensor:
    require_tensor(name, input)
    require_tensor(name, tensor1, "tensor1", 2)
    require_tensor(name, tensor2, "tensor2", 3)
    tensors = (input, tensor1, tensor2)
    kind = common_dtype(tensors)
    if isinstance(value, complex) and not value.imag and not kind.is_complex:
        value = value.real
    require_fit(tensors, value, opmath=True)
    if kind.category == 1 and isinstance(value, (float, np.floating)):
        value = int(value)
    exact = np.dtype(np.float32) if kind.is_half else kind.numpy
    return call_elementwise(op, tensors, {"value": number_as(value, exact)})


def _in_order(name: str, first: Any, second: Any, more: Any, value: Any) -> tuple[Any, Any, Any]:
    """The old order of arguments has the number before the two tensors; PyTorch still takes it."""
    if not more:
        return first, second, value
    if len(more) > 1:
        raise TypeError(f"{name}() takes 3 positional arguments but {3 + len(more)} were given")
    warnings.warn(
        f"This overload of {name} is deprecated:\n\t{name}(Tensor input, Number value, Tensor "
        f"tensor1, Tensor tensor2, *, Tensor out = None)\nConsider using one of the following "
        f"signatures instead:\n\t{name}(Tensor input, Tensor tensor1, Tensor tensor2, *, Number "
        "value = 1, Tensor out = None)",
        UserWarning,
        stacklevel=warning_level(),
    )
    return second, more[0], first


@public(inplace=True)
def addcmul(input: Any, tensor1: Any, tensor2: Any, *more: Any, value: Any = 1) -> Tensor:
    """`input + value * tensor1 * tensor2`."""
    tensor1, tensor2, value = _in_order("addcmul", tensor1, tensor2, more, value)
    return _scaled(addcmul_op, "addcmul", input, tensor1, tensor2, value)


@public(inplace=True)
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *more: Any, value: Any = 1) -> Tensor:
    """`input + value * tensor1 / tensor2`."""
    tensor1, tensor2, value = _in_order("addcdiv", tensor1, tensor2, more, value)
    if all(isinstance(t, Tensor) and t.dtype.category < 2 for t in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
            "will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can "
            "be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
            "integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
            "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), "
            "for all dtypes."
        )
    return _scaled(addcdiv_op, "addcdiv", input, tensor1, tensor2, value)
