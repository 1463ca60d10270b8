"""What expressions come to: a value is the name of a pointer, and whether a reference to it is held."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .calls import Calls
from .conditions import ORDERS
from .layout import ARRAY_DTYPE, ITEMS, LIST_ITEMS, dictionaries_have_versions
from .lines import Refused, Value

_FREE = (
    "cannot access free variable {!r} where it is not associated with a value in enclosing scope"
)
_UNBOUND = "cannot access local variable {!r} where it is not associated with a value"
_NUMBERS: dict[type[ast.operator], str] = {
    ast.Add: "Add",
    ast.Sub: "Subtract",
    ast.Mult: "Multiply",
    ast.Div: "TrueDivide",
    ast.FloorDiv: "FloorDivide",
    ast.Mod: "Remainder",
    ast.MatMult: "MatrixMultiply",
    ast.BitAnd: "And",
    ast.BitOr: "Or",
    ast.BitXor: "Xor",
    ast.LShift: "Lshift",
    ast.RShift: "Rshift",
    ast.Pow: "Power",
}


class Expressions(Calls):
    """All kinds of expressions."""

    def value(self, node: ast.expr) -> Value:
        write = getattr(self, f"of_{type(node).__name__}", None)
        if write is None:
            raise Refused(ast.unparse(node))
        found: Value = write(node)
        return found

    def of_Constant(self, node: ast.Constant) -> Value:
        return self.held(node.value), False

    def of_Name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.numbers:
            at = self.new(f"load i64, ptr {self.numbers[name]}")
            return self.made(self.new(f"call ptr @PyLong_FromSsize_t(i64 {at})"))
        if name in self.variables:
            found = self.new(f"load ptr, ptr {self.variables[name]}")
            if name not in self.always:
                good, unset = self.label(), self.new(f"icmp eq ptr {found}, null")
                wrong = self.wrong(UnboundLocalError, _UNBOUND.format(name))
                self.do(f"br i1 {unset}, label %{wrong}, label %{good}, !prof !0")
                self.begin(good)
            return found, False
        if name in self.free:
            return self._of_closure(name)
        if name in self.cells or name in getattr(self, "globals", ()):
            return self.new(f"load ptr, ptr {self._cell(name)}"), False
        if self.in_module(name):
            return self._global(name)
        return self.held(self.known(name)), False

    def _global(self, name: str) -> Value:
        """A name of the module's, looked up each time: whoever watches may have put another function in its place,
        and a child process has locks of its own."""
        given = f"ptr {self.held(self.module)}, ptr {self.named(name)}"
        if dictionaries_have_versions():
            found = self.new(f"call ptr @global_name({given}, ptr {self.cache()})")
        else:
            found = self.new(f"call ptr @PyDict_GetItemWithError({given})")
        good, gone = self.label(), self.new(f"icmp eq ptr {found}, null")
        wrong = self.wrong(NameError, f"name {name!r} is not defined")
        self.do(f"br i1 {gone}, label %{wrong}, label %{good}, !prof !0")
        self.begin(good)
        self.do(f"call void @incref(ptr {found})")
        self.live.append(found)
        return found, True

    def _of_closure(self, name: str) -> Value:
        """A name of the function around this one, which each function object has its own of."""
        found = self.new(f"call ptr @closure_name(ptr %function, i64 {self.free[name]})")
        good, gone = self.label(), self.new(f"icmp eq ptr {found}, null")
        wrong = self.wrong(NameError, _FREE.format(name))
        self.do(f"br i1 {gone}, label %{wrong}, label %{good}, !prof !0")
        self.begin(good)
        self.do(f"call void @incref(ptr {found})")
        self.live.append(found)
        return found, True

    def of_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        variable = self.variables[node.target.id]
        self.set_variable(variable, value)
        return self.new(f"load ptr, ptr {variable}"), False

    def of_JoinedStr(self, node: ast.JoinedStr) -> Value:
        parts = self._display(node.values, "List")
        empty = self.named("")
        return self._after(
            parts, self.new(f"call ptr @PyUnicode_Join(ptr {empty}, ptr {parts[0]})")
        )

    def of_FormattedValue(self, node: ast.FormattedValue) -> Value:
        value = self.value(node.value)
        if node.conversion == ord("a"):
            raise Refused(ast.unparse(node))
        if node.conversion != -1:
            how = "Repr" if node.conversion == ord("r") else "Str"
            value = self._after(value, self.new(f"call ptr @PyObject_{how}(ptr {value[0]})"))
        kind: Value = ("null", False)
        if node.format_spec is not None:
            kind = self.value(node.format_spec)
        found = self.made(self.new(f"call ptr @PyObject_Format(ptr {value[0]}, ptr {kind[0]})"))
        self.release(kind)
        self.release(value)
        return found

    def of_Attribute(self, node: ast.Attribute) -> Value:
        whole = self.value(node.value)
        found = self._attribute(whole, node.attr)
        return self._after(whole, found)

    def _attribute(self, whole: Value, name: str) -> str:
        if name == "dtype":
            return self._one_of(
                whole[0],
                np.ndarray,
                lambda: self._array_dtype(whole[0]),
                lambda: self._ask(whole, name),
            )
        if name == "f_code":
            return self._of_frame(whole, name, "call ptr @PyFrame_GetCode(ptr {})")
        if name == "f_lasti":
            return self._of_frame(whole, name, "call ptr @last_instruction(ptr {})")
        return self._ask(whole, name)

    def _array_dtype(self, array: str) -> str:
        at = self.new(f"getelementptr i8, ptr {array}, i64 {ARRAY_DTYPE}")
        found = self.new(f"load ptr, ptr {at}")
        self.do(f"call void @incref(ptr {found})")
        return found

    def _of_frame(self, whole: Value, name: str, call: str) -> str:
        return self._if_type(
            whole[0],
            "@PyFrame_Type",
            lambda: self.new(call.format(whole[0])),
            lambda: self._ask(whole, name),
        )

    def _one_of(self, o: str, kind: type, then: Any, otherwise: Any) -> str:
        return self._if_type(o, self.held(kind), then, otherwise)

    def _if_type(self, o: str, kind: str, then: Any, otherwise: Any) -> str:
        fast, slow, after = self.label(), self.label(), self.label()
        same = self.new(f"icmp eq ptr {self.type_of(o)}, {kind}")
        self.do(f"br i1 {same}, label %{fast}, label %{slow}")
        found = []
        for label, write in ((fast, then), (slow, otherwise)):
            self.begin(label)
            value = write()
            found.append((value, self.at))
            self.jump(after)
        self.begin(after)
        return self.new(f"phi ptr {', '.join(f'[ {v}, %{at} ]' for v, at in found)}")

    def of_Subscript(self, node: ast.Subscript) -> Value:
        place = self.place_of(node)
        if place is not None:
            whole = self.value(node.value)
            item = self.new(f"call ptr @item_at(ptr {whole[0]}, i64 {place})")
            return self._after(whole, item)
        whole, index = self.value(node.value), self.value(node.slice)
        found = self.item(whole, index)
        self.release(index)
        self.release(whole)
        return found

    def place_of(self, node: ast.Subscript) -> str | None:
        """Of an item by its place: a number, or the counter of a loop."""
        index = node.slice
        if isinstance(index, ast.Name) and index.id in self.numbers:
            return self.new(f"load i64, ptr {self.numbers[index.id]}")
        if isinstance(index, ast.Constant) and type(index.value) is int and index.value >= 0:
            return str(index.value)
        return None

    def item(self, whole: Value, index: Value) -> Value:
        found = self.new(f"call ptr @PyObject_GetItem(ptr {whole[0]}, ptr {index[0]})")
        return self.made(found)

    def set_item(self, whole: Value, index: Value, value: Value) -> None:
        self.status(
            self.new(f"call i32 @PyObject_SetItem(ptr {whole[0]}, ptr {index[0]}, ptr {value[0]})")
        )

    def of_Slice(self, node: ast.Slice) -> Value:
        parts = node.lower, node.upper, node.step
        try:
            return self.held(
                slice(*(None if p is None else ast.literal_eval(p) for p in parts))
            ), False
        except ValueError:
            pass
        values = [("@_Py_NoneStruct", False) if p is None else self.value(p) for p in parts]
        found = self.made(
            self.new(f"call ptr @PySlice_New({', '.join(f'ptr {value[0]}' for value in values)})")
        )
        for value in values:
            self.release(value)
        return found

    def of_Tuple(self, node: ast.Tuple) -> Value:
        return self._display(node.elts, "Tuple")

    def of_List(self, node: ast.List) -> Value:
        return self._display(node.elts, "List")

    def _display(self, parts: list[ast.expr], kind: str) -> Value:
        if any(isinstance(part, ast.Starred) for part in parts):
            raise Refused("*")
        values = [self.value(part) for part in parts]
        whole = self.new(f"call ptr @Py{kind}_New(i64 {len(parts)})")
        self._unless(f"icmp eq ptr {whole}, null")
        items = self.new(
            f"getelementptr i8, ptr {whole}, i64 {ITEMS if kind == 'Tuple' else LIST_ITEMS}"
        )
        if kind == "List" and parts:
            items = self.new(f"load ptr, ptr {items}")
        for i, value in enumerate(values):
            at = self.new(f"getelementptr ptr, ptr {items}, i64 {i}")
            self.do(f"store ptr {self.taken(value)}, ptr {at}")
        self.live.append(whole)
        return whole, True

    def of_Dict(self, node: ast.Dict) -> Value:
        whole = self.made(self.new("call ptr @PyDict_New()"))
        for key, part in zip(node.keys, node.values, strict=True):
            if key is None:
                raise Refused("**")
            name, value = self.value(key), self.value(part)
            self.status(
                self.new(f"call i32 @PyDict_SetItem(ptr {whole[0]}, ptr {name[0]}, ptr {value[0]})")
            )
            self.release(value)
            self.release(name)
        return whole

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.USub):
            if isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, int):
                return self.held(-node.operand.value), False
            value = self.value(node.operand)
            return self._after(value, self.new(f"call ptr @PyNumber_Negative(ptr {value[0]})"))
        if isinstance(node.op, ast.Invert):
            value = self.value(node.operand)
            return self._after(value, self.new(f"call ptr @PyNumber_Invert(ptr {value[0]})"))
        return self._as_truth(node)

    def of_BinOp(self, node: ast.BinOp) -> Value:
        operation = _NUMBERS.get(type(node.op))
        if operation is None:
            raise Refused(ast.unparse(node))
        left, right = self.value(node.left), self.value(node.right)
        modulo = ", ptr @_Py_NoneStruct" if operation == "Power" else ""
        call = f"call ptr @PyNumber_{operation}(ptr {left[0]}, ptr {right[0]}{modulo})"
        found = self.made(self.new(call))
        self.release(right)
        self.release(left)
        return found

    def of_Compare(self, node: ast.Compare) -> Value:
        if self._is_truth(node) or len(node.ops) != 1:
            return self._as_truth(node)
        left, right = self.value(node.left), self.value(node.comparators[0])
        order = ORDERS[type(node.ops[0])]
        found = self.made(
            self.new(f"call ptr @compared(ptr {left[0]}, ptr {right[0]}, i32 {order})")
        )
        self.release(right)
        self.release(left)
        return found

    def _as_truth(self, node: ast.expr) -> Value:
        """True or False: of what is a truth anyway."""
        if not self._is_truth(node):
            raise Refused(ast.unparse(node))
        yes, no, after = self.label(), self.label(), self.label()
        self.condition(node, yes, no)
        for label in (yes, no):
            self.begin(label)
            self.jump(after)
        self.begin(after)
        found = f"phi ptr [ @_Py_TrueStruct, %{yes} ], [ @_Py_FalseStruct, %{no} ]"
        return self.new(found), False

    def _is_truth(self, node: ast.expr) -> bool:
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not)
        if isinstance(node, ast.Compare):
            simple = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            return (
                all(isinstance(op, simple) for op in node.ops) or self._dimensions(node) is not None
            )
        return False

    def of_BoolOp(self, node: ast.BoolOp) -> Value:
        """The first operand that decides."""
        if all(map(self._is_truth, node.values)):
            yes, no, after = self.label(), self.label(), self.label()
            self.condition(node, yes, no)
            for label in (yes, no):
                self.begin(label)
                self.jump(after)
            self.begin(after)
            return self.new(
                f"phi ptr [ @_Py_TrueStruct, %{yes} ], [ @_Py_FalseStruct, %{no} ]"
            ), False
        after, found = self.label(), []
        *firsts, last = node.values
        for part in firsts:
            value = self.value(part)
            name = self.taken(value)
            self.live.append(name)
            truth = self.new(f"call i32 @truth(ptr {name})")
            self.status(truth)
            decides, goes_on, drop = self.label(), self.label(), self.label()
            sense = "eq" if isinstance(node.op, ast.And) else "ne"
            self.do(
                f"br i1 {self.new(f'icmp {sense} i32 {truth}, 0')}, label %{decides}, label %{drop}"
            )
            self.begin(decides)
            found.append((name, decides))
            self.jump(after)
            self.begin(drop)
            self.live.remove(name)
            self.do(f"call void @decref(ptr {name})")
            self.jump(goes_on)
            self.begin(goes_on)
        name = self.taken(self.value(last))
        found.append((name, self.at))
        self.jump(after)
        self.begin(after)
        merged = self.new(f"phi ptr {', '.join(f'[ {v}, %{at} ]' for v, at in found)}")
        self.live.append(merged)
        return merged, True

    def of_IfExp(self, node: ast.IfExp) -> Value:
        yes, no, after = self.label(), self.label(), self.label()
        self.condition(node.test, yes, no)
        found = []
        for label, part in ((yes, node.body), (no, node.orelse)):
            self.begin(label)
            name = self.taken(self.value(part))
            found.append((name, self.at))
            self.jump(after)
        self.begin(after)
        merged = self.new(f"phi ptr {', '.join(f'[ {v}, %{at} ]' for v, at in found)}")
        self.live.append(merged)
        return merged, True

    # ---- sequences --------------------------------------------------------------------------------

    def as_tuple(self, value: Value) -> Value:
        return self._converted(value, "call ptr @as_tuple(ptr {})")

    def as_sequence(self, value: Value) -> Value:
        return self._converted(value, "call ptr @as_sequence(ptr {})")

    def _converted(self, value: Value, call: str) -> Value:
        return self._after(value, self.new(call.format(value[0])))
