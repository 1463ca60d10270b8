"""Which dtypes an operation is not defined for, which of its arguments have no derivative, and what
PyTorch says about it.

    refuses=no_kernel("erf_vml_cpu", "c")           "erf_vml_cpu" not implemented for 'ComplexFloat'
    refuses=refusal("… on a bool tensor …", "b")     the sentence itself

The letters name groups of dtypes: b bool, i integers, h half precision, f float32 and float64, c complex.
"""

from __future__ import annotations

from typing import Any

from ..._arrays.dtypes import ALL_DTYPES, BOOL, COMPLEX, INTEGER, LEGACY_NAMES, dtype
from ..._autograd.modes import modes

Refusals = dict[Any, tuple[type[Exception], str]]


def group_of(kind: dtype) -> str:
    """The letter of a dtype's group."""
    if kind.is_half:
        return "h"
    return {BOOL: "b", INTEGER: "i", COMPLEX: "c"}.get(kind.category, "f")


def no_kernel(kernel: str, groups: str) -> Refusals:
    """PyTorch's error where a kernel exists for some dtypes only."""
    return {
        d.numpy: (NotImplementedError, f"\"{kernel}\" not implemented for '{LEGACY_NAMES[d]}'")
        for d in ALL_DTYPES
        if group_of(d) in groups
    }


def refusal(sentence: str, groups: str, error: type[Exception] = RuntimeError) -> Refusals:
    """An error in words of its own."""
    return {d.numpy: (error, sentence) for d in ALL_DTYPES if group_of(d) in groups}


def refuse_gradients(function: str, **arguments: Any) -> None:
    """PyTorch's error for arguments that want a gradient and have none."""
    if not modes.grad:
        return
    for name, argument in arguments.items():
        if argument is not None and argument.requires_grad:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument "
                f"'{name}'. This input cannot have requires_grad True."
            )


NO_NEGATION = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
    "invert a mask, use the `~` or `logical_not()` operator instead."
)


def negated(x: Any) -> Any:
    """-x in a rule whose input may be of bools: there PyTorch's refuses, too."""
    if x.dtype.kind == "b":
        raise RuntimeError(NO_NEGATION)
    return -x
