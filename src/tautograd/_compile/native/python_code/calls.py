"""Calls: of whatever can be called, and of some functions a shorter way."""

from __future__ import annotations

import ast
import itertools
import sys
from types import MethodWrapperType
from typing import Any

from .conditions import Conditions
from .lines import VECTORCALL_OFFSET, Refused, Value


class Calls(Conditions):
    """What a call comes to."""

    def of_Call(self, node: ast.Call) -> Value:
        short = self._short_call(node)
        if short is not None:
            return short
        if any(isinstance(a, ast.Starred) for a in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            return self._call_with_stars(node)
        method = (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and not node.keywords
        )
        if method:
            assert isinstance(node.func, ast.Attribute)
            function: Value = (self.named(node.func.attr), False)
            values = [self.value(node.func.value)]
        else:
            function, values = self.value(node.func), []
        values += [self.value(a) for a in node.args]
        given = len(values)
        values += [self.value(k.value) for k in node.keywords]
        names = "null"
        if node.keywords:
            names = self.held(tuple([sys.intern(str(k.arg)) for k in node.keywords]))
        self.most_arguments = max(self.most_arguments, len(values))
        for i, (name, _) in enumerate(values):
            at = self.new(f"getelementptr i8, ptr %arguments, i64 {8 * (i + 1)}")
            self.do(f"store ptr {name}, ptr {at}")
        first = self.new("getelementptr i8, ptr %arguments, i64 8")
        called = "PyObject_VectorcallMethod" if method else "PyObject_Vectorcall"
        found = self.new(
            f"call ptr @{called}(ptr {function[0]}, ptr {first}, "
            f"i64 {VECTORCALL_OFFSET + given}, ptr {names})"
        )
        # What was given is let go before the result is looked at, as the interpreter does.
        for one in (function, *values):
            self.release(one, later=found)
        return self.made(found)

    def _call_with_stars(self, node: ast.Call) -> Value:
        function = self.value(node.func)
        whole = self.made(self.new("call ptr @PyList_New(i64 0)"))
        for part in node.args:
            starred = isinstance(part, ast.Starred)
            value = self.value(part.value if isinstance(part, ast.Starred) else part)
            call = "extend" if starred else "PyList_Append"
            self.status(self.new(f"call i32 @{call}(ptr {whole[0]}, ptr {value[0]})"))
            self.release(value)
        given = self._after(whole, self.new(f"call ptr @PyList_AsTuple(ptr {whole[0]})"))
        names: Value = ("null", False)
        if node.keywords:
            names = self.made(self.new("call ptr @PyDict_New()"))
            for keyword in node.keywords:
                value = self.value(keyword.value)
                call = (
                    f"PyDict_Update(ptr {names[0]}, ptr {value[0]})"
                    if keyword.arg is None
                    else f"PyDict_SetItem(ptr {names[0]}, ptr {self.named(keyword.arg)}, ptr {value[0]})"
                )
                self.status(self.new(f"call i32 @{call}"))
                self.release(value)
        found = self.new(
            f"call ptr @PyObject_Call(ptr {function[0]}, ptr {given[0]}, ptr {names[0]})"
        )
        for one in (names, given, function):
            self.release(one, later=found)
        return self.made(found)

    def _short_call(self, node: ast.Call) -> Value | None:
        """Calls that have a shorter way, of functions that the name stands for."""
        if not isinstance(node.func, ast.Name) or node.keywords:
            return None
        if node.func.id in self.variables or node.func.id in self.cells:
            return None
        function = self.known(node.func.id)
        args = node.args
        if function is type and len(args) == 1:
            value = self.value(args[0])
            found = self.type_of(value[0])
            if not value[1]:
                return found, False
            self.do(f"call void @incref(ptr {found})")
            self.release(value)
            self.live.append(found)
            return found, True
        if function is isinstance:
            return self._as_truth_of_call(node)
        if function is sys._getframe:
            if not isinstance(args[0], ast.Constant) or args[0].value != 1 or not self.restarts:
                raise Refused(ast.unparse(node))
            frame = self.new("call ptr @PyEval_GetFrame()")  # of whoever called this function
            none = self.new(f"icmp eq ptr {frame}, null")
            good = self.label()
            self.do(f"br i1 {none}, label %{self.error('restart')}, label %{good}")
            self.begin(good)
            self.do(f"call void @incref(ptr {frame})")
            self.live.append(frame)
            return frame, True
        if function is sys.getrefcount and isinstance(args[0], ast.Name):
            value = self.value(args[0])
            count = self.new(f"call i64 @references(ptr {value[0]})")
            return self.made(self.new(f"call ptr @PyLong_FromSsize_t(i64 {count})"))
        if function is object.__new__ and len(args) == 1 and isinstance(args[0], ast.Name):
            return self._instance(self.known(args[0].id))
        if isinstance(function, type) and not args and _is_plain(function):
            return self._instance(function)
        if isinstance(function, MethodWrapperType) and function.__name__ == "__next__":
            counter = getattr(function, "__self__", None)
            if type(counter) is itertools.count:
                return self.made(self.new(f"call ptr @PyIter_Next(ptr {self.held(counter)})"))
        return None

    def _instance(self, kind: type) -> Value:
        """What `object.__new__` gives."""
        found = self.new(
            f"call ptr @instance(ptr {self.held(kind)}, ptr {self.held(object)}, ptr {self.held(())})"
        )
        return self.made(found)

    def _as_truth_of_call(self, node: ast.Call) -> Value:
        yes, no, after = self.label(), self.label(), self.label()
        self.condition(node, yes, no)
        for label in (yes, no):
            self.begin(label)
            self.jump(after)
        self.begin(after)
        return self.new(f"phi ptr [ @_Py_TrueStruct, %{yes} ], [ @_Py_FalseStruct, %{no} ]"), False


def _is_plain(kind: Any) -> bool:
    """Whether an instance is what `object.__new__` gives and nothing more."""
    plain: Any = object
    made_so = kind.__new__ is plain.__new__ and kind.__init__ is plain.__init__
    return type(kind) is type and made_so
