"""How PyTorch names element types in error messages, and the limits of the types.

PyTorch uses two spellings: its own ('Byte') when a kernel is missing, C++'s ('unsigned char')
when a bound is out of range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import ml_dtypes
import numpy as np

from .arithmetic import bfloat16

if TYPE_CHECKING:
    import numpy.typing as npt


class _Names(NamedTuple):
    torch: str
    cpp: str


_NAMES: dict[np.dtype, _Names] = {
    np.dtype(key): _Names(*names)
    for key, names in {
        "uint8": ("Byte", "unsigned char"),
        "int8": ("Char", "signed char"),
        "int16": ("Short", "short int"),
        "int32": ("Int", "int"),
        "int64": ("Long", "long int"),
        "uint16": ("UInt16", "short unsigned int"),
        "uint32": ("UInt32", "unsigned int"),
        "uint64": ("UInt64", "long unsigned int"),
        "bool": ("Bool", "bool"),
        "float16": ("Half", "c10::Half"),
        "float32": ("Float", "float"),
        "float64": ("Double", "double"),
        "complex64": ("ComplexFloat", "c10::complex<float>"),
        "complex128": ("ComplexDouble", "c10::complex<double>"),
    }.items()
}
_NAMES[bfloat16] = _Names("BFloat16", "c10::BFloat16")
for _float8 in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"):
    _spoken = f"Float8_{_float8}"
    _NAMES[np.dtype(getattr(ml_dtypes, f"float8_{_float8}"))] = _Names(_spoken, f"c10::{_spoken}")

# Bits of the significand, the implicit one included.
_DIGITS = {np.dtype(np.float16): 11, bfloat16: 8, np.dtype(np.float32): 24}
_DIGITS[np.dtype(np.float64)] = 53

_HIGHEST = {np.dtype(kind): float(np.finfo(kind).max) for kind in ("f2", "f4", "f8")}
# 8 significant bits below 2**128
_HIGHEST[bfloat16] = 2.0**128 - 2.0**120

FLOATING = frozenset(_DIGITS)
FLOAT8 = frozenset(kind for kind, names in _NAMES.items() if names.torch.startswith("Float8"))
BAREBONES_UNSIGNED = frozenset(map(np.dtype, (np.uint16, np.uint32, np.uint64)))


def torch_name(dtype: np.dtype) -> str:
    """PyTorch's name, as in "not implemented for 'Byte'"."""
    return _NAMES[dtype].torch


def cpp_name(dtype: np.dtype) -> str:
    """C++'s name, as in "out of bounds for unsigned char"."""
    return _NAMES[dtype].cpp


def significand_digits(dtype: np.dtype) -> int:
    """Every integer up to 2**digits is exact in the floating-point `dtype`."""
    return _DIGITS[dtype]


def known(dtype: npt.DTypeLike) -> np.dtype:
    """`dtype` as a NumPy dtype that PyTorch has too."""
    resolved = np.dtype(dtype)
    if resolved not in _NAMES:
        raise TypeError(f"dtype: {resolved} has no counterpart in PyTorch")
    return resolved


def not_implemented(kernel: str, dtype: np.dtype) -> NotImplementedError:
    """The error for an element type that a kernel does not take."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{torch_name(dtype)}'")


def require_floating(kernel: str, dtype: npt.DTypeLike) -> np.dtype:
    """`dtype`, or the error of a kernel for real floating-point types only."""
    resolved = known(dtype)
    if resolved not in FLOATING:
        raise not_implemented(kernel, resolved)
    return resolved


def float_limits(dtype: np.dtype) -> tuple[float, float]:
    """The lowest and the highest finite number of a floating-point `dtype`."""
    return -_HIGHEST[dtype], _HIGHEST[dtype]
