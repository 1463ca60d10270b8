"""Conditions: which of two labels to go on at."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .layout import ARRAY_DIMENSIONS, ARRAY_FLAGS, C_ARRAY, C_CONTIGUOUS
from .lines import Lines, Value

_FLAGS = {"c_contiguous": C_CONTIGUOUS, "carray": C_ARRAY}
ORDERS = {ast.Lt: 0, ast.LtE: 1, ast.Eq: 2, ast.NotEq: 3, ast.Gt: 4, ast.GtE: 5}
_SIGNED = {
    ast.Lt: "slt",
    ast.LtE: "sle",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Gt: "sgt",
    ast.GtE: "sge",
}


class Conditions(Lines):
    """What stands in an `if`; values are the business of who builds on it."""

    def value(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def condition(self, node: ast.expr, yes: str, no: str) -> None:
        """Go on at one label or at the other."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.condition(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            *firsts, last = node.values
            for part in firsts:
                more = self.label()
                if isinstance(node.op, ast.And):
                    self.condition(part, more, no)
                else:
                    self.condition(part, yes, more)
                self.begin(more)
            self.condition(last, yes, no)
        elif isinstance(node, ast.Compare):
            self._comparisons(node, yes, no)
        elif isinstance(node, ast.Call) and self.is_builtin(node.func, isinstance):
            o, kind = self.value(node.args[0]), self.value(node.args[1])
            found = self.new(f"call i32 @is_instance(ptr {o[0]}, ptr {kind[0]})")
            self.status(found)
            self.release(kind)
            self.release(o)
            self._branch(f"icmp ne i32 {found}, 0", yes, no)
        elif (flags := self._flags(node)) is not None:
            self._on_flags(node, *flags, yes, no)
        else:
            self._on_truth(self.value(node), yes, no)

    def _on_truth(self, value: Value, yes: str, no: str) -> None:
        found = self.new(f"call i32 @truth(ptr {value[0]})")
        self.status(found)
        self.release(value)
        self._branch(f"icmp ne i32 {found}, 0", yes, no)

    def _branch(self, test: str, yes: str, no: str) -> None:
        self.do(f"br i1 {self.new(test)}, label %{yes}, label %{no}")
        self.reachable = False

    def _flags(self, node: ast.expr) -> tuple[ast.expr, int] | None:
        """`x.flags.c_contiguous`: the array, and the bits."""
        if not isinstance(node, ast.Attribute) or node.attr not in _FLAGS:
            return None
        inner = node.value
        if not isinstance(inner, ast.Attribute) or inner.attr != "flags":
            return None
        return inner.value, _FLAGS[node.attr]

    def _on_flags(self, node: ast.expr, array: ast.expr, bits: int, yes: str, no: str) -> None:
        whole = self.value(array)
        fast, slow = self.label(), self.label()
        same = self.new(f"icmp eq ptr {self.type_of(whole[0])}, {self.held(np.ndarray)}")
        self.do(f"br i1 {same}, label %{fast}, label %{slow}")
        before = list(self.live)
        self.begin(fast)
        at = self.new(f"getelementptr i8, ptr {whole[0]}, i64 {ARRAY_FLAGS}")
        flags = self.new(f"and i32 {self.new(f'load i32, ptr {at}')}, {bits}")
        self.release(whole)
        self._branch(f"icmp eq i32 {flags}, {bits}", yes, no)
        self.live = before
        self.begin(slow)
        assert isinstance(node, ast.Attribute)
        found = self.new(
            f"call ptr @attribute(ptr {whole[0]}, ptr {self.cache()}, ptr {self.named('flags')})"
        )
        middle = self._after(whole, found)
        self._on_truth(self._after(middle, self._ask(middle, node.attr)), yes, no)

    def _dimensions(self, node: ast.Compare) -> tuple[ast.expr, str, int] | None:
        """`x.ndim > 1`."""
        left = node.left
        if not isinstance(left, ast.Attribute) or left.attr != "ndim" or len(node.ops) != 1:
            return None
        right = node.comparators[0]
        sign = _SIGNED.get(type(node.ops[0]))
        if sign is None or not isinstance(right, ast.Constant) or type(right.value) is not int:
            return None
        return left.value, sign, right.value

    def _comparisons(self, node: ast.Compare, yes: str, no: str) -> None:
        shape = self._dimensions(node)
        if shape is not None:
            self._on_dimensions(node, *shape, yes, no)
            return
        left: Any = self.value(node.left)
        rights = list(zip(node.ops, node.comparators, strict=True))
        for i, (op, part) in enumerate(rights):
            right = self.value(part)
            is_last = i == len(rights) - 1
            if len(rights) > 1:  # (a variable has no end before the function's)
                left, right = self._as_variable(left), self._as_variable(right)
            more = yes if is_last else self.label()
            self._compare(op, left, right, more, no)
            if not is_last:
                self.begin(more)
            left = right

    def _as_variable(self, value: Value) -> Value:
        """The same, held by a variable."""
        if not value[1]:
            return value
        kept = self.variable()
        self.set_variable(kept, value)
        return value[0], False

    def _compare(self, op: ast.cmpop, left: Value, right: Value, yes: str, no: str) -> None:
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = self.new(f"icmp eq ptr {left[0]}, {right[0]}")
            self.release(right)
            self.release(left)
            if isinstance(op, ast.IsNot):
                yes, no = no, yes
            self.do(f"br i1 {same}, label %{yes}, label %{no}")
            self.reachable = False
            return
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self.new(f"call i32 @PySequence_Contains(ptr {right[0]}, ptr {left[0]})")
            self.status(found)
            self.release(right)
            self.release(left)
            if isinstance(op, ast.NotIn):
                yes, no = no, yes
            self._branch(f"icmp ne i32 {found}, 0", yes, no)
            return
        order = ORDERS[type(op)]
        answer = self.new(f"call ptr @compared(ptr {left[0]}, ptr {right[0]}, i32 {order})")
        self.release(right, later=answer)
        self.release(left, later=answer)
        self._on_truth(self.made(answer), yes, no)

    def _on_dimensions(
        self, node: ast.Compare, array: ast.expr, sign: str, to: int, yes: str, no: str
    ) -> None:
        whole = self.value(array)
        fast, slow = self.label(), self.label()
        same = self.new(f"icmp eq ptr {self.type_of(whole[0])}, {self.held(np.ndarray)}")
        self.do(f"br i1 {same}, label %{fast}, label %{slow}")
        before = list(self.live)
        self.begin(fast)
        at = self.new(f"getelementptr i8, ptr {whole[0]}, i64 {ARRAY_DIMENSIONS}")
        n = self.new(f"load i32, ptr {at}")
        self.release(whole)
        self._branch(f"icmp {sign} i32 {n}, {to}", yes, no)
        self.live = before
        self.begin(slow)
        left = self._after(whole, self._ask(whole, "ndim"))
        self._compare(node.ops[0], left, (self.held(to), False), yes, no)
