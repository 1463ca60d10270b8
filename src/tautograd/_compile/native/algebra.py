"""Numbers in registers written as formulas: `a * b + 1` on them becomes instructions.

Each operation is rounded by itself, as NumPy does it; `fma` is for polynomials, where a fused multiply and
add may be used if the processor has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .code import Code
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

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def lanes(self) -> int:
        return self.value.lanes

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
        kind = register_type(self.dtype, 1)
        name += "f" if self.dtype.itemsize == 4 else ""
        arguments = [self, *others]
        function = self.code.declare(name, kind, ", ".join([kind] * len(arguments)))
        code = self.code
        if self.lanes == 1:
            return self._new(
                f"call {kind} {function}({', '.join(x.value.typed for x in arguments)})"
            )
        result = "poison"
        for lane in range(self.lanes):
            parts = [code.new(f"extractelement {x.value.typed}, i64 {lane}") for x in arguments]
            number = code.new(f"call {kind} {function}({', '.join(f'{kind} {p}' for p in parts)})")
            result = code.new(
                f"insertelement {self.value.type} {result}, {kind} {number}, i64 {lane}"
            )
        return Term(code, Value(result, self.dtype, self.lanes))


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
