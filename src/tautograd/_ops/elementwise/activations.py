"""Smooth activation functions, and how activations become public functions.

Each is one record with its parameters: `torch.<name>` where PyTorch has it, `torch.nn.functional.<name>`
with `inplace=` for all. The ones made of straight pieces are in `rectifiers`.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from ..._arrays.blend import blend, masked
from ..._arrays.kernels import elementwise
from ..._arrays.result_layout import as_first
from ..._autograd.apply import apply
from ..._autograd.modes import modes
from ..._autograd.node import Node, rename_node
from ..._autograd.views import check_writable
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import (
    call_elementwise,
    conj,
    contiguous,
    refuse,
    require_tensor,
    unary,
)
from ..declare.in_place_twins import write_into
from ..declare.promotion import real_number
from ..declare.public import FUNCTIONS, NN_FUNCTIONAL, SPECIAL, public
from ..declare.record import Op
from ..declare.rule_calls import written
from ..declare.samples import Sample, T, over
from ..declare.undefined_dtypes import no_kernel
from . import gelu_blocks
from .gelu_blocks import can_block
from .special_functions import erf_op

_SELU = {"alpha": 1.6732632423543772, "scale": 1.0507009873554805, "input_scale": 1.0}
_ELU = {"scale": 1.0, "input_scale": 1.0}
NOT_FLOAT = "bic"


# In place, PyTorch has another rule for these, which uses the result alone.
_OTHER_RULE_IN_PLACE = frozenset({"celu", "elu", "leaky_relu", "rrelu", "selu", "threshold"})


# The parameter that decides whether a result tells on which side of 0 its input was.
_SLOPES = {"celu": "alpha", "elu": "alpha", "leaky_relu": "negative_slope"}


def _refuse_backward(node: Node, what: str) -> None:
    """PyTorch's rule for the form in place has no way back from a falling branch."""

    def refuse_to(g: Any) -> Any:
        raise RuntimeError(
            f"In-place {what} backward calculation is triggered with a negative slope which is not "
            "supported. This is caused by calling in-place forward function with a negative slope, "
            "please call out-of-place version instead."
        )

    kind = type(node)
    op = copy.copy(kind.op)
    op.set_rules({"x": refuse_to}, None)
    members = {"__slots__": (), "__module__": kind.__module__, "op": op}
    node.__class__ = type(kind.__name__, (kind,), members)


def write_over(input: Tensor, result: Tensor, name: str, slope: float | None = None) -> Tensor:
    """Put the result of an activation into its input; `slope`: of its branch below 0, if that is fixed."""
    node = result._node
    if node is not None and name in _OTHER_RULE_IN_PLACE:
        rename_node(node, type(node).__name__.replace("Backward0", "Backward1"))
        if slope is None:
            slope = node.parameters.get(_SLOPES.get(name, ""), 0.0)
        if not slope >= 0:
            _refuse_backward(node, "leakyReLu" if name in ("leaky_relu", "rrelu") else "elu")
    return write_into(input, result, name)


def activation(
    op: Op, signature: str, doc: str, where: str = "", check: Any = None, **fixed: Any
) -> Any:
    """Make a record public in `nn.functional`, and where else `where` says.

    `signature` lists the parameters after `input`, as Python writes them; `fixed` are parameters of the
    record that callers do not choose. `where`: "torch", "method", "twin" (a form with a trailing
    underscore), "inplace" and "out" (keywords). `check(input, parameters)` may refuse.
    """
    name = op.public_name.rpartition(".")[2]
    names = [part.split("=")[0].strip() for part in signature.split(",") if part]

    def run(input: Any, parameters: dict[str, Any], inplace: bool) -> Tensor:
        require_tensor(name, input)
        if check is not None:
            check(input, parameters)
        if inplace:
            check_writable(input)
            return write_over(input, call_elementwise(op, (input,), parameters), name)
        return call_elementwise(op, (input,), parameters)

    def made(label: str, keyword: str, inplace: str) -> Any:
        given = ", ".join(f"{n!r}: {n} if type({n}) is float else number({n})" for n in names)
        text = f"lambda {', '.join(p for p in ('input', signature, keyword) if p)}: "
        text += f"run(input, {{**fixed, {given}}}, {inplace})"
        function = written(
            text, {"run": run, "fixed": fixed, "inf": math.inf, "number": real_number}
        )
        function.__name__ = function.__qualname__ = label
        function.__doc__ = doc
        return function

    plain = made(name, "", "False")
    keyword = made(name, "inplace=False", "inplace") if "inplace" in where else plain
    if "out" in where and keyword is plain:
        public(namespace=NN_FUNCTIONAL, method=False)(plain)
    else:
        NN_FUNCTIONAL[name] = keyword
    if "torch" in where:
        public(method="method" in where, out="out" in where)(plain)
    if "twin" in where:
        twin = made(name + "_", "", "True")
        NN_FUNCTIONAL[name + "_"] = twin
        if "torch" in where:
            FUNCTIONS[name + "_"] = twin
    return plain


def slope_record(
    name: str, forward: Any, through: Any, kernel: str, samples: Any, **more: Any
) -> Op:
    """A record on one tensor; `through(g, x, …)` is the derivative times a gradient or tangent."""
    if through is not None:
        names = through.__code__.co_varnames[1 : through.__code__.co_argcount]
        arguments = ", ".join(names)
        scope = {"through": through}
        more["vjp"] = {"x": written(f"lambda g, {arguments}: through(g, {arguments})", scope)}
        more["jvp"] = {"x": written(f"lambda t, {arguments}: through(t, {arguments})", scope)}
    return Op(
        name,
        forward,
        ("x",),
        promotion="common",
        samples=samples,
        **{
            "public": f"nn.functional.{name}",
            "refuses": no_kernel(kernel, NOT_FLOAT),
            **more,
        },
    )


def both_sides(*parameters: dict[str, Any], low: float = -3, high: float = 3) -> Any:
    """Samples on either side of 0, with default and with given parameters."""

    def samples() -> list[Sample]:
        shapes: list[tuple[int, ...]] = [(2, 3), (), (0, 2)]
        return [Sample(T(*s, low=low, high=high), **p) for s in shapes for p in ({}, *parameters)]

    return samples


def sigmoid_of(x: Any) -> Any:
    found = elementwise("sigmoid", x, cost=6)
    return 1 / (1 + np.exp(-x)) if found is None else found


def _silu(x: Any) -> Any:
    found = elementwise("silu", x, cost=6)
    if found is not None:
        return found
    return x * sigmoid_of(x) if x.dtype.kind == "c" else x / (1 + np.exp(-x))


def _through_silu(g: Any, x: Any) -> Any:
    found = elementwise("silu_gradient", g, x, cost=6)
    return g * conj(_silu_slope(x)) if found is None else found


sigmoid_op = unary(
    "sigmoid",
    sigmoid_of,
    vjp=lambda g, out: g * conj((1 - out) * out),
    jvp=lambda t, out: t * (1 - out) * out,
    doc="`1 / (1 + exp(-x))`.",
    samples=over(-3, 3),
)


softplus_op = slope_record(
    "softplus",
    lambda x, beta, threshold: blend(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta),
    lambda g, x, beta, threshold: blend(x * beta > threshold, g, g * sigmoid_op(x * beta)),
    "softplus_cpu",
    both_sides({"beta": 2, "threshold": 3}, {"beta": 0.5}),
)


def _elu(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return blend(x < 0, np.expm1(x * input_scale) * (alpha * scale), x * scale)


def _elu_through(g: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    # Not exp(x) where it is not wanted: it may overflow, and 0 times infinity spoils the next
    # derivative, which is 0 from 0 on.
    below = masked(x, x < 0)
    curved = g * np.exp(below * input_scale) * (alpha * scale * input_scale)
    return blend(x <= 0, curved, g * scale)


elu_op = slope_record(
    "elu", _elu, _elu_through, "elu_cpu", both_sides({"alpha": 0.7}, {"alpha": -1.3})
)
selu_op = slope_record(
    "selu", _elu, _elu_through, "elu_cpu", both_sides(), node="EluBackward0", public="selu"
)
celu_op = slope_record(
    "celu",
    lambda x, alpha: _elu(x, alpha, 1.0, 1.0 / alpha),
    lambda g, x, alpha: _elu_through(g, x, alpha, 1.0, 1.0 / alpha),
    "elu_cpu",
    both_sides({"alpha": 0.75}, {"alpha": 0.3}, {"alpha": -1.3}, {"alpha": 2.0**-24}),
    public="celu",
)


def _check_celu(input: Tensor, parameters: dict[str, Any]) -> None:
    alpha = float(parameters["alpha"])
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    if input._data.dtype.char != "d":  # the kernel takes both as single precision
        for number in (alpha, 1 / alpha):
            if _LARGEST < abs(number) < math.inf:
                raise RuntimeError("value cannot be converted to type float without overflow")


_LARGEST = float(np.finfo(np.float32).max)
_ROOT_HALF, _ROOT_2_OVER_PI = gelu_blocks.ROOT_HALF, gelu_blocks.ROOT_2_OVER_PI
_CUBIC = 0.044715


def _gelu(x: Any, approximate: str) -> Any:
    found = elementwise("gelu_tanh" if approximate == "tanh" else "gelu", x, cost=8)
    if found is not None:
        return found
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(_ROOT_2_OVER_PI * (x + _CUBIC * x * x * x)))
    if can_block(x):
        return gelu_blocks.gelu(x)
    share = _share(x)
    if type(share) is not np.ndarray:
        return x * share
    share *= x
    return share


def _share(x: Any) -> Any:
    """How much of the standard normal distribution lies below x."""
    share = erf_op(x * _ROOT_HALF)
    if type(share) is not np.ndarray:
        return 0.5 * (1 + share)
    share += 1
    share *= 0.5
    return share


def _gelu_slope(x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        inner = np.tanh(_ROOT_2_OVER_PI * (x + _CUBIC * x * x * x))
        slope = _ROOT_2_OVER_PI * (1 + 3 * _CUBIC * x * x)
        return 0.5 * (1 + inner) + 0.5 * x * (1 - inner * inner) * slope
    share = _share(x)
    if type(share) is not np.ndarray or type(x) is not np.ndarray:
        return share + x * (np.exp(-0.5 * x * x) * (0.5 * _ROOT_2_OVER_PI))
    density = x * x
    density *= -0.5
    np.exp(density, out=density)
    density *= 0.5 * _ROOT_2_OVER_PI
    density *= x
    density += share
    return density


def _through_gelu(g: Any, x: Any, approximate: str) -> Any:
    name = "gelu_tanh_gradient" if approximate == "tanh" else "gelu_gradient"
    found = elementwise(name, g, x, cost=8)
    if found is not None:
        return found
    if approximate != "tanh" and can_block(x, g):
        return gelu_blocks.gelu_gradient(g, x)
    return g * _gelu_slope(x, approximate)


gelu_op = slope_record(
    "gelu",
    _gelu,
    _through_gelu,
    "GeluKernelImpl",
    both_sides({"approximate": "tanh"}),
)


def _silu_slope(x: Any) -> Any:
    s = sigmoid_op(x)
    return s * (1 + x * (1 - s))


silu_op = slope_record(
    "silu",
    _silu,
    None,
    "silu_cpu",
    both_sides(),
    refuses=no_kernel("silu_cpu", "bi"),
    vjp={"x": _through_silu},
    jvp={"x": lambda t, x: t * _silu_slope(x)},
)


def _mish_through(g: Any, x: Any) -> Any:
    # x tanh(s), s = log(1 + e^x), ds/dx = sigmoid(x)
    tanh = np.tanh(np.log1p(np.exp(x)))
    return g * (tanh + x * sigmoid_op(x) * (1 - tanh * tanh))


mish_op = slope_record(
    "mish", lambda x: x * np.tanh(np.log1p(np.exp(x))), _mish_through, "mish_cpu", both_sides()
)
logsigmoid_op = slope_record(
    "logsigmoid",
    lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
    lambda g, x: g * sigmoid_op(-x),
    "log_sigmoid_cpu",
    both_sides(),
    node="LogSigmoidBackward0",
)


def _halves(x: Any, dim: int) -> tuple[Any, Any]:
    half = x.shape[dim] // 2
    before = (slice(None),) * dim
    return x[(*before, slice(0, half))], x[(*before, slice(half, None))]


def _glu_vjp(g: Any, x: Any, dim: int) -> Any:
    a, b = _halves(x, dim)
    s = sigmoid_op(b)
    return np.concatenate((g * s, g * a * s * (1 - s)), axis=dim)


def _glu_jvp(t: Any, x: Any, dim: int) -> Any:
    (a, b), (da, db) = _halves(x, dim), _halves(t, dim)
    s = sigmoid_op(b)
    return da * s + db * a * s * (1 - s)


def _glu(x: Any, dim: int) -> Any:
    a, b = _halves(x, dim)
    return a * sigmoid_of(b)


glu_op = Op(
    "glu",
    _glu,
    ("x",),
    layout=as_first,
    vjp={"x": _glu_vjp},
    jvp={"x": _glu_jvp},
    public="nn.functional.glu",
    refuses=no_kernel("glu_cpu", NOT_FLOAT),
    samples=lambda: [Sample(T(2, 4)), Sample(T(4, 3), dim=0), Sample(T(2, 6, 2), dim=-2)],
)

# --- public functions ----------------------------------------------------------------------------

activation(
    softplus_op,
    "beta=1.0, threshold=20.0",
    "`log(1 + exp(beta * x)) / beta`, or x where that is as good.",
    "out",
)
activation(elu_op, "alpha=1.0", "x, or `alpha * (exp(x) - 1)` below 0.", "inplace twin", **_ELU)
activation(
    selu_op, "", "`elu` with the scale that keeps mean and variance.", "torch inplace twin", **_SELU
)
activation(
    celu_op,
    "alpha=1.0",
    "x, or `alpha * (exp(x / alpha) - 1)` below 0.",
    "torch inplace twin",
    check=_check_celu,
)
activation(mish_op, "", "`x * tanh(softplus(x))`.", "inplace")


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def silu(input: Any, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`."""
    require_tensor("silu", input)
    if input._data.dtype.kind == "c" and input.requires_grad and modes.grad:
        raise RuntimeError(
            "silu does not support automatic differentiation for outputs with complex dtype."
        )
    result = call_elementwise(silu_op, (input,), {})
    return write_into(input, result, "silu") if inplace else result


@public(namespace=NN_FUNCTIONAL, method=False)
def logsigmoid(input: Any) -> Tensor:
    """`log(sigmoid(x))` without underflow."""
    require_tensor("log_sigmoid", input)
    return contiguous(call_elementwise(logsigmoid_op, (input,), {}))


@public(namespace=NN_FUNCTIONAL, method=False)
def gelu(input: Any, *, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x, or its approximation by "tanh"."""
    require_tensor("gelu", input)
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return call_elementwise(gelu_op, (input,), {"approximate": approximate})


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def glu(input: Any, dim: int = -1) -> Tensor:
    """The first half times the sigmoid of the second, along a dimension."""
    require_tensor("glu", input)
    data = input._data
    if data.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, data.ndim, "glu")
    if data.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {data.shape[dim]}"
        )
    refuse(glu_op, data.dtype)
    return apply(glu_op, (input,), {"dim": dim})  # type: ignore[no-any-return]


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def tanhshrink(input: Any) -> Tensor:
    """`x - tanh(x)`."""
    return input - input.tanh()  # type: ignore[no-any-return]


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def softsign(input: Any) -> Tensor:
    """`x / (1 + |x|)`."""
    return input / (input.abs() + 1)  # type: ignore[no-any-return]


NN_FUNCTIONAL["sigmoid"] = SPECIAL["expit"] = FUNCTIONS["sigmoid"]
