"""A kernel as it is written: its arguments, loops over a range, over vectors and what is left of them, and sums.

An element's value does not depend on where it lies: the last elements of a row are done by the same instructions as
all others, in a vector of which a part is masked off. Sums of float32 are added up in float64, so their
error is that of rounding the result, however long the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._compile.native.llvm.algebra import Term, where
from .._compile.native.llvm.code import PARAMETERS, Code, Shared
from .._compile.native.llvm.jit import host
from .._compile.native.llvm.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Value,
    constant,
    element_type,
    register_type,
    suffix,
)

BEGIN, END = "%begin", "%end"
_KINDS = {"a": "ptr", "n": "i64", "x": "double"}


class Variable:
    """A number, or a vector of them, that changes in loops (LLVM turns it into registers)."""

    def __init__(self, writer: Writer, first: Term) -> None:
        self._writer = writer
        self._kind, self._dtype, self._lanes = first.value.type, first.dtype, first.lanes
        self._place = writer.code.variable(self._kind)
        self.set(first)

    def set(self, term: Term) -> None:
        self._writer.code.do(f"store {term.value.typed}, ptr {self._place}")

    def get(self) -> Term:
        text = self._writer.code.new(f"load {self._kind}, ptr {self._place}")
        return Term(self._writer.code, Value(text, self._dtype, self._lanes))


class Writer:
    """The text of one kernel for one dtype."""

    def __init__(self, dtype: Any, signature: str) -> None:
        self.dtype = dtype
        self.lanes = host().vector_bytes // dtype.itemsize
        self.declared: dict[str, str] = {}
        self.code = Code(Shared(self.declared))
        self._signature = signature

    def text(self, name: str) -> str:
        lines = [f"define internal void @{name}({PARAMETERS}) nounwind {{", "entry:"]
        lines += self.code.shared.variables
        for place, kind in enumerate(self._signature):
            lines.append(f"  %a{place}p = getelementptr i64, ptr %args, i64 {place}")
            lines.append(f"  %a{place} = load {_KINDS[kind]}, ptr %a{place}p")
        return "\n".join([*lines, *self.code.lines, "  ret void", "}"])

    def arguments(self) -> list[str]:
        """The arguments' names, in order."""
        return [f"%a{place}" for place in range(len(self._signature))]

    def number(self, argument: str) -> Term:
        """A float argument as a number of the kernel's dtype."""
        return Term(self.code, Value(argument, FLOAT64, 1)).to(self.dtype)

    def float64(self, argument: str) -> Term:
        """A float argument as it was given."""
        return Term(self.code, Value(argument, FLOAT64, 1))

    def whole(self, argument: str) -> Term:
        """A whole number as a term."""
        return Term(self.code, Value(argument, INT64, 1))

    # --- whole numbers ------------------------------------------------------------------------------

    def plus(self, a: str, b: str | int) -> str:
        return self.code.new(f"add nsw i64 {a}, {b}")

    def minus(self, a: str, b: str | int) -> str:
        return self.code.new(f"sub nsw i64 {a}, {b}")

    def times(self, a: str, b: str | int) -> str:
        return self.code.new(f"mul nsw i64 {a}, {b}")

    def over(self, a: str, b: str | int) -> str:
        return self.code.new(f"udiv i64 {a}, {b}")

    def remainder(self, a: str, b: str | int) -> str:
        return self.code.new(f"urem i64 {a}, {b}")

    def least(self, a: str, b: str | int) -> str:
        less = self.code.new(f"icmp slt i64 {a}, {b}")
        return self.code.new(f"select i1 {less}, i64 {a}, i64 {b}")

    def most(self, a: str, b: str | int) -> str:
        more = self.code.new(f"icmp sgt i64 {a}, {b}")
        return self.code.new(f"select i1 {more}, i64 {a}, i64 {b}")

    # --- memory -------------------------------------------------------------------------------------

    def at(self, pointer: str, index: str, dtype: Any = None) -> str:
        """The address of an element."""
        kind = element_type(dtype or self.dtype)
        return self.code.new(f"getelementptr {kind}, ptr {pointer}, i64 {index}")

    def load(self, address: str, mask: str | None = None, dtype: Any = None) -> Term:
        """A vector at an address; what a mask hides is 0 and is not read."""
        dtype = dtype or self.dtype
        kind, size = register_type(dtype, self.lanes), dtype.itemsize
        if mask is None:
            text = self.code.new(f"load {kind}, ptr {address}, align {size}")
        else:
            flags = f"<{self.lanes} x i1>"
            function = self.code.declare(
                f"llvm.masked.load.{suffix(dtype, self.lanes)}.p0",
                kind,
                f"ptr, i32, {flags}, {kind}",
            )
            text = self.code.new(
                f"call {kind} {function}(ptr {address}, i32 {size}, {flags} {mask}, "
                f"{kind} zeroinitializer)"
            )
        return Term(self.code, Value(text, dtype, self.lanes))

    def store(self, term: Term, address: str, mask: str | None = None) -> None:
        size = term.dtype.itemsize
        if mask is None:
            self.code.do(f"store {term.value.typed}, ptr {address}, align {size}")
            return
        flags = f"<{self.lanes} x i1>"
        function = self.code.declare(
            f"llvm.masked.store.{suffix(term.dtype, self.lanes)}.p0",
            "void",
            f"{term.value.type}, ptr, i32, {flags}",
        )
        self.code.do(
            f"call void {function}({term.value.typed}, ptr {address}, i32 {size}, {flags} {mask})"
        )

    def load_one(self, address: str, dtype: Any = None) -> Term:
        dtype = dtype or self.dtype
        text = self.code.new(f"load {element_type(dtype)}, ptr {address}")
        return Term(self.code, Value(text, dtype, 1))

    def store_one(self, term: Term, address: str) -> None:
        self.code.do(f"store {term.value.typed}, ptr {address}")

    def shuffled(self, one: Term, other: Term, places: Sequence[int]) -> Term:
        """A vector of numbers from two, by their places in the first and then the second."""
        numbers = ", ".join(f"i32 {place}" for place in places)
        text = self.code.new(
            f"shufflevector {one.value.typed}, {other.value.typed}, <{len(places)} x i32> <{numbers}>"
        )
        return Term(self.code, Value(text, one.dtype, len(places)))

    # --- loops --------------------------------------------------------------------------------------

    @contextmanager
    def each(self, start: str, stop: str, step: int = 1) -> Iterator[str]:
        """A loop that may run no time at all."""
        some = self.code.new(f"icmp slt i64 {start}, {stop}")
        with self.code.when(some), self.code.loop(start, stop, step) as counter:
            yield counter

    def vectors(
        self, count: str, body: Callable[[str, str | None], None], start: str = "0"
    ) -> None:
        """`body(index, mask)` for vectors that make up `range(start, count)`; the last may be masked."""
        length = self.minus(count, start)
        whole = self.code.new(f"and i64 {length}, {-self.lanes}")
        end = self.plus(start, whole)
        with self.each(start, end, self.lanes) as index:
            body(index, None)
        rest = self.minus(length, whole)
        with self.code.when(self.code.new(f"icmp ne i64 {rest}, 0")):
            body(end, self.first_lanes(rest))

    def first_lanes(self, count: str) -> str:
        """A mask that leaves the first lanes."""
        numbers = ", ".join(f"i64 {lane}" for lane in range(self.lanes))
        kind = f"<{self.lanes} x i64>"
        first = self.code.new(f"insertelement {kind} poison, i64 {count}, i64 0")
        limit = self.code.new(
            f"shufflevector {kind} {first}, {kind} poison, <{self.lanes} x i32> zeroinitializer"
        )
        return self.code.new(f"icmp slt {kind} <{numbers}>, {limit}")

    # --- sums ---------------------------------------------------------------------------------------

    def constant(self, number: float, lanes: int | None = None, dtype: Any = None) -> Term:
        return Term(self.code, constant(number, dtype or self.dtype, lanes or self.lanes))

    def splat(self, one: Term) -> Term:
        return self.constant(0.0, dtype=one.dtype).lift(one)

    def sum_variable(self) -> Variable:
        """A vector of float64 to add up into."""
        return Variable(self, self.constant(0.0, dtype=FLOAT64))

    def variable(self, first: Term) -> Variable:
        return Variable(self, first)

    def add_to(self, total: Variable, term: Term) -> None:
        total.set(total.get() + term.to(FLOAT64))

    def total(self, vector: Term, how: str = "fadd") -> Term:
        """All lanes in one number, in pairs of pairs: their sum, or the largest that is no NaN."""
        kind, one = vector.value.type, element_type(vector.dtype)
        name = f"llvm.vector.reduce.{how}.{suffix(vector.dtype, vector.lanes)}"
        if how == "fadd":
            function = self.code.declare(name, one, f"{one}, {kind}")
            text = self.code.new(f"call reassoc {one} {function}({one} -0.0, {vector.value.typed})")
        else:
            function = self.code.declare(name, one, kind)
            text = self.code.new(f"call {one} {function}({vector.value.typed})")
        return Term(self.code, Value(text, vector.dtype, 1))

    def kept(self, mask: str | None, term: Term, otherwise: float) -> Term:
        """A vector with another number where a mask hides it."""
        if mask is None:
            return term
        return where(Term(self.code, Value(mask, BOOL, self.lanes)), term, otherwise)


__all__ = ["BEGIN", "END", "FLOAT32", "FLOAT64", "INT64", "Variable", "Writer"]
