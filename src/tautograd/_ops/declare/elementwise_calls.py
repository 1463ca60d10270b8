"""How elementwise operations are declared and called: promotion, broadcasting, operators.

`unary("sin", np.sin, d=lambda x: np.cos(x))` declares the record, `sin(x)`, `x.sin()`, `x.sin_()`
and what `np.sin` means inside a rule. The derivative `d` gives both rules: the VJP is
`g * conj(d)`, the JVP `t * d`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..._arrays.dtypes import HALF_CODES
from ..._autograd.apply import apply
from ..._autograd.lifted import COUNTERPARTS
from ..._tensor.tensor import Tensor
from .guarding import explain, marked, no_method
from .promotion import compute_dtype, number_as
from .public import Namespace, public
from .record import Op
from .rule_calls import DerivedRule, Rule, written
from .subclasses import unanswered
from .torch_function import answered
from .wrong_argument import WrongArgument

_ndarray = np.ndarray


def conj(x: Any) -> Any:
    """The conjugate, at no cost for real numbers."""
    if type(x) is not _ndarray and isinstance(x, (int, float, complex)):
        return x.conjugate()  # a Python number that met a tensor
    return np.conjugate(x) if x.dtype.kind == "c" else x


def require_tensor(name: str, value: Any, argument: str = "input", position: int = 1) -> None:
    if not isinstance(value, Tensor):
        raise WrongArgument(
            f"{name}(): argument '{argument}' (position {position}) must be Tensor, not "
            f"{type(value).__name__}"
        )


def require_operand(name: str, value: Any, argument: str, position: int) -> None:
    if not isinstance(value, (Tensor, int, float, complex, np.number, np.bool_)):
        raise WrongArgument(
            f"{name}(): argument '{argument}' (position {position}) must be Tensor, not "
            f"{type(value).__name__}"
        )


def call_elementwise(
    op: Op,
    inputs: tuple[Any, ...],
    parameters: dict[str, Any],
    numbers: dict[str, Any] | None = None,
) -> Tensor:
    """Promote, broadcast, run, record.

    `numbers` are parameters that take part in promotion as operands do. A number that meets
    half precision is rounded to it first, unless it is the second operand and the record
    has `exact_second`.
    """
    if numbers is None and _one_dtype(inputs):
        compute = None  # nothing to promote
    else:
        operands = inputs if numbers is None else (*inputs, *numbers.values())
        compute = compute_dtype(operands, op.promotion)
    if op.refuses is not None:
        kind = inputs[0]._data.dtype if compute is None else compute
        if kind in op.refuses:
            check_broadcast(*(x._data.shape for x in inputs if isinstance(x, Tensor)))
            refuse(op, kind)
    if compute is not None:
        half = compute.char in HALF_CODES
        last = _FLOAT32 if half and op.opmath else compute
        second = last if op.exact_second else compute
        inputs = tuple(
            [
                x
                if isinstance(x, Tensor) or x is None
                else number_as(x, second if i == 1 else compute, last)
                for i, x in enumerate(inputs)
            ]
        )
        if numbers is not None:
            cast = {name: number_as(x, compute, last) for name, x in numbers.items()}
            parameters = {**parameters, **cast}
        for x in inputs:
            if isinstance(x, Tensor) and x._data.dtype != compute:
                break
        else:
            if compute.char not in HALF_CODES:
                compute = None
    elif numbers is not None:
        parameters = {**parameters, **numbers}
    try:
        result: Tensor = apply(op, inputs, parameters, compute)
    except ValueError as error:
        check_broadcast(*(x._data.shape for x in inputs if isinstance(x, Tensor)))
        raise error
    return result


def contiguous(result: Tensor) -> Tensor:
    """A fresh result in C order, for functions that PyTorch does not lay out as their input."""
    data = result._data
    if isinstance(data, np.ndarray) and not data.flags.c_contiguous:
        result._data = np.copy(data, order="C")
        node = result._node
        if node is not None and node.saved and node.saved[-1] is data:
            node.saved[-1] = result._data
    return result


def no_derivative(name: str, *inputs: str) -> dict[str, Any]:
    """Rules that say, as PyTorch does when it goes backward, that there is no derivative."""

    def refuse_to(g: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    def refuse_forward(t: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return {"vjp": dict.fromkeys(inputs, refuse_to), "jvp": dict.fromkeys(inputs, refuse_forward)}


def _one_dtype(inputs: tuple[Any, ...]) -> bool:
    """Whether the inputs are all tensors of one dtype, float32 or wider."""
    first = inputs[0]
    if not isinstance(first, Tensor):
        return False
    dtype = first._data.dtype
    if dtype.char not in "fdFD":
        return False
    for x in inputs:
        if x is not first and not (isinstance(x, Tensor) and x._data.dtype is dtype):
            return False
    return True


_FLOAT32 = np.dtype(np.float32)


def refuse(op: Op, numpy_dtype: Any) -> None:
    """Raise PyTorch's error if an operation is not defined for this dtype."""
    if op.refuses is not None and numpy_dtype in op.refuses:
        error, sentence = op.refuses[numpy_dtype]
        raise error(sentence)


def check_broadcast(*shapes: tuple[int, ...]) -> None:
    """PyTorch's error for shapes that do not broadcast: each with what those before it come to."""
    a: tuple[int, ...] = ()
    for b in shapes:
        rank = max(len(a), len(b))
        for dim in range(rank - 1, -1, -1):
            m = a[dim - rank + len(a)] if dim - rank + len(a) >= 0 else 1
            n = b[dim - rank + len(b)] if dim - rank + len(b) >= 0 else 1
            if m != n and 1 not in (m, n):
                raise RuntimeError(
                    f"The size of tensor a ({m}) must match the size of tensor b ({n}) at "
                    f"non-singleton dimension {dim}"
                )
        a = np.broadcast_shapes(a, b)


def check_written_shape(target: tuple[int, ...], *shapes: tuple[int, ...]) -> None:
    """PyTorch's error for a result of these shapes that does not fit where it is written."""
    check_broadcast(*shapes)
    shape = np.broadcast_shapes(*shapes)
    if shape != tuple(target):
        raise RuntimeError(
            f"output with shape {list(target)} doesn't match the broadcast shape {list(shape)}"
        )


def unary(
    name: str,
    forward: Rule,
    *,
    doc: str,
    d: Rule | None = None,
    vjp: Rule | None = None,
    jvp: Rule | None = None,
    promotion: str | None = "float",
    inplace: bool = True,
    function: bool = True,
    method: bool = True,
    namespace: Namespace | None = None,
    aliases: tuple[str, ...] = (),
    node: str | None = None,
    **record: Any,
) -> Op:
    """Declare an operation on one tensor, element by element, without parameters."""
    rules = _rules_from({"x": d}) if d is not None else {}
    if vjp is not None:
        rules["vjp"] = {"x": vjp}
    if jvp is not None:
        rules["jvp"] = {"x": jvp}
    op = Op(name, forward, ("x",), promotion=promotion, node=node, **rules, **record)
    label = op.public_name.replace(".", "_")

    refused = op.refuses or {}
    direct = frozenset(code for code in "fdFD" if np.dtype(code) not in refused)
    run = op.apply

    def call(input: Any) -> Any:
        try:
            if not isinstance(input, Tensor):
                require_tensor(label, input)
            if input._data.dtype.char in direct:
                return run((input,))  # nothing to promote
            return call_elementwise(op, (input,), {})
        except Exception as error:
            if (said := answered(error, label, (input,), {}, False)) is not None:
                return said[0]
            explain(error, label, (input,), {})
            raise

    if isinstance(forward, np.ufunc):
        COUNTERPARTS[forward] = call
    return _published(op, call, doc, inplace, function, method, namespace, aliases)


def binary(
    name: str,
    forward: Rule,
    *,
    doc: str,
    d: dict[str, Rule] | None = None,
    vjp: dict[str, Rule] | None = None,
    jvp: Any = None,
    promotion: str | None = "common",
    inplace: bool = True,
    numbers: str = "",
    function: bool = True,
    method: bool = True,
    namespace: Namespace | None = None,
    aliases: tuple[str, ...] = (),
    node: str | None = None,
    **record: Any,
) -> Op:
    """Declare an operation on two tensors, broadcast together.

    `numbers` says where a Python number may stand: "y", or "xy" (but not both at once).
    """
    rules = _rules_from(d) if d is not None else {}
    if vjp is not None:
        rules["vjp"] = vjp
    if jvp is not None:
        rules["jvp"] = jvp
    op = Op(name, forward, ("x", "y"), promotion=promotion, node=node, **rules, **record)
    label = op.public_name.replace(".", "_")

    def call(input: Any, other: Any) -> Any:
        try:
            if not isinstance(input, Tensor) and not ("x" in numbers and isinstance(other, Tensor)):
                require_tensor(label, input)
            if not isinstance(other, Tensor):
                (require_operand if numbers else require_tensor)(label, other, "other", 2)
            return call_elementwise(op, (input, other), {})
        except Exception as error:
            if (said := answered(error, label, (input, other), {}, False)) is not None:
                return said[0]
            explain(error, label, (input, other), {})
            raise

    if isinstance(forward, np.ufunc):
        COUNTERPARTS[forward] = lambda x, y: call_elementwise(op, (x, y), {})
    return _published(op, call, doc, inplace, function, method, namespace, aliases)


def _published(
    op: Op,
    call: Callable[..., Any],
    doc: str,
    inplace: bool,
    function: bool,
    method: bool,
    namespace: Namespace | None,
    aliases: tuple[str, ...],
) -> Op:
    """Make `call` the public function of a record, under the record's public name."""
    marked(call)
    call.__name__ = call.__qualname__ = op.public_name.rpartition(".")[2]
    call.__doc__ = doc
    public(
        call.__name__,
        inplace=inplace and namespace is None,
        function=function,
        method=method,
        namespace=namespace,
        aliases=aliases,
    )(call)
    return op


def _rules_from(derivatives: Mapping[str, Rule | None]) -> dict[str, Any]:
    """VJP and JVP rules from partial derivatives: `g * conj(d)` and `t * d`."""
    vjp, jvp = {}, {}
    for name, d in derivatives.items():
        assert d is not None
        vjp[name] = _times(d, "g", conjugate=True)
        jvp[name] = _times(d, "t", conjugate=False)
    return {"vjp": vjp, "jvp": jvp}


def _times(d: Rule, incoming: str, conjugate: bool) -> DerivedRule:
    """A rule with the derivative's parameters after the incoming gradient or tangent."""
    names = d.__code__.co_varnames[: d.__code__.co_argcount]

    def build() -> Rule:
        factor = f"d({', '.join(names)})"
        product = f"{incoming} * conj({factor})" if conjugate else f"{incoming} * {factor}"
        text = f"lambda {', '.join((incoming, *names))}: {product}"
        rule: Rule = written(text, {"d": d, "conj": conj})
        return rule

    return DerivedRule((incoming, *names), build)


def operator(
    op: Op, slow: Callable[[Any, Any], Any], reflected: bool = False
) -> Callable[[Any, Any], Any]:
    """A Python operator method from an elementwise function of two operands."""

    @functools.wraps(slow)
    def method(self: Any, other: Any) -> Any:
        if not isinstance(self, Tensor):
            raise no_method(slow.__name__, (self,))
        if not isinstance(other, (Tensor, int, float, complex, np.number, np.bool_)):
            return unanswered(method, self, other)
        try:
            return slow(other, self) if reflected else slow(self, other)
        except Exception as error:
            explain(error, slow.__name__, (self, other), {})
            raise

    return method


NUMBER = (Tensor, int, float, complex, np.number, np.bool_)


def updating(method: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """An augmented assignment from an in-place method: what is no number, Python complains of."""

    @functools.wraps(method)
    def update(self: Any, other: Any) -> Any:
        if not isinstance(self, Tensor):
            raise no_method(method.__name__, (self,))
        if not isinstance(other, NUMBER):
            return unanswered(update, self, other)
        try:
            return method(self, other)
        except Exception as error:
            explain(error, method.__name__, (self, other), {})
            raise

    return update
