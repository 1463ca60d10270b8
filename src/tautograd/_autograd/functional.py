"""Jacobians, Hessians and products with them (`autograd.functional`).

Each function differentiates fresh aliases of its inputs, so that what the user's function captured
by itself is a constant. `strict=True` turns every zero that stands for "does not depend on it"
into an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, make
from .api import grad
from .apply import apply
from .forward_ad import alias_op
from .grad_mode import enable_grad, set_grad_enabled
from .modes import modes
from .transforms import jacfwd, rows_by_reverse
from .views import detached

Tensors = tuple[Tensor, ...]
_OUTPUTS = "outputs of the user-provided function"


# --- arguments and results ---------------------------------------------------------------------


def _as_tuple(value: Any, what: str, name: str) -> tuple[bool, Tensors]:
    """Whether a tuple was given, and the tensors as one."""
    several = isinstance(value, tuple)
    tensors = value if several else (value,)
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            where = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"{where} has type {type(tensor)}."
            )
    return several, tensors


def _fresh(tensors: Tensors, create_graph: bool, wanted: bool = True) -> Tensors:
    """Aliases to differentiate: part of the caller's graph only under `create_graph`."""
    found = []
    for tensor in tensors:
        if create_graph and tensor.requires_grad:
            found.append(apply(alias_op, (tensor,)))
        else:
            found.append(_detach(tensor).requires_grad_(wanted))
    return tuple(found)


def _detach(tensor: Tensor) -> Any:
    out = detached(tensor)
    out._tangents = tensor._tangents
    return out


def _settle(results: Any, create_graph: bool) -> Any:
    """Results without history, unless it was asked for."""
    if create_graph:
        return results
    if isinstance(results, tuple):
        return tuple(_settle(r, False) for r in results)
    return _detach(results)


def _pick(values: Any, several: bool) -> Any:
    return values if several else values[0]


def _zeros(like: Tensor) -> Tensor:
    return make(np.zeros_like(like._data))


def _vector(
    v: Any, like: Tensors, like_tuple: bool, name: str, create_graph: bool, needed: str
) -> Any:
    """The vector of a product, checked against what it multiplies; None only for a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {needed} a single Tensor with a single element."
            )
        return None
    _, given = _as_tuple(v, "v", name)
    given = _fresh(given, create_graph, wanted=False)
    if len(given) != len(like):
        if like_tuple:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(given, like, strict=True)):
        if a.shape != b.shape:
            entry = f"Entry {i} in " if like_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {b.shape} but got {a.shape}.")
    return given


_INPUT = "the input to the user-provided function is"


# --- strict mode ---------------------------------------------------------------------------------

_NOT_STRICT = " This is not allowed in strict mode"


def _check_outputs(outputs: Sequence[Any], strict: bool) -> None:
    for i, output in enumerate(outputs):
        if strict and not output.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs "
                "must be computed in a differentiable manner from the input when running in strict "
                "mode."
            )


def _check_gradients(gradients: Sequence[Any], strict: bool, of_hessian: bool) -> None:
    """Strict mode for first derivatives that are about to be differentiated again."""
    for i, gradient in enumerate(gradients):
        if not strict:
            return
        if gradient is None:
            raise RuntimeError(
                "The output of the user-provided function is independent of input "
                f"{i}.{_NOT_STRICT}."
            )
        if gradient.requires_grad:
            continue
        if not of_hessian:
            raise RuntimeError(
                f"The gradient with respect to input {i} is independent of the inputs of the "
                f"user-provided function.{_NOT_STRICT}."
            )
        raise RuntimeError(
            "While computing the hessian, found that the jacobian of the user-provided function "
            f"with respect to input {i} is independent of the input.{_NOT_STRICT}. You should "
            "ensure that your function is twice differentiable and that the jacobian depends on "
            "the inputs (this would be violated by a linear function for example)."
        )


# stage -> (what is independent of what, the order of derivative a graph of it would give)
_STAGES = {
    "back": ("The output of the user-provided function is independent of input {i}", "jacobian"),
    "back_trick": (
        "The gradient with respect to the input is independent of entry {i} in the grad_outputs "
        "when using the double backward trick to compute forward mode gradients",
        "jacobian",
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input {i}",
        "hessian",
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {i} in the "
        "grad_jacobian",
        "hessian",
    ),
}


def _filled(gradients: Any, like: Tensors, strict: bool, create_graph: bool, stage: str) -> Tensors:
    """Zeros for gradients that are not there; in strict mode, an error."""
    independent, order = _STAGES[stage]
    found = []
    for i, (gradient, tensor) in enumerate(zip(gradients, like, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(f"{independent.format(i=i)}.{_NOT_STRICT}.")
            gradient = _zeros(tensor)
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The {order} of the user-provided function is independent of input "
                f"{i}.{_NOT_STRICT} when create_graph=True."
            )
        found.append(gradient)
    return tuple(found)


def _gradients(
    outputs: Sequence[Any], inputs: Tensors, vectors: Any, create_graph: bool, **options: Any
) -> Any:
    """`grad` for outputs of which some may be missing or depend on nothing."""
    vectors = (None,) * len(outputs) if vectors is None else vectors
    pairs = [
        (o, v) for o, v in zip(outputs, vectors, strict=True) if o is not None and o.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    roots, starts = zip(*pairs, strict=True)
    return grad(roots, inputs, starts, create_graph=create_graph, allow_unused=True, **options)


# --- products ------------------------------------------------------------------------------------


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """`(func(inputs), v · J)`: the product of a vector and the Jacobian."""
    with enable_grad():
        in_tuple, inputs = _as_tuple(inputs, "inputs", "vjp")
        inputs = _fresh(inputs, create_graph)
        out_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, "vjp")
        _check_outputs(outputs, strict)
        v = _vector(
            v, outputs, out_tuple, "vjp", create_graph, "the user-provided function returns"
        )
    with set_grad_enabled(create_graph or modes.grad):
        found = _gradients(outputs, inputs, v, create_graph)
        product = _filled(found, inputs, strict, create_graph, "back")
    return (
        _pick(_settle(outputs, create_graph), out_tuple),
        _pick(_settle(product, create_graph), in_tuple),
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
        in_tuple, inputs = _as_tuple(inputs, "inputs", "jvp")
        inputs = _fresh(inputs, create_graph)
        v = _vector(v, inputs, in_tuple, "jvp", create_graph, _INPUT)
        out_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, "jvp")
        _check_outputs(outputs, strict)
        u = tuple(_zeros(o).requires_grad_() for o in outputs)  # any finite value will do
        through = _gradients(outputs, inputs, u, create_graph=True)
        _check_gradients(through, strict, of_hessian=False)
    with set_grad_enabled(create_graph or modes.grad):
        found = _gradients(through, u, v, create_graph)
        product = _filled(found, outputs, strict, create_graph, "back_trick")
    return (
        _pick(_settle(outputs, create_graph), out_tuple),
        _pick(_settle(product, create_graph), out_tuple),
    )


def _scalar_gradient(name: str, func: Any, inputs: Tensors, strict: bool) -> tuple[Tensors, Any]:
    """A scalar function's output and its gradient, which can be differentiated again."""
    out_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, name)
    _check_outputs(outputs, strict)
    _check_scalar(name, out_tuple, outputs)
    found = _gradients(outputs, inputs, None, create_graph=True)
    _check_gradients(found, strict, of_hessian=True)
    return outputs, found


def _check_scalar(name: str, several: bool, outputs: Tensors) -> None:
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """`(func(inputs), v · H)`: the product of a vector and the Hessian of a scalar function."""
    with enable_grad():
        in_tuple, inputs = _as_tuple(inputs, "inputs", "vhp")
        inputs = _fresh(inputs, create_graph)
        v = _vector(v, inputs, in_tuple, "vhp", create_graph, _INPUT)
        outputs, first = _scalar_gradient("vhp", func, inputs, strict)
    with set_grad_enabled(create_graph or modes.grad):
        found = _gradients(first, inputs, v, create_graph)
        product = _filled(found, inputs, strict, create_graph, "double_back")
    return (_settle(outputs[0], create_graph), _pick(_settle(product, create_graph), in_tuple))


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """`(func(inputs), H · v)`: the product of the Hessian of a scalar function and a vector."""
    with enable_grad():
        in_tuple, inputs = _as_tuple(inputs, "inputs", "hvp")
        inputs = _fresh(inputs, create_graph)
        v = _vector(v, inputs, in_tuple, "hvp", create_graph, _INPUT)
        outputs, first = _scalar_gradient("hvp", func, inputs, strict)
        u = tuple(_zeros(x).requires_grad_() for x in inputs)
        through = _gradients(first, inputs, u, create_graph=True)
        _check_gradients(through, strict, of_hessian=False)
    with set_grad_enabled(create_graph or modes.grad):
        found = _gradients(through, u, v, create_graph)
        product = _filled(found, inputs, strict, create_graph, "double_back_trick")
    return (_settle(outputs[0], create_graph), _pick(_settle(product, create_graph), in_tuple))


# --- whole matrices ------------------------------------------------------------------------------


def _check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has '
            'more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
            '"reverse-mode".'
        )
    if strategy == "reverse-mode":
        return
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not '
            "supported together (yet). Please either set `create_graph=False` or "
            '`strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not '
            'supported together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`, nested by outputs and then by inputs where these are tuples.

    `vectorize=True` sends all rows through the graph as one batch.
    """
    _check_strategy(strategy, create_graph, strict, vectorize)
    in_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode":
        return _by_columns(func, in_tuple, inputs)
    with enable_grad():
        inputs = _fresh(inputs, create_graph)
        out_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, "jacobian")
        _check_outputs(outputs, strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            blocks = _batched_blocks(outputs, inputs, create_graph)
        else:
            blocks = tuple(
                _rows(i, output, inputs, create_graph, strict) for i, output in enumerate(outputs)
            )
    blocks = _settle(blocks, create_graph)
    return _pick(tuple(_pick(row, in_tuple) for row in blocks), out_tuple)


def _rows(nr: int, output: Tensor, inputs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobian of one output, one backward per entry."""
    from .._ops.public import FUNCTIONS

    columns: list[list[Tensor]] = [[] for _ in inputs]
    flat = output.reshape(-1)
    for j in range(output.numel()):
        found = _gradients((flat[j],), inputs, None, create_graph, retain_graph=True)
        for i, (gradient, x) in enumerate(zip(found, inputs, strict=True)):
            if gradient is None:
                if strict:
                    raise RuntimeError(
                        f"Output {nr} of the user-provided function is independent of input {i}."
                        f"{_NOT_STRICT}."
                    )
                gradient = _zeros(x)
            elif strict and create_graph and not gradient.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of input "
                    f"{nr}.{_NOT_STRICT} when create_graph=True."
                )
            columns[i].append(gradient)
    return tuple(
        FUNCTIONS["stack"](column).reshape((*output.shape, *x.shape))
        if column
        else make(np.zeros((*output.shape, *x.shape), x._data.dtype))
        for column, x in zip(columns, inputs, strict=True)
    )


def _batched_blocks(outputs: Tensors, inputs: Tensors, create_graph: bool) -> tuple[Tensors, ...]:
    rows = rows_by_reverse(list(outputs), list(inputs), create_graph)
    blocks = []
    offset = 0
    for output in outputs:
        size = output.numel()
        blocks.append(
            tuple(
                r.narrow(0, offset, size).reshape((*output.shape, *x.shape))
                for r, x in zip(rows, inputs, strict=True)
            )
        )
        offset += size
    return tuple(blocks)


def _by_columns(func: Callable[..., Any], in_tuple: bool, inputs: Tensors) -> Any:
    jacobians = jacfwd(func, tuple(range(len(inputs))))(*inputs)
    jacobians = _settle(jacobians, False)
    if in_tuple:
        return jacobians
    # jacfwd nests by outputs, then by the (one-element) tuple of argument numbers.
    if jacobians and isinstance(jacobians[0], tuple):
        return tuple(row[0] for row in jacobians)
    return jacobians[0]


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: the Jacobian of its gradient."""
    in_tuple, inputs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    forward = outer_jacobian_strategy == "forward-mode"

    def scalar(*values: Tensor) -> Tensor:
        several, outputs = _as_tuple(func(*values), _OUTPUTS, "hessian")
        _check_outputs(outputs, strict)
        _check_scalar("hessian", several, outputs)
        return outputs[0].reshape(())

    def gradient(*values: Any) -> Any:
        if forward:  # keeps the tangents: the inner aliases are part of this graph
            values = tuple(v.requires_grad_(True) for v in values)
        found = jacobian(scalar, values, create_graph=True)
        _check_gradients(found, strict, of_hessian=True)
        return found

    result = jacobian(
        gradient,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return result if in_tuple else result[0][0]
