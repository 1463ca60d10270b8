"""`torch.func`: functions from functions (`grad`, `vjp`, `jvp`, `linearize`).

Reverse-mode transforms differentiate a fresh alias of each input, so they nest: the alias is part
of the outer graph when there is one. Forward-mode transforms open a level of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.attributes import state_of
from ..._tensor.tensor import Tensor, make
from ..._trees.nests import TUPLES_LISTS_DICTS as NESTS
from ..apply import apply, edge_of
from ..backward_pass.engine import run_backward
from ..forward_ad import alias_op, exit_dual_level, make_dual, open_level, unpack_dual
from ..grad_mode import inference_mode
from ..modes import modes
from .arguments import (
    Argnums,
    check_directions,
    choose,
    replaced,
    same_nest,
    split_aux,
    tensors_returned,
)

_JVP = "jvp(f, primals, tangents)"


def require_differentiable(value: Any) -> None:
    """Refuse an argument of which there is no gradient."""
    if not isinstance(value, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    if not (value.dtype.is_floating_point or value.dtype.is_complex):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")


def fresh_alias(value: Any) -> Any:
    """An alias to differentiate: joined to the outer graph if there is one, else a new leaf."""
    require_differentiable(value)
    alias: Tensor = apply(alias_op, (value,))
    if alias._node is None:
        alias._base, alias._view = None, ()
        alias._requires_grad = True
    return alias


def outer_graph(outputs: list[Tensor], inputs: list[Tensor]) -> bool:
    """Whether the outputs depend on anything that wants gradients besides these inputs.

    The leaves among the inputs are the transform's own, and from now on nobody else's concern.
    """
    for x in inputs:
        if x._node is None:
            state_of(x)["_of_transform"] = True
    stack = [edge_of(out) for out in outputs]
    seen = set()
    while stack:
        edge = stack.pop()
        if edge is None or id(edge) in seen:
            continue
        seen.add(id(edge))
        if not edge.is_leaf_edge:
            stack.extend(edge.edges)
        elif not getattr(edge, "_of_transform", False):
            return True
    return False


def gradients_of(
    outputs: list[Tensor],
    inputs: list[Tensor],
    cotangents: list[Tensor],
    create: bool,
) -> list[Any]:
    """Gradients as tensors, zeros where an input was not used."""
    wanted = [x for x in inputs if x.requires_grad]
    roots = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
    found: dict[int, Any] = {}
    if wanted and roots:
        results = run_backward(
            [o for o, _ in roots],
            [c for _, c in roots],
            retain_graph=True,
            create_graph=create,
            inputs=wanted,
            accumulate=False,
        )
        assert results is not None
        found = {id(x): g for x, g in zip(wanted, results, strict=True)}
    gradients = []
    for x in inputs:
        g = found.get(id(x))
        if g is None:
            g = np.zeros_like(x._data)
        gradients.append(g if isinstance(g, Tensor) else make(np.copy(g)))
    return gradients


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns (gradient, value) of a scalar-valued `func`."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recording = modes.grad
        with inference_mode(False):  # recording, also inside `inference_mode`
            chosen = NESTS.mapped(choose(args, argnums), fresh_alias)
            output = func(*replaced(args, argnums, chosen), **kwargs)
            aux = None
            if has_aux:
                output, aux = split_aux("grad_and_value(f)(*args)", output)
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                    f"{type(output)}"
                )
            if output.ndim != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got "
                    f"tensor with {output.ndim} dims. Maybe you wanted to use the vjp or jacrev "
                    "APIs instead?"
                )
            inputs = NESTS.leaves(chosen)
            outer = recording and outer_graph([output], inputs)
            gradients = gradients_of([output], inputs, [make(np.ones_like(output._data))], outer)
        value = output if outer else settled(output)
        result = NESTS.filled(chosen, gradients), value
        return (
            (result[0], (value, NESTS.mapped(aux, settled if not outer else same)))
            if has_aux
            else result
        )

    return wrapper


def same(value: Any) -> Any:
    return value


def settled(value: Any) -> Any:
    """A result without the transform's own graph; outer tangents stay."""
    if not isinstance(value, Tensor) or (value._node is None and not value._requires_grad):
        return value
    out = make(value._data)
    out._tangents = value._tangents
    return out


def value_and_grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns (value, gradient) of a scalar-valued `func`."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return value, gradient

    return wrapper


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of a scalar-valued `func`."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`(output, vjp_fn)`: `vjp_fn(cotangents)` is the vector-Jacobian product at `primals`."""
    recording = modes.grad
    with inference_mode(False):  # recording, also inside `inference_mode`
        fresh = NESTS.mapped(primals, fresh_alias)
        output = func(*fresh)
    aux = None
    if has_aux:
        output, aux = split_aux("vjp(f, *primals)", output)
    outputs, inputs = tensors_returned("vjp(f, *primals)", output), NESTS.leaves(fresh)
    if not all(o.dtype.is_floating_point or o.dtype.is_complex for o in outputs):
        raise RuntimeError(
            "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor "
            f"with dtype {next(o.dtype for o in outputs if not o.dtype.is_floating_point)}"
        )
    outer = recording and outer_graph(outputs, inputs)

    def vjp_fn(
        *cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        given = NESTS.leaves(cotangents)
        one = isinstance(output, Tensor) or not isinstance(output, tuple)
        matching = cotangents[0] if one and len(cotangents) == 1 else cotangents
        if not same_nest(output, matching) and not same_nest((output,), cotangents):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {type(matching)}, primal output: "
                f"{type(output)}"
            )
        for o, c in zip(outputs, given, strict=True):
            if not isinstance(c, Tensor):
                raise TypeError(f"vjp_fn: a cotangent must be a Tensor, not {type(c).__name__}")
            if tuple(o.shape) != tuple(c.shape):
                raise RuntimeError(
                    f"vjp_fn: expected a cotangent of shape {list(o.shape)}, got {list(c.shape)}"
                )
        create = modes.grad and (outer or any(c.requires_grad for c in given))
        if create_graph is not None:
            create = create_graph
        return NESTS.filled(fresh, gradients_of(outputs, inputs, given, create))

    shown = output if outer else NESTS.mapped(output, settled)
    return (shown, vjp_fn, NESTS.mapped(aux, settled)) if has_aux else (shown, vjp_fn)


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """`(output, tangent)`: the Jacobian-vector product of `func` at `primals` along `tangents`."""
    check_directions(_JVP, primals, tangents)
    level = open_level()
    try:
        duals = NESTS.mapped(primals, lambda p, t: make_dual(p, t, level=level), tangents)
        output = func(*duals)
        aux = None
        if has_aux:
            output, aux = split_aux(_JVP, output)
            aux = NESTS.mapped(
                aux, lambda a: unpack_dual(a, level=level).primal if isinstance(a, Tensor) else a
            )
        unpacked = [unpack_dual(o, level=level) for o in tensors_returned(_JVP, output)]
        values = [u.primal for u in unpacked]
        slopes = []
        for u in unpacked:
            if u.tangent is None and strict:
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                    "inputs. This is not allowed with strict=True."
                )
            slopes.append(make(np.zeros_like(u.primal._data)) if u.tangent is None else u.tangent)
    finally:
        exit_dual_level(level=level)
    result = NESTS.filled(output, values), NESTS.filled(output, slopes)
    return (*result, aux) if has_aux else result


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
    """`(output, jvp_fn)`: the output and a function that maps tangents to output tangents."""
    if not callable(func):
        raise TypeError(f"linearize(): argument 'func' must be callable, not {type(func).__name__}")
    for primal in NESTS.leaves(primals):
        if not isinstance(primal, Tensor):
            raise TypeError(
                f"linearize(): Expected primals to only contain Tensors, got {type(primal)}"
            )
    output = func(*primals)

    def jvp_fn(*tangents: Any) -> Any:
        return jvp(func, primals, tangents)[1]

    return output, jvp_fn
