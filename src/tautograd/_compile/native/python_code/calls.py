"""Calls: of whatever can be called, and of some functions a shorter way."""

from __future__ import annotations

import ast
import itertools
import sys
from types import MethodWrapperType
from typing import Any

from ...._user_code import sites
from .conditions import Conditions
from .layout import VECTORCALL_OFFSET
from .lines import Refused, Value


class Calls(Conditions):
    """What a call comes to."""

    def all_or_any(self, node: ast.GeneratorExp, is_all: bool) -> Value:
        raise NotImplementedError

    def of_Call(self, node: ast.Call) -> Value:
        short = self._short_call(node)
        return self._long_call(node) if short is None else short

    def _long_call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Name):
            self.calls.add(node.func.id)
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
        values += [self.value(k.value) for k in node.keywords]
        names = "null"
        if node.keywords:
            names = self.held(tuple([sys.intern(str(k.arg)) for k in node.keywords]))
        return self.called(function, values, names, len(node.keywords), method)

    def called(
        self,
        function: Value,
        values: list[Value],
        names: str = "null",
        named: int = 0,
        method: bool = False,
    ) -> Value:
        """What a call gives: of a function, or of a method by its name, whose object is the first value."""
        given = len(values) - named
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
        if len(node.args) == 1 and not node.keywords:  # `f(*given)`
            (part,) = node.args
            assert isinstance(part, ast.Starred)
            given = self.value(part.value)
            given = self._after(given, self.new(f"call ptr @as_tuple(ptr {given[0]})"))
            found = self.new(
                f"call ptr @PyObject_Call(ptr {function[0]}, ptr {given[0]}, ptr null)"
            )
            for one in (given, function):
                self.release(one, later=found)
            return self.made(found)
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
        name = node.func.id
        if name in self.variables or name in self.cells or name in self.free:
            return None
        function = self.known(name)
        if (
            function is sites.mark
        ):  # whose callers have no frame here: it is to begin with the next that is there
            return self.called(self.value(node.func), [(self.held(0), False)])
        if not self.in_module(name):
            return self._shorter(node, function)
        # What a name of the module's stands for may be another one by now.
        mark, live = len(self.lines), list(self.live)
        found = self.value(node.func)
        same = self.new(f"icmp eq ptr {found[0]}, {self.held(function)}")
        self.release(found)
        fast, slow, after = self.label(), self.label(), self.label()
        self.do(f"br i1 {same}, label %{fast}, label %{slow}")
        self.begin(fast)
        short = self._shorter(node, function)
        if short is None:
            del self.lines[mark:]
            self.live, self.reachable = live, True
            return None
        ways = [(self.taken(short), self.at)]
        self.jump(after)
        self.begin(slow)
        ways.append((self.taken(self._long_call(node)), self.at))
        self.jump(after)
        self.begin(after)
        merged = self.new(f"phi ptr {', '.join(f'[ {v}, %{at} ]' for v, at in ways)}")
        self.live.append(merged)
        return merged, True

    def _shorter(self, node: ast.Call, function: Any) -> Value | None:
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
        if function in (all, any) and isinstance(args[0], ast.GeneratorExp):
            found: Value = self.all_or_any(args[0], function is all)
            return found
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
            return self._instance(self.value(args[0]))
        if isinstance(function, type) and not args and _is_plain(function):
            return self._instance((self.held(function), False), "plain_instance")
        if isinstance(function, MethodWrapperType) and function.__name__ == "__next__":
            counter = getattr(function, "__self__", None)
            if type(counter) is itertools.count:
                return self.made(self.new(f"call ptr @PyIter_Next(ptr {self.held(counter)})"))
        return None

    def _instance(self, kind: Value, way: str = "instance") -> Value:
        """What `object.__new__` gives."""
        objects = f"ptr {self.held(object)}, ptr {self.held(())}"
        return self._after(kind, self.new(f"call ptr @{way}(ptr {kind[0]}, {objects})"))

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
