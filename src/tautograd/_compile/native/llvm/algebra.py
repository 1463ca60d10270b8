"""Numbers in registers written as formulas: `a * b + 1` on them becomes instructions.

Each operation is rounded by itself, as NumPy does it; `fma` is for polynomials, where a fused multiply and
add may be used if the processor has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...._arrays.attributes import attribute_of
from .code import Code
from .jit import host
from .types import BOOL, Value, constant, convert, is_float, is_signed, register_type, splat

_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_INTEGER = {"+": "add", "-": "sub", "*": "mul"}
_BITS = {4: np.dtype(np.int32), 8: np.dtype(np.int64), 2: np.dtype(np.int16)}


class Term:
    """A value and the code that computes with it."""

    __slots__ = ("code", "value")

    def __init__(self, code: Code, value: Value) -> None:
        self.code = code
        self.value = value

    dtype = attribute_of("value.dtype")
    lanes = attribute_of("value.lanes")

    @property
    def is_float(self) -> bool:
        return is_float(self.value.dtype)

    def like(self, number: Any, dtype: Any = None) -> Term:
        """A number as a constant of this dtype (or another), in as many lanes."""
        return Term(self.code, constant(number, dtype or self.dtype, self.lanes))

    def lift(self, other: Term | float) -> Term:
        if not isinstance(other, Term):
            return self.like(other)
        if other.lanes != self.lanes:
            return Term(self.code, splat(self.code, other.value, self.lanes))
        return other

    def _new(self, text: str, dtype: Any = None) -> Term:
        return Term(self.code, Value(self.code.new(text), dtype or self.dtype, self.lanes))

    def _binary(self, sign: str, other: Term | float) -> Term:
        name = (_FLOAT if self.is_float else _INTEGER)[sign]
        return self._new(f"{name} {self.value.typed}, {self.lift(other).value.text}")

    def __add__(self, other: Term | float) -> Term:
        return self._binary("+", other)

    def __sub__(self, other: Term | float) -> Term:
        return self._binary("-", other)

    def __mul__(self, other: Term | float) -> Term:
        return self._binary("*", other)

    def __truediv__(self, other: Term | float) -> Term:
        return self._binary("/", other)

    def __radd__(self, other: float) -> Term:
        return self.like(other) + self

    def __rsub__(self, other: float) -> Term:
        return self.like(other) - self

    def __rmul__(self, other: float) -> Term:
        return self.like(other) * self

    def __rtruediv__(self, other: float) -> Term:
        return self.like(other) / self

    def __neg__(self) -> Term:
        if self.is_float:
            return self._new(f"fneg {self.value.typed}")
        return self.like(0) - self

    def integer(self, name: str, other: Term | int) -> Term:
        """An instruction on integers by its name: `and`, `shl`, `sdiv`, …"""
        return self._new(f"{name} {self.value.typed}, {self.lift(other).value.text}")

    def __and__(self, other: Term | int) -> Term:
        return self.integer("and", other)

    def __or__(self, other: Term | int) -> Term:
        return self.integer("or", other)

    def __xor__(self, other: Term | int) -> Term:
        return self.integer("xor", other)

    def __invert__(self) -> Term:
        return self.integer("xor", 1 if self.dtype.kind == "b" else -1)

    def compare(self, how: str, other: Term | float) -> Term:
        """`lt`, `le`, `gt`, `ge`, `eq` or `ne`; with a NaN only `ne` is true."""
        if self.is_float:
            name = "fcmp " + ("une" if how == "ne" else "o" + how)
        elif how in ("eq", "ne"):
            name = "icmp " + how
        else:
            name = f"icmp {'s' if is_signed(self.dtype) else 'u'}{how}"
        return self._new(f"{name} {self.value.typed}, {self.lift(other).value.text}", BOOL)

    def is_nan(self) -> Term:
        return self._new(f"fcmp uno {self.value.typed}, {self.value.text}", BOOL)

    def to(self, dtype: Any) -> Term:
        return Term(self.code, convert(self.code, self.value, dtype))

    def bits(self) -> Term:
        """A float's bits as an integer."""
        dtype = _BITS[self.dtype.itemsize]
        return self._new(f"bitcast {self.value.typed} to {register_type(dtype, self.lanes)}", dtype)

    def as_float(self, dtype: Any) -> Term:
        """An integer's bits as a float."""
        return self._new(f"bitcast {self.value.typed} to {register_type(dtype, self.lanes)}", dtype)

    def call(self, name: str, *others: Term | float) -> Term:
        """One of LLVM's own functions, by its name: `fabs`, `sqrt`, `floor`, …"""
        arguments = [self.value, *(self.lift(x).value for x in others)]
        function = self.code.intrinsic(name, self.dtype, self.lanes, len(arguments))
        return self._new(
            f"call {self.value.type} {function}({', '.join(x.typed for x in arguments)})"
        )

    def abs(self) -> Term:
        if self.is_float:
            return self.call("fabs")
        return where(self.compare("lt", 0), -self, self) if is_signed(self.dtype) else self

    def library(self, name: str, *others: Term) -> Term:
        """The C library's function of the name, on one lane after another (slow)."""
        arguments = [self, *others]
        function = _lane_by_lane(self.code, name, self.dtype, self.lanes, len(arguments))
        typed = ", ".join(x.value.typed for x in arguments)
        return self._new(f"call {self.value.type} @{function}({typed})")


def where(condition: Term, x: Term, y: Term | float) -> Term:
    y = x.lift(y)
    return Term(
        x.code,
        Value(
            x.code.new(f"select {condition.value.typed}, {x.value.typed}, {y.value.typed}"),
            x.dtype,
            x.lanes,
        ),
    )


def fma(a: Term, b: Term | float, c: Term | float) -> Term:
    """a·b + c, rounded once where the processor can."""
    return a.call("fmuladd", b, c)


def polynomial(x: Term, coefficients: Sequence[float]) -> Term:
    """Horner's rule; coefficients from the constant term up."""
    result = x.like(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = fma(result, x, c)
    return result


def has_scaling(y: Term) -> bool:
    """Whether the processor multiplies such a vector by powers of two in one instruction."""
    return y.lanes * y.dtype.itemsize == 64 and y.is_float and host().scales


def scaled(y: Term, n: Term) -> Term:
    """y · 2^n for whole n, rounded once."""
    kind, flags = y.value.type, f"i{y.lanes}"
    name = "llvm.x86.avx512.mask.scalef.p" + ("s" if y.dtype.itemsize == 4 else "d") + ".512"
    function = y.code.declare(name, kind, f"{kind}, {kind}, {kind}, {flags}, i32")
    text = y.code.new(
        f"call {kind} {function}({y.value.typed}, {n.value.typed}, {kind} zeroinitializer, "
        f"{flags} -1, i32 4)"
    )
    return Term(y.code, Value(text, y.dtype, y.lanes))


def has_tables(x: Term) -> bool:
    """Whether the processor picks numbers out of a table of sixteen in one instruction."""
    return x.lanes == 16 and x.dtype.itemsize == 4 and x.is_float and host().scales


def picked(table: Sequence[float], places: Term) -> Term:
    """For each lane the number at a place (its low four bits count)."""
    like = places.as_float(np.dtype(np.float32))
    kind = like.value.type
    numbers = ", ".join(f"float {constant(n, like.dtype, 1).text}" for n in table)
    function = like.code.declare("llvm.x86.avx512.permvar.sf.512", kind, f"{kind}, <16 x i32>")
    return like._new(f"call {kind} {function}({kind} <{numbers}>, {places.value.typed})")


def if_any(condition: Term, usual: Term, otherwise: Callable[[], Term]) -> Term:
    """`usual`; but where the condition holds in any lane, what `otherwise` computes for all of them."""
    code, lanes = usual.code, usual.lanes
    found = condition.value.text
    if lanes > 1:
        flags = condition.value.type
        function = code.declare(f"llvm.vector.reduce.or.v{lanes}i1", "i1", flags)
        found = code.new(f"call i1 {function}({flags} {found})")
    result = code.variable(usual.value.type)
    code.do(f"store {usual.value.typed}, ptr {result}")
    label = code.name()[1:]
    code.do(f"br i1 {found}, label %{label}.rare, label %{label}.on")
    code.lines.append(f"{label}.rare:")
    code.do(f"store {otherwise().value.typed}, ptr {result}")
    code.do(f"br label %{label}.on")
    code.lines.append(f"{label}.on:")
    kind = usual.value.type
    return Term(code, Value(code.new(f"load {kind}, ptr {result}"), usual.dtype, lanes))


def _lane_by_lane(code: Code, name: str, dtype: Any, lanes: int, arity: int) -> str:
    """The name of a function that calls the C library's for each lane; defined once in a module."""
    one, many = register_type(dtype, 1), register_type(dtype, lanes)
    name += "f" if dtype.itemsize == 4 else ""
    code.declare(name, one, ", ".join([one] * arity))
    if lanes == 1:
        return name
    each = f"taut.{name}.{lanes}"
    parameters = ", ".join(f"{many} %x{i}" for i in range(arity))
    lines = [f"define internal {many} @{each}({parameters}) noinline nounwind {{"]
    result = "poison"
    for lane in range(lanes):
        lines += [f"  %p{lane}.{i} = extractelement {many} %x{i}, i64 {lane}" for i in range(arity)]
        numbers = ", ".join(f"{one} %p{lane}.{i}" for i in range(arity))
        lines.append(f"  %y{lane} = call {one} @{name}({numbers})")
        lines.append(f"  %r{lane} = insertelement {many} {result}, {one} %y{lane}, i64 {lane}")
        result = f"%r{lane}"
    lines += [f"  ret {many} {result}", "}"]
    code.shared.declared.setdefault(each, "\n".join(lines))
    return each
