"""NumPy's dtypes as LLVM's types, constants as text, and conversions between them as NumPy does them.

A bool is one byte in memory and one bit in a register. Half precision (float16, bfloat16) is stored as
such and computed in float32.
"""

from __future__ import annotations

import functools
import struct
from typing import Any, NamedTuple

import numpy as np

from .code import Code

BOOL = np.dtype(bool)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)

_FLOATS = {"float16": "half", "float32": "float", "float64": "double"}


class Value(NamedTuple):
    """A number, or several in a vector, in a register (or a constant): how it is written, and its dtype."""

    text: str
    dtype: Any
    lanes: int

    @property
    def type(self) -> str:
        return register_type(self.dtype, self.lanes)

    @property
    def typed(self) -> str:
        return f"{self.type} {self.text}"

    def number(self) -> int | None:
        """The whole number that it is, the same in every lane, if it is a constant."""
        text = self.text.removeprefix(f"splat ({element_type(self.dtype)} ").removesuffix(")")
        return int(text) if text.removeprefix("-").isdecimal() else None


@functools.cache
def is_bfloat16(dtype: Any) -> bool:
    return bool(dtype.name == "bfloat16")


@functools.cache
def is_half(dtype: Any) -> bool:
    """Whether a dtype is one of those that are computed in float32."""
    return dtype.name in ("float16", "bfloat16")


@functools.cache
def is_float(dtype: Any) -> bool:
    return dtype.name in _FLOATS or is_bfloat16(dtype)


@functools.cache
def is_signed(dtype: Any) -> bool:
    return bool(dtype.kind == "i")


@functools.cache
def is_known(dtype: Any) -> bool:
    """Whether numbers of a dtype can be computed with here."""
    return (dtype.kind in "biu" and dtype.isnative) or (is_float(dtype) and dtype.isnative)


@functools.cache
def element_type(dtype: Any) -> str:
    """The type of one number in a register."""
    if dtype.kind == "b":
        return "i1"
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    if is_bfloat16(dtype):
        return "i16"  # never computed with: converted where it is loaded and stored
    return _FLOATS[dtype.name]


@functools.cache
def register_type(dtype: Any, lanes: int) -> str:
    return vector(element_type(dtype), lanes)


@functools.cache
def memory_type(dtype: Any, lanes: int) -> str:
    return vector("i8" if dtype.kind == "b" else element_type(dtype), lanes)


def vector(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"<{lanes} x {element}>"


@functools.cache
def suffix(dtype: Any, lanes: int) -> str:
    """How the name of an intrinsic function ends for a type: `v16f32`."""
    element = {"half": "f16", "float": "f32", "double": "f64"}.get(element_type(dtype))
    element = element or element_type(dtype)
    return element if lanes == 1 else f"v{lanes}{element}"


def constant(value: Any, dtype: Any, lanes: int) -> Value:
    """A number as a constant, the same in every lane."""
    if dtype.kind == "b":
        text = "true" if value else "false"
    elif dtype.kind in "iu":
        text = str(int(value))
    elif is_bfloat16(dtype):
        text = str(int(np.asarray(value, dtype).view(np.uint16)))
    elif dtype.name == "float16":
        text = f"0xH{int(np.asarray(value, dtype).view(np.uint16)):04X}"
    else:
        text = "0x" + struct.pack(">d", float(dtype.type(value))).hex().upper()
    if lanes > 1:
        text = f"splat ({element_type(dtype)} {text})"
    return Value(text, dtype, lanes)


def splat(code: Code, value: Value, lanes: int) -> Value:
    """One number repeated in every lane."""
    if value.lanes == lanes:
        return value
    if not value.text.startswith("%"):
        return Value(f"splat ({value.typed})", value.dtype, lanes)
    kind = register_type(value.dtype, lanes)
    first = code.new(f"insertelement {kind} poison, {value.typed}, i64 0")
    whole = code.new(
        f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer"
    )
    return Value(whole, value.dtype, lanes)


def convert(code: Code, value: Value, to: Any) -> Value:
    """A value in another dtype, as NumPy casts it."""
    dtype = value.dtype
    if dtype == to:
        return value
    lanes = value.lanes
    if to.kind == "b":
        return _truth(code, value)
    if is_half(dtype):
        return convert(code, widen(code, value), to)
    if is_half(to):
        return _narrow(code, value, to)
    kind = register_type(to, lanes)

    def cast(how: str, x: Value, result: Any) -> Value:
        kind = register_type(result, lanes)
        return Value(code.new(f"{how} {x.typed} to {kind}"), result, lanes)

    if is_float(dtype) and is_float(to):
        return cast("fpext" if to.itemsize > dtype.itemsize else "fptrunc", value, to)
    if is_float(to):
        return cast("sitofp" if is_signed(dtype) else "uitofp", value, to)
    if is_float(dtype):
        if to.itemsize == 8:
            return cast("fptosi" if is_signed(to) else "fptoui", value, to)
        # a conversion to a wider integer, then its low bits: what C compilers make of NumPy's cast
        through = INT64 if to == np.uint32 else INT32
        whole = cast("fptosi", value, through)
        if to.itemsize == through.itemsize:
            return Value(whole.text, to, lanes)
        return cast("trunc", whole, to)
    if to.itemsize == dtype.itemsize and dtype.kind != "b":
        return Value(value.text, to, lanes)
    if to.itemsize < dtype.itemsize:
        return cast("trunc", value, to)
    return Value(
        code.new(f"{'sext' if is_signed(dtype) else 'zext'} {value.typed} to {kind}"), to, lanes
    )


def widen(code: Code, value: Value) -> Value:
    """Half precision in float32, which holds it exactly."""
    lanes = value.lanes
    kind = register_type(FLOAT32, lanes)
    if not is_bfloat16(value.dtype):
        return Value(code.new(f"fpext {value.typed} to {kind}"), FLOAT32, lanes)
    word = vector("i32", lanes)
    bits = code.new(f"zext {value.typed} to {word}")
    bits = code.new(f"shl {word} {bits}, {constant(16, INT32, lanes).text}")
    return Value(code.new(f"bitcast {word} {bits} to {kind}"), FLOAT32, lanes)


def _truth(code: Code, value: Value) -> Value:
    value = widen(code, value) if is_half(value.dtype) else value
    zero = constant(0, value.dtype, value.lanes).text
    compare = "fcmp une" if is_float(value.dtype) else "icmp ne"
    return Value(code.new(f"{compare} {value.typed}, {zero}"), BOOL, value.lanes)


def _narrow(code: Code, value: Value, to: Any) -> Value:
    """To half precision, rounded to the nearest even once."""
    lanes = value.lanes
    if value.dtype == FLOAT64 and not is_bfloat16(to):
        value = _round_to_odd(code, value)
    value = convert(code, value, FLOAT32)
    if not is_bfloat16(to):
        return Value(code.new(f"fptrunc {value.typed} to {register_type(to, lanes)}"), to, lanes)
    word = vector("i32", lanes)

    def number(n: int) -> str:
        return constant(n, INT32, lanes).text

    bits = code.new(f"bitcast {value.typed} to {word}")
    high = code.new(f"lshr {word} {bits}, {number(16)}")
    odd = code.new(f"and {word} {high}, {number(1)}")
    up = code.new(f"add {word} {bits}, {odd}")
    up = code.new(f"add {word} {up}, {number(0x7FFF)}")
    up = code.new(f"lshr {word} {up}, {number(16)}")
    quiet = code.new(f"or {word} {high}, {number(0x40)}")
    nan = code.new(f"fcmp uno {value.typed}, {value.text}")
    bits = code.new(f"select {vector('i1', lanes)} {nan}, {word} {quiet}, {word} {up}")
    return Value(code.new(f"trunc {word} {bits} to {vector('i16', lanes)}"), to, lanes)


def _round_to_odd(code: Code, value: Value) -> Value:
    """float64 in float32 so that rounding it again gives what one rounding would."""
    lanes = value.lanes
    word, flag = vector("i32", lanes), vector("i1", lanes)
    single, double = register_type(FLOAT32, lanes), register_type(FLOAT64, lanes)
    near = code.new(f"fptrunc {value.typed} to {single}")
    back = code.new(f"fpext {single} {near} to {double}")
    absolute = code.intrinsic("fabs", FLOAT64, lanes)
    size = code.new(f"call {double} {absolute}({double} {back})")
    wanted = code.new(f"call {double} {absolute}({value.typed})")
    over = code.new(f"fcmp ogt {double} {size}, {wanted}")
    inexact = code.new(f"fcmp one {double} {size}, {wanted}")
    bits = code.new(f"bitcast {single} {near} to {word}")
    less = code.new(f"sext {flag} {over} to {word}")
    bits = code.new(f"add {word} {bits}, {less}")
    one = code.new(f"zext {flag} {inexact} to {word}")
    bits = code.new(f"or {word} {bits}, {one}")
    return Value(code.new(f"bitcast {word} {bits} to {single}"), FLOAT32, lanes)
