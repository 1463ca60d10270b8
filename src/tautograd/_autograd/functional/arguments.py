"""Arguments and results of `autograd.functional`, and what strict mode refuses.

Each function differentiates fresh aliases of its inputs, so that what the user's function captured
by itself is a constant. `strict=True` turns every zero that stands for "does not depend on it"
into an error that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, make
from ..api import grad
from ..apply import apply
from ..forward_ad import alias_op
from ..views import detached

Tensors = tuple[Tensor, ...]
OUTPUTS = "outputs of the user-provided function"


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, Tensors]:
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


def fresh(tensors: Tensors, create_graph: bool, wanted: bool = True) -> Tensors:
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


def settle(results: Any, create_graph: bool) -> Any:
    """Results without history, unless it was asked for."""
    if create_graph:
        return results
    if isinstance(results, tuple):
        return tuple(settle(r, False) for r in results)
    return _detach(results)


def pick(values: Any, several: bool) -> Any:
    return values if several else values[0]


def zeros(like: Tensor) -> Tensor:
    return make(np.zeros_like(like._data))


def vector(
    v: Any, like: Tensors, like_tuple: bool, name: str, create_graph: bool, needed: str
) -> Any:
    """The vector of a product, checked against what it multiplies."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {needed} a single Tensor with a single element."
            )
        return None
    _, given = as_tuple(v, "v", name)
    given = fresh(given, create_graph, wanted=False)
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


INPUT = "the input to the user-provided function is"


# --- strict mode ---------------------------------------------------------------------------------

NOT_STRICT = " This is not allowed in strict mode"


def check_outputs(outputs: Sequence[Any], strict: bool) -> None:
    for i, output in enumerate(outputs):
        if strict and not output.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs "
                "must be computed in a differentiable manner from the input when running in strict "
                "mode."
            )


def check_gradients(gradients: Sequence[Any], strict: bool, of_hessian: bool) -> None:
    """Strict mode for first derivatives that are about to be differentiated again."""
    for i, gradient in enumerate(gradients):
        if not strict:
            return
        if gradient is None:
            raise RuntimeError(
                "The output of the user-provided function is independent of input "
                f"{i}.{NOT_STRICT}."
            )
        if gradient.requires_grad:
            continue
        if not of_hessian:
            raise RuntimeError(
                f"The gradient with respect to input {i} is independent of the inputs of the "
                f"user-provided function.{NOT_STRICT}."
            )
        raise RuntimeError(
            "While computing the hessian, found that the jacobian of the user-provided function "
            f"with respect to input {i} is independent of the input.{NOT_STRICT}. You should "
            "ensure that your function is twice differentiable and that the jacobian depends on "
            "the inputs (this would be violated by a linear function for example)."
        )


# stage -> (what is independent of what, the order of derivative a graph of it would give)
_STAGES = {
    "back": ("The output of the user-provided function is independent of input {i}", "jacobian"),
    "back_trick": (
        (
            "The gradient with respect to the input is independent of entry {i} in the "
            "grad_outputs when using the double backward trick to compute forward mode gradients"
        ),
        "jacobian",
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input {i}",
        "hessian",
    ),
    "double_back_trick": (
        (
            "The hessian of the user-provided function is independent of entry {i} in the "
            "grad_jacobian"
        ),
        "hessian",
    ),
}


def filled(gradients: Any, like: Tensors, strict: bool, create_graph: bool, stage: str) -> Tensors:
    """Zeros for gradients that are not there; in strict mode, an error."""
    independent, order = _STAGES[stage]
    found = []
    for i, (gradient, tensor) in enumerate(zip(gradients, like, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(f"{independent.format(i=i)}.{NOT_STRICT}.")
            gradient = zeros(tensor)
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The {order} of the user-provided function is independent of input "
                f"{i}.{NOT_STRICT} when create_graph=True."
            )
        found.append(gradient)
    return tuple(found)


def gradients(
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


def check_scalar(name: str, several: bool, outputs: Tensors) -> None:
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
