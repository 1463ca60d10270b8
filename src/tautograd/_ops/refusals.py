"""Which dtypes an operation is not defined for, and what PyTorch says about it.

    refuses=no_kernel("erf_vml_cpu", "c")           "erf_vml_cpu" not implemented for 'ComplexFloat'
    refuses=refusal("… on a bool tensor …", "b")     the sentence itself

The letters name groups of dtypes: b bool, i integers, h half precision, f float32 and float64, c complex.
"""

from __future__ import annotations

from typing import Any

from .._arrays.dtypes import ALL_DTYPES, BOOL, COMPLEX, INTEGER, LEGACY_NAMES, dtype

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
