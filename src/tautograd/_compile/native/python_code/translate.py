"""A function of Python as one of machine code: its statements, one after the other."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .blocks import Blocks
from .lines import Refused

ENTRY = "entry"
# What a recorder ends in for all that is not usual: it is Python's to go there, so that its frame is on the stack.
OTHER_WAYS = ("slow", "apply_special", "tied")


class Translation(Blocks):
    """One function. `table` holds the objects that its code names, by their number.

    `restarts`: until it returns, the function does nothing that cannot be done again. Then an error is Python's to
    meet: what was made is let go, and Python's function is called with the same arguments. So no handler of an error
    is ever translated.
    """

    def __init__(self, function: ast.FunctionDef, scope: Mapping[str, Any], restarts: bool) -> None:
        super().__init__(scope, restarts)
        self.globals: set[str] = set()
        parameters = function.args
        if parameters.vararg or parameters.kwarg or parameters.kwonlyargs or parameters.posonlyargs:
            raise Refused("parameters")
        self.parameters = [a.arg for a in parameters.args]
        self.defaults = len(parameters.defaults)
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                self.globals.update(node.names)
        assigned = {
            n.id
            for n in ast.walk(function)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        } | {
            alias.asname or alias.name
            for n in ast.walk(function)
            if isinstance(n, ast.ImportFrom)
            for alias in n.names
        }
        self.assigned = assigned - self.globals
        for name in [*self.parameters, *sorted(self.assigned - set(self.parameters))]:
            self.variables[name] = self.variable()
        self.always = set(self.parameters)
        self.loops: list[tuple[str, str]] = []
        self.module = None if restarts else scope["__module__"]
        self.endings: list[
            Callable[[], None]
        ] = []  # what is to be done on the way out, innermost last
        self.statements(function.body)
        if self.reachable:
            self.give("@_Py_NoneStruct", False)

    def text(self) -> str:
        """The function, which CPython calls as it calls any that takes an array of arguments."""
        n = len(self.parameters)
        lines = [
            f"define ptr @{ENTRY}(ptr %function, ptr %given, i64 %count, ptr %names) {{",
            "start:",
            *(f"  {v} = alloca ptr" for v in self.allocated),
            *(f"  {v} = alloca i64" for v in self.counters),
            "  %result = alloca ptr",
            f"  %arguments = alloca [{self.most_arguments + 1} x ptr]",
            "  store ptr null, ptr %result",
            *(f"  store ptr null, ptr {v}" for v in self.allocated),
            "  %named = icmp ne ptr %names, null",
            "  br i1 %named, label %otherwise, label %plain",
            "plain:",
            "  %number = and i64 %count, 9223372036854775807",
            f"  %whole = icmp eq i64 %number, {n}",
        ]
        if self.defaults:
            lines += self._with_defaults()
        else:
            lines.append("  br i1 %whole, label %take, label %otherwise")
        lines.append("take:")
        for i, name in enumerate(self.parameters):
            lines += [
                f"  %p{i}.at = getelementptr ptr, ptr %given, i64 {i}",
                f"  %p{i} = load ptr, ptr %p{i}.at",
                *self._parameter(name, f"%p{i}"),
            ]
        lines.append("  br label %body")
        lines += ["body:", *self.lines]
        lines += self.blocks
        for key, label in self.error_blocks.items():
            lines.append(f"{label}:")
            *held, target = key
            lines += [f"  call void @drop(ptr {v})" for v in held]
            lines.append(f"  br label %{target}")
        lines += [
            "leave:",
            *self._let_go("a"),
            "  %found = load ptr, ptr %result",
            "  ret ptr %found",
        ]
        lines.append("fail:")
        if self.restarts:
            lines += [
                f"  %usual.at = call ptr @from_table(i64 {self.constant(Exception)})",
                "  %usual = call i32 @PyErr_ExceptionMatches(ptr %usual.at)",
                "  %is.usual = icmp ne i32 %usual, 0",
                "  br i1 %is.usual, label %forget, label %pass.on",
                "forget:",
                "  call void @PyErr_Clear()",
                "  br label %restart",
                "restart:",
                *self._let_go("b"),
                "  br label %otherwise",
                "pass.on:",
            ]
        # (what was to be returned, where something failed on the way out)
        lines += [
            "  %unsaid = load ptr, ptr %result",
            "  call void @drop(ptr %unsaid)",
            *self._let_go("c"),
            "  ret ptr null",
        ]
        lines += [
            "otherwise:",
            "  %python = tail call ptr @as_python(ptr %function, ptr %given, i64 %count, ptr %names)",
            "  ret ptr %python",
            "}",
        ]
        return "\n".join(lines)

    def _with_defaults(self) -> list[str]:
        """Fewer arguments: the last are those that the function's definition gives."""
        n, lines = len(self.parameters), []
        least = n - self.defaults
        lines.append("  br i1 %whole, label %take, label %few0")
        for i in range(self.defaults):
            have = n - 1 - i
            after = f"few{i + 1}" if i + 1 < self.defaults else "otherwise"
            lines += [
                f"few{i}:",
                f"  %has{i} = icmp eq i64 %number, {have}",
                f"  br i1 %has{i}, label %fill{i}, label %{after}",
                f"fill{i}:",
            ]
            for j, name in enumerate(self.parameters):
                value = f"%d{i}.{j}"
                if j < have:
                    lines += [
                        f"  {value}.at = getelementptr ptr, ptr %given, i64 {j}",
                        f"  {value} = load ptr, ptr {value}.at",
                    ]
                else:
                    number = self.constant(self.scope["__defaults__"][j - least])
                    lines.append(f"  {value} = call ptr @from_table(i64 {number})")
                lines += self._parameter(name, value)
            lines.append("  br label %body")
        return lines

    def _parameter(self, name: str, value: str) -> list[str]:
        kept = [f"  call void @incref(ptr {value})"]
        return [*kept, f"  store ptr {value}, ptr {self.variables[name]}"]

    def _let_go(self, mark: str) -> list[str]:
        lines = []
        for i, v in enumerate(self.allocated):
            lines += [
                f"  %{mark}{i} = load ptr, ptr {v}",
                f"  call void @{'xdecref' if mark == 'a' else 'drop'}(ptr %{mark}{i})",
            ]
        return lines

    # ---- statements -------------------------------------------------------------------------------

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            if not self.reachable:
                return
            kind = type(statement).__name__
            write = getattr(self, f"do_{kind}", None)
            if write is None:
                raise Refused(kind)
            write(statement)
            assert not self.live, ast.unparse(statement)

    def do_Pass(self, _: ast.Pass) -> None: ...

    def do_Global(self, _: ast.Global) -> None: ...

    def do_Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):
            self.release(self.value(statement.value))

    def do_Raise(self, statement: ast.Raise) -> None:
        if self.restarts:
            self.jump("restart")
            return
        if not isinstance(statement.exc, ast.Call) or statement.cause is not None:
            raise Refused("raise")
        error = self.value(statement.exc)
        self.do(f"call void @PyErr_SetObject(ptr {self.type_of(error[0])}, ptr {error[0]})")
        self.release(error)
        self.jump(self.error())

    def do_Try(self, statement: ast.Try) -> None:
        if self.restarts and not statement.finalbody and not statement.orelse:
            self.statements(statement.body)
            return
        if statement.handlers or statement.orelse:
            raise Refused("try")
        self.ended(statement.body, lambda: self.statements(statement.finalbody))

    def do_Return(self, statement: ast.Return) -> None:
        if statement.value is None:
            self.give("@_Py_NoneStruct", False)
            return
        if self.restarts and _is_call_of(statement.value, OTHER_WAYS):
            self.jump("restart")
            return
        self.give(*self.value(statement.value))

    def give(self, name: str, owned: bool) -> None:
        self.do(f"store ptr {self.taken((name, owned))}, ptr %result")
        endings, handlers = self.endings, self.handlers
        while self.endings:
            *self.endings, ending = self.endings
            self.handlers = self.handlers[:-1]
            ending()
        self.endings, self.handlers = endings, handlers
        self.jump("leave")

    def do_AnnAssign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self.assign(statement.target, self.value(statement.value))

    def do_Assign(self, statement: ast.Assign) -> None:
        value = self.value(statement.value)
        *others, last = statement.targets
        for target in others:
            self.assign(target, (value[0], False))
        self.assign(last, value)

    def do_AugAssign(self, statement: ast.AugAssign) -> None:
        operation = {ast.Add: "PyNumber_InPlaceAdd", ast.Sub: "PyNumber_InPlaceSubtract"}.get(
            type(statement.op)
        )
        if operation is None:
            raise Refused(ast.unparse(statement))
        target = statement.target
        if isinstance(target, ast.Name):
            old = self.value(ast.Name(target.id, ast.Load()))
            new = self._combined(operation, old, statement.value)
            self.release(old)
            self.assign(target, new)
        elif isinstance(target, ast.Subscript):
            whole, index = self.value(target.value), self.value(target.slice)
            old = self.item(whole, index)
            new = self._combined(operation, old, statement.value)
            self.release(old)
            self.set_item(whole, index, new)
            for value in (new, index, whole):
                self.release(value)
        else:
            raise Refused(ast.unparse(statement))

    def _combined(self, operation: str, old: Any, by: ast.expr) -> Any:
        more = self.value(by)
        found = self.new(f"call ptr @{operation}(ptr {old[0]}, ptr {more[0]})")
        self.release(more, later=found)
        return self.made(found)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Let a name, an attribute or an item be this value, which is used up."""
        if isinstance(target, ast.Name):
            if target.id in self.globals:
                self.set_cell(target.id, value)
            else:
                self.set_variable(self.variables[target.id], value)
        elif isinstance(target, ast.Attribute):
            whole = self.value(target.value)
            status = self.new(
                f"call i32 @set_attribute(ptr {whole[0]}, ptr {self.cache()}, "
                f"ptr {self.named(target.attr)}, ptr {value[0]})"
            )
            self.status(status)
            self.release(whole)
            self.release(value)
        elif isinstance(target, ast.Subscript) and (place := self.place_of(target)) is not None:
            whole = self.value(target.value)
            put = f"call i32 @set_item_at(ptr {whole[0]}, i64 {place}, ptr {value[0]})"
            self.status(self.new(put))
            for one in (whole, value):
                self.release(one)
        elif isinstance(target, ast.Subscript):
            whole, index = self.value(target.value), self.value(target.slice)
            self.set_item(whole, index, value)
            for one in (index, whole, value):
                self.release(one)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value)
        else:
            raise Refused(ast.unparse(target))

    def _unpack(self, targets: list[ast.expr], value: Any) -> None:
        as_tuple = self.as_tuple(value)
        size = self.new(f"call i64 @size(ptr {as_tuple[0]})")
        fits = self.new(f"icmp eq i64 {size}, {len(targets)}")
        good = self.label()
        wrong = self.wrong(ValueError, "too many or not enough values to unpack")
        self.do(f"br i1 {fits}, label %{good}, label %{wrong}")
        self.begin(good)
        for i, target in enumerate(targets):
            item = self.new(f"call ptr @tuple_item(ptr {as_tuple[0]}, i64 {i})")
            self.do(f"call void @incref(ptr {item})")
            self.live.append(item)
            self.assign(target, (item, True))
        self.release(as_tuple)

    def do_If(self, statement: ast.If) -> None:
        yes, no, after = self.label(), self.label(), self.label()
        self.condition(statement.test, yes, no)
        ends = False
        for label, body in ((yes, statement.body), (no, statement.orelse)):
            self.begin(label)
            self.statements(body)
            if self.reachable:
                ends = True
                self.jump(after)
        if ends:
            self.begin(after)

    def do_While(self, statement: ast.While) -> None:
        if statement.orelse:
            raise Refused("else")
        test, body, after = self.label(), self.label(), self.label()
        self.jump(test)
        self.begin(test)
        self.condition(statement.test, body, after)
        self.begin(body)
        self.loops.append((test, after))
        self.statements(statement.body)
        self.loops.pop()
        if self.reachable:
            self.jump(test)
        self.begin(after)

    def do_Continue(self, _: ast.Continue) -> None:
        self.jump(self.loops[-1][0])

    def do_Break(self, _: ast.Break) -> None:
        self.jump(self.loops[-1][1])

    def do_ImportFrom(self, statement: ast.ImportFrom) -> None:
        if self.module is None:
            raise Refused(ast.unparse(statement))
        names = self.held(tuple([alias.name for alias in statement.names]))
        found = self.made(
            self.new(
                f"call ptr @PyImport_ImportModuleLevelObject(ptr {self.named(statement.module or '')}, "
                f"ptr {self.held(self.module)}, ptr @_Py_NoneStruct, ptr {names}, i32 {statement.level})"
            )
        )
        for alias in statement.names:
            name = alias.asname or alias.name
            self.assign(ast.Name(name, ast.Store()), self.made(self._ask(found, alias.name)))
        self.release(found)


def _is_call_of(node: ast.expr, names: Iterable[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
