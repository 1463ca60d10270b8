"""NumPy's dtypes as types of C: in memory, in registers, as literals, and conversions between them.

A bool is a byte in memory. Half precision (float16, bfloat16) is two bytes in memory and in a register a
float32 that half precision holds exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..native.llvm.types import BOOL, FLOAT32, FLOAT64, is_bfloat16, is_float, is_half, is_known

_INTEGERS = {
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned",
    "uint64": "unsigned long long",
}


def register(dtype: Any) -> str:
    """The type of a number in a register."""
    if dtype.kind == "b":
        return "bool"
    if is_float(dtype):
        return "double" if dtype == FLOAT64 else "float"
    return _INTEGERS[dtype.name]


def stored(dtype: Any) -> str:
    """The type of a number in memory."""
    if is_half(dtype):
        return "unsigned short"
    return "unsigned char" if dtype.kind == "b" else register(dtype)


def loaded(text: str, dtype: Any) -> str:
    """What was read from memory, as a number in a register."""
    if is_half(dtype):
        return f"{'wide_b' if is_bfloat16(dtype) else 'wide_h'}({text})"
    return f"({text} != 0)" if dtype.kind == "b" else text


def storable(text: str, dtype: Any) -> str:
    """A number in a register, as it is written to memory."""
    if is_half(dtype):
        return f"{'narrow_b' if is_bfloat16(dtype) else 'narrow_h'}({text})"
    return f"(unsigned char)({text})" if dtype.kind == "b" else text


def literal(value: Any, dtype: Any) -> str:
    """A number as text, in the type of a register."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if not is_float(dtype):
        number = int(value)
        if dtype.kind == "u":
            return f"({register(dtype)}){number}ull"
        if number == -(1 << 63):
            return "(-9223372036854775807ll - 1)"
        return f"(({register(dtype)}){number}ll)"
    real = float(np.asarray(value).astype(dtype))
    kind = register(dtype)
    if real != real:
        return f"(({kind})NOT_A_NUMBER)"
    if real in (float("inf"), float("-inf")):
        return f"(({kind}){'-' if real < 0 else ''}WITHOUT_END)"
    return f"(({kind}){real!r})"


def converted(text: str, given: Any, to: Any) -> str:
    """A number in a register as one of another dtype."""
    if given == to:
        return text
    if to.kind == "b":
        return f"({text} != 0)"
    if is_half(to):
        if is_bfloat16(to):
            return f"wide_b(narrow_b((float)({text})))"
        wide = given == FLOAT64 or not is_float(given)
        return f"wide_h({'narrow_d((double)' if wide else 'narrow_h('}({text})))"
    if is_float(given) and to.kind in "iu" and to.itemsize < 4:
        return f"(({register(to)})(int)({text}))"
    return f"(({register(to)})({text}))"


__all__ = [
    "BOOL",
    "FLOAT32",
    "FLOAT64",
    "converted",
    "is_float",
    "is_half",
    "is_known",
    "literal",
    "loaded",
    "register",
    "storable",
    "stored",
]
