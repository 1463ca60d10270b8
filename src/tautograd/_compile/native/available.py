"""Which instructions can become machine code, and for the others the reason in words."""

from __future__ import annotations

import functools
from typing import Any

from ..program.ir import (
    CHECK,
    Gather,
    GatherAlong,
    Instruction,
    Map,
    Number,
    Product,
    PutAlong,
    Reduce,
    ScatterAdd,
)
from . import reductions
from .fusion.liveness import covers
from .llvm import scalar_ops
from .llvm.jit import host, why_not
from .llvm.types import is_half, is_known


def can_lower(instruction: Instruction) -> str | None:
    """None if an instruction can be compiled; else why not."""
    if not isinstance(
        instruction, (Map, Reduce, Product, Gather, GatherAlong, ScatterAdd, PutAlong)
    ):
        return "a call into Python"
    for view in (*instruction.reads(), *instruction.writes()):
        why = _no_rule_for(view.dtype)
        if why is not None:
            return why
    for view in instruction.writes():
        if view.size and not covers(view):
            return "it writes an element more than once"
    if isinstance(instruction, Map):
        if instruction.function == CHECK:
            return None
        return scalar_ops.cannot(instruction.function, instruction.loop)
    if isinstance(instruction, Reduce):
        return _reduce(instruction)
    if isinstance(instruction, Product):
        return _product(instruction)
    if isinstance(instruction, (Gather, GatherAlong)):
        if instruction.output.size and not instruction.source.shape[instruction.axis]:
            return "nothing to take from"
    elif isinstance(instruction, PutAlong) and isinstance(instruction.source, Number):
        return None
    if instruction.index.dtype.kind not in "iu":
        return f"an index of {instruction.index.dtype}"
    return None


@functools.cache
def _no_rule_for(dtype: Any) -> str | None:
    if dtype.name == "float16" and not _has_halves():
        return "float16 on this processor"
    if not is_known(dtype):
        return "complex numbers" if dtype.kind == "c" else f"no rule for {dtype}"
    return None


def _has_halves() -> bool:
    return why_not() is None and host().halves


def _reduce(reduce: Reduce) -> str | None:
    if reduce.function not in reductions.FUNCTIONS:
        return f"no rule for {reduce.function}.reduce"
    if not is_known(reduce.dtype):
        return "complex numbers" if reduce.dtype.kind == "c" else f"no rule for {reduce.dtype}"
    if reduce.dtype.kind == "b" and reduce.function == "multiply":
        return "a product of bools"
    return None


def _product(product: Product) -> str | None:
    from .products import blas

    dtype = product.output.dtype
    if dtype.kind != "f" or is_half(dtype):
        return f"a product of {dtype}"
    if {product.left.dtype, product.right.dtype} != {dtype}:
        return "a product of different dtypes"
    if blas() is None:
        return "no BLAS found"
    return None
