"""Products with Jacobians and Hessians: `vjp`, `jvp`, `vhp`, `hvp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..grad_mode import enable_grad, set_grad_enabled
from ..modes import modes
from .arguments import (
    INPUT,
    OUTPUTS,
    Tensors,
    as_tuple,
    check_gradients,
    check_outputs,
    check_scalar,
    filled,
    fresh,
    gradients,
    pick,
    settle,
    vector,
    zeros,
)


def _product(
    outputs: Any, inputs: Any, v: Any, like: Tensors, create_graph: bool, strict: bool, stage: str
) -> Any:
    """v · d outputs / d inputs, with zeros where nothing depends, and without history unless asked for."""
    with set_grad_enabled(create_graph or modes.grad):
        found = gradients(outputs, inputs, v, create_graph)
        return settle(filled(found, like, strict, create_graph, stage), create_graph)


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """`(func(inputs), v · J)`: the product of a vector and the Jacobian."""
    with enable_grad():
        in_tuple, inputs = as_tuple(inputs, "inputs", "vjp")
        inputs = fresh(inputs, create_graph)
        out_tuple, outputs = as_tuple(func(*inputs), OUTPUTS, "vjp")
        check_outputs(outputs, strict)
        v = vector(v, outputs, out_tuple, "vjp", create_graph, "the user-provided function returns")
    product = _product(outputs, inputs, v, inputs, create_graph, strict, "back")
    return (
        pick(settle(outputs, create_graph), out_tuple),
        pick(product, in_tuple),
    )


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """`(func(inputs), J · v)`: the product of the Jacobian and a vector.

    The VJP `u ↦ u · J` is linear in u, and its own VJP is `v ↦ J · v`: reverse mode twice.
    """
    with enable_grad():
        in_tuple, inputs = as_tuple(inputs, "inputs", "jvp")
        inputs = fresh(inputs, create_graph)
        v = vector(v, inputs, in_tuple, "jvp", create_graph, INPUT)
        out_tuple, outputs = as_tuple(func(*inputs), OUTPUTS, "jvp")
        check_outputs(outputs, strict)
        u = tuple(zeros(o).requires_grad_() for o in outputs)  # any finite value will do
        through = gradients(outputs, inputs, u, create_graph=True)
        check_gradients(through, strict, of_hessian=False)
    product = _product(through, u, v, outputs, create_graph, strict, "back_trick")
    return (
        pick(settle(outputs, create_graph), out_tuple),
        pick(product, out_tuple),
    )


def _scalar_gradient(name: str, func: Any, inputs: Tensors, strict: bool) -> tuple[Tensors, Any]:
    """A scalar function's output and its gradient, which can be differentiated again."""
    out_tuple, outputs = as_tuple(func(*inputs), OUTPUTS, name)
    check_outputs(outputs, strict)
    check_scalar(name, out_tuple, outputs)
    found = gradients(outputs, inputs, None, create_graph=True)
    check_gradients(found, strict, of_hessian=True)
    return outputs, found


def _with_hessian(
    name: str, func: Any, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> Any:
    """`(func(inputs), v · H)` or, of the same numbers by reverse mode twice, `(func(inputs), H · v)`."""
    with enable_grad():
        in_tuple, inputs = as_tuple(inputs, "inputs", name)
        inputs = fresh(inputs, create_graph)
        v = vector(v, inputs, in_tuple, name, create_graph, INPUT)
        outputs, found = _scalar_gradient(name, func, inputs, strict)
        of, trick = inputs, "double_back"
        if name == "hvp":
            of, trick = tuple(zeros(x).requires_grad_() for x in inputs), "double_back_trick"
            found = gradients(found, inputs, of, create_graph=True)
            check_gradients(found, strict, of_hessian=False)
    product = _product(found, of, v, inputs, create_graph, strict, trick)
    return (settle(outputs[0], create_graph), pick(product, in_tuple))


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """`(func(inputs), v · H)`: the product of a vector and the Hessian of a scalar function."""
    return _with_hessian("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """`(func(inputs), H · v)`: the product of the Hessian of a scalar function and a vector."""
    return _with_hessian("hvp", func, inputs, v, create_graph, strict)
