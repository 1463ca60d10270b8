"""Sums and their kin: one accumulator per lane, which are combined at the end.

A sum of floats takes at most `ROUNDS` additions in a row; then the lanes' sums are put aside into a total
that carries its rounding error along, so a long sum is no worse than NumPy's pairwise one. The least or
greatest of numbers has NumPy's bits, but for the sign of a zero among zeros of both signs: that depends on
the order, as it does in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .fusion.loop_order import Layout
from .fusion.steps import DOT, Step
from .llvm import scalar_ops
from .llvm.algebra import Term, fma, where
from .llvm.code import Code
from .llvm.types import BOOL, FLOAT32, Value, constant, is_float, is_half, register_type
from .memory import mask

ROUNDS = 64
FUNCTIONS = ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or")


def identity(function: str, dtype: Any) -> Any:
    """The number that changes nothing."""
    if function in ("add", DOT, "logical_or"):
        return 0
    if function in ("multiply", "logical_and"):
        return 1
    if dtype.kind == "b":
        return function == "minimum"
    if is_float(dtype):
        return -np.inf if function == "maximum" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if function == "maximum" else limits.max


def rounds(layout: Layout) -> int:
    """How many additions in a row one lane would have."""
    count = 1
    for d in layout.inner:
        count *= layout.sizes[d]
    return count if layout.across else -(-count // layout.lanes)


class Accumulator:
    """A running total in a variable, as many as there are lanes."""

    def __init__(self, code: Code, step: Step, lanes: int) -> None:
        self.function = "add" if step.function == DOT else step.function
        dtype = step.loop[1]
        if self.function in ("logical_and", "logical_or"):
            dtype = BOOL
        self.dtype = FLOAT32 if is_half(dtype) else dtype
        self.lanes = lanes
        self.kind = register_type(self.dtype, lanes)
        self.compensated = self.function == "add" and is_float(self.dtype)
        self.start = constant(identity(self.function, self.dtype), self.dtype, lanes)
        self.variable = code.variable(self.kind)
        code.do(f"store {self.start.typed}, ptr {self.variable}")
        self.total_variable = self.error_variable = ""
        if self.compensated:
            self.total_variable = code.variable(self.kind)
            self.error_variable = code.variable(self.kind)
            code.do(f"store {self.start.typed}, ptr {self.total_variable}")
            code.do(f"store {self.start.typed}, ptr {self.error_variable}")
        self.used_aside = False

    def _get(self, code: Code, variable: str) -> Value:
        return Value(code.new(f"load {self.kind}, ptr {variable}"), self.dtype, self.lanes)

    def take(self, code: Code, values: list[Value], live: int, product: bool) -> None:
        """Combine with the values of the lanes that are live."""
        now = self._get(code, self.variable)
        if product:
            result = fma(Term(code, values[0]), Term(code, values[1]), Term(code, now)).value
        else:
            loop = (self.dtype,) * 3
            result = scalar_ops.apply(code, self.function, [now, values[0]], loop)
        if live < self.lanes:
            alive = Value(mask(self.lanes, live), BOOL, self.lanes)
            result = where(Term(code, alive), Term(code, result), Term(code, now)).value
        code.do(f"store {result.typed}, ptr {self.variable}")

    def put_aside(self, code: Code) -> None:
        """Add what was summed so far to the total, whose rounding error is kept (Knuth's two-sum)."""
        if not self.compensated:
            return
        self.used_aside = True
        part, total, error = (
            Term(code, self._get(code, v))
            for v in (self.variable, self.total_variable, self.error_variable)
        )
        new = total + part
        back = new - total
        lost = (total - (new - back)) + (part - back)
        code.do(f"store {new.value.typed}, ptr {self.total_variable}")
        code.do(f"store {(error + lost).value.typed}, ptr {self.error_variable}")
        code.do(f"store {self.start.typed}, ptr {self.variable}")

    def total(self, code: Code, across: bool) -> Value:
        """The result: per lane if the vector runs across rows, else of all lanes together."""
        result = self._get(code, self.variable)
        if self.used_aside:
            total = Term(code, self._get(code, self.total_variable))
            error = Term(code, self._get(code, self.error_variable))
            # an infinite total has no meaningful error
            sound = error.compare("eq", error)
            result = (total + where(sound, error, 0.0)).value
        if not across:
            result = self._fold(code, result)
        return result

    def _fold(self, code: Code, value: Value) -> Value:
        lanes = value.lanes
        while lanes > 1:
            half = lanes // 2
            kind = register_type(self.dtype, lanes)
            halves = []
            for first in (0, half):
                places = ", ".join(f"i32 {first + i}" for i in range(half))
                halves.append(
                    code.new(
                        f"shufflevector {kind} {value.text}, {kind} poison, <{half} x i32> <{places}>"
                    )
                )
            if half == 1:
                one = register_type(self.dtype, 1)
                halves = [code.new(f"extractelement <1 x {one}> {h}, i64 0") for h in halves]
            parts = [Value(h, self.dtype, half) for h in halves]
            value = scalar_ops.apply(code, self.function, parts, (self.dtype,) * 3)
            lanes = half
        return value
