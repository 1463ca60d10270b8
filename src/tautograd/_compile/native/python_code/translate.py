"""A function of Python as one of machine code: its statements, one after the other."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from .blocks import Blocks
from .layout import CODE, DEFAULTS
from .lines import Refused
from .tracebacks import Trace, unpacked_wrongly

ENTRY = "entry"
# What a recorder ends in for all that is not usual: it is Python's to go there, so that its frame is on the stack.
OTHER_WAYS = ("slow", "apply_special", "tied")


_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
Definition = ast.FunctionDef | ast.Lambda


class Translation(Blocks):
    """One function. `table` holds the objects that its code names, by their number; the first is Python's code, of
    which this is the translation: a function that has other code by now is Python's to run.

    `restarts`: until it computes something, the function does nothing that cannot be done again. Then an error is
    Python's to meet: what was made is let go, and Python's function is called with the same arguments. What fails
    later (`begun`), or in another function, goes on as an error, with an entry in its traceback.
    """

    def __init__(
        self, whole: FunctionType, function: Definition, restarts: bool, above: int = 0
    ) -> None:
        super().__init__(whole, restarts, above)
        self.trace = self.constant(Trace(whole, self.places))
        self.default_values = whole.__defaults__ or ()
        self.globals: set[str] = set()
        parameters = function.args
        if whole.__code__.co_flags & _SUSPENDS:
            raise Refused("a generator")
        if parameters.kwonlyargs or parameters.posonlyargs:
            raise Refused("parameters")
        self.parameters = [a.arg for a in parameters.args]
        self.defaults = len(parameters.defaults)
        self.rest = parameters.vararg and parameters.vararg.arg
        self.by_name = parameters.kwarg and parameters.kwarg.arg
        if (self.rest or self.by_name) and (restarts or self.defaults):
            raise Refused("parameters")
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
        if not restarts:
            assigned |= {
                n.name for n in ast.walk(function) if isinstance(n, ast.ExceptHandler) and n.name
            }
        self.assigned = assigned - self.globals
        given = [*self.parameters, *filter(None, (self.rest, self.by_name))]
        for name in [*given, *sorted(self.assigned - set(given))]:
            self.variables[name] = self.variable()
        self.always = set(given)
        self.loops: list[tuple[str, str]] = []
        self.endings: list[
            Callable[[], None]
        ] = []  # what is to be done on the way out, innermost last
        if isinstance(function, ast.Lambda):
            self.statements([ast.copy_location(ast.Return(function.body), function.body)])
        else:
            self.statements(function.body)
        if self.reachable:
            self.give("@_Py_NoneStruct", False)

    def text(self) -> str:
        """The function, which CPython calls as it calls any that takes an array of arguments."""
        n = len(self.parameters)
        usual = self.constant(Exception)
        lines = [
            f"define ptr @{ENTRY}(ptr %function, ptr %given, i64 %count, ptr %names) {{",
            "start:",
            *(f"  {v} = alloca ptr" for v in self.allocated),
            *(f"  {v} = alloca i64" for v in self.counters),
            "  %result = alloca ptr",
            "  %where = alloca i32",
            f"  %arguments = alloca [{self.most_arguments + 1} x ptr]",
            f"  %bound = alloca [{n + 1} x ptr]",
            "  store ptr null, ptr %result",
            "  store i32 0, ptr %where",
            *(f"  store ptr null, ptr {v}" for v in self.allocated),
            f"  %code.at = getelementptr i8, ptr %function, i64 {CODE}",
            "  %code = load ptr, ptr %code.at",
            "  %own = call ptr @from_table(i64 0)",
            "  %is.own = icmp eq ptr %code, %own",
            "  %unnamed = icmp eq ptr %names, null",
            "  %number = and i64 %count, 9223372036854775807",
            "  %usual.call = and i1 %is.own, %unnamed",
            "  br i1 %usual.call, label %plain, label %unusual",
            "plain:",
            f"  %whole = icmp {'uge' if self.rest else 'eq'} i64 %number, {n}",
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
        if self.rest:
            lines += [
                f"  %rest = call ptr @rest(ptr %given, i64 {n}, i64 %number)",
                f"  store ptr %rest, ptr {self.variables[self.rest]}",
                "  %no.rest = icmp eq ptr %rest, null",
                "  br i1 %no.rest, label %pass.on, label %has.rest",
                "has.rest:",
            ]
        if self.by_name:
            lines += [
                "  %by.name = call ptr @PyDict_New()",
                f"  store ptr %by.name, ptr {self.variables[self.by_name]}",
                "  %no.names = icmp eq ptr %by.name, null",
                "  br i1 %no.names, label %pass.on, label %has.names",
                "has.names:",
            ]
        lines.append("  br label %body")
        lines.append("unusual:")
        if self.restarts or self.rest or self.by_name:
            lines.append("  br label %otherwise")
        else:
            lines += self._by_name()
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
        if self.restarts:
            lines += [
                "fail:",
                f"  %usual.at = call ptr @from_table(i64 {usual})",
                "  %usual = call i32 @PyErr_ExceptionMatches(ptr %usual.at)",
                "  %is.usual = icmp ne i32 %usual, 0",
                "  br i1 %is.usual, label %forget, label %pass.on",
                "forget:",
                "  call void @PyErr_Clear()",
                "  br label %restart",
                "restart:",
                *self._let_go("b"),
                "  br label %otherwise",
                "broken:",
            ]
        else:
            lines.append("fail:")
        lines += [
            f"  %trace = call ptr @from_table(i64 {self.trace})",
            f"  %trace.usual = call ptr @from_table(i64 {usual})",
            "  %at = load i32, ptr %where",
            "  call void @traced(ptr %trace, i32 %at, ptr %trace.usual)",
            "  br label %pass.on",
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

    def _by_name(self) -> list[str]:
        """Arguments of which some are given by their names."""
        n = len(self.parameters)
        least = n - self.defaults
        names = tuple([sys.intern(name) for name in self.parameters])
        given = "ptr %given, i64 %number, ptr %names, ptr %parameters"
        lines = [
            "  br i1 %is.own, label %by.name, label %otherwise",
            "by.name:",
            f"  %parameters = call ptr @from_table(i64 {self.constant(names)})",
            f"  %do.fit = call i32 @bind({given}, ptr %bound, i64 {n})",
            "  %fits = icmp ne i32 %do.fit, 0",
            "  br i1 %fits, label %fitting, label %otherwise",
            "fitting:",
        ]
        if self.defaults:
            number = self.constant(self.default_values)
            lines += [
                f"  %b.defaults.at = getelementptr i8, ptr %function, i64 {DEFAULTS}",
                "  %b.defaults = load ptr, ptr %b.defaults.at",
                f"  %b.known = call ptr @from_table(i64 {number})",
                "  %b.same = icmp eq ptr %b.defaults, %b.known",
                "  br i1 %b.same, label %b0, label %otherwise",
            ]
        else:
            lines.append("  br label %b0")
        for i in range(n):
            lines += [
                f"b{i}:",
                f"  %b{i}.at = getelementptr ptr, ptr %bound, i64 {i}",
                f"  %b{i}.given = load ptr, ptr %b{i}.at",
                f"  %b{i}.none = icmp eq ptr %b{i}.given, null",
            ]
            if i < least:
                lines.append(f"  br i1 %b{i}.none, label %otherwise, label %b{i + 1}")
                continue
            number = self.constant(self.default_values[i - least])
            lines += [
                f"  %b{i}.usual = call ptr @from_table(i64 {number})",
                f"  %b{i}.value = select i1 %b{i}.none, ptr %b{i}.usual, ptr %b{i}.given",
                f"  store ptr %b{i}.value, ptr %b{i}.at",
                f"  br label %b{i + 1}",
            ]
        lines.append(f"b{n}:")
        for i, name in enumerate(self.parameters):
            lines += [
                f"  %b{i}.taken = load ptr, ptr %b{i}.at",
                *self._parameter(name, f"%b{i}.taken"),
            ]
        lines.append("  br label %body")
        return lines

    def _with_defaults(self) -> list[str]:
        """Fewer arguments: the last are those that the function's definition gives."""
        n = len(self.parameters)
        least = n - self.defaults
        lines = [
            "  br i1 %whole, label %take, label %few",
            "few:",
            f"  %defaults.at = getelementptr i8, ptr %function, i64 {DEFAULTS}",
            "  %defaults = load ptr, ptr %defaults.at",
            f"  %known.defaults = call ptr @from_table(i64 {self.constant(self.default_values)})",
            "  %same.defaults = icmp eq ptr %defaults, %known.defaults",
            "  br i1 %same.defaults, label %few0, label %otherwise",
        ]
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
                    number = self.constant(self.default_values[j - least])
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
            if not self.begun and not self.again and _computes(statement):
                self.begin_for_good()
            self.at_line(statement)
            write(statement)
            assert not self.live, ast.unparse(statement)

    def begin_for_good(self) -> None:
        """From here on nothing is done again."""
        self.begun, self.handlers[0] = True, "broken"

    def do_Pass(self, _: ast.Pass) -> None: ...

    def do_Global(self, _: ast.Global) -> None: ...

    def do_Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):
            self.release(self.value(statement.value))

    def do_Raise(self, statement: ast.Raise) -> None:
        if not self.begun:
            self.jump("restart")
            return
        if statement.exc is None and self.caught:
            self.again_raised(self.caught[-1])
            return
        new = isinstance(statement.exc, ast.Call)
        if not new and not (
            isinstance(statement.exc, ast.Name) and statement.exc.id in self.variables
        ):
            raise Refused("raise")
        assert statement.exc is not None
        error = self.value(statement.exc)
        if statement.cause is not None:
            cause = ("null", False)
            if not (isinstance(statement.cause, ast.Constant) and statement.cause.value is None):
                cause = self.value(statement.cause)
            kept = self.taken(cause)
            self.do(f"call void @PyException_SetCause(ptr {error[0]}, ptr {kept})")
        self.do(f"call void @PyErr_SetObject(ptr {self.type_of(error[0])}, ptr {error[0]})")
        self.release(error)
        self.jump(self.error())

    def again_raised(self, error: list[str]) -> None:
        """Go on with an error that was caught, whose traceback has its entry."""
        self.restored(error)
        if self.restarts:
            self.jump("pass.on")
        else:
            self.do("store i32 -1, ptr %where")
            self.jump(self.error())

    def do_Try(self, statement: ast.Try) -> None:
        if self.restarts and (statement.orelse or (statement.handlers and statement.finalbody)):
            raise Refused("try")
        if statement.handlers and not self.restarts:
            if statement.finalbody:
                inner = ast.Try(statement.body, statement.handlers, statement.orelse, [])
                inner = ast.copy_location(inner, statement)
                self.ended([inner], lambda: self.statements(statement.finalbody))
            else:
                self._caught(statement)
            return
        if statement.handlers:
            if not self.begun and all(map(_goes_another_way, statement.handlers)):
                # Python does it once more, and goes that way: these compute what can be computed twice.
                self.again = True
                self.statements(statement.body)
                self.again = False
            else:
                self._handled(statement)
            return
        self.ended(statement.body, lambda: self.statements(statement.finalbody))

    def _caught(self, statement: ast.Try) -> None:
        """`except`, where no recorder is: what a handler does may fail, return or raise."""
        caught, after = self.label(), self.label()
        self.handlers.append(caught)
        self.statements(statement.body)
        self.handlers.pop()
        if self.reachable:
            self.statements(statement.orelse)
        goes_on = self.reachable
        if goes_on:
            self.jump(after)
        self.begin(caught)
        self.in_traceback()
        error = self.fetched()
        for handler in statement.handlers:
            matches, other = self.label(), self.label()
            if handler.type is None:
                raise Refused("except")
            kind = self.value(handler.type)
            raised = self.new(f"load ptr, ptr {error[0]}")
            given = f"ptr {raised}, ptr {kind[0]}"
            found = self.new(f"call i32 @PyErr_GivenExceptionMatches({given})")
            self.release(kind)
            is_it = self.new(f"icmp ne i32 {found}, 0")
            self.do(f"br i1 {is_it}, label %{matches}, label %{other}")
            self.begin(matches)
            if handler.name is not None:
                value = self.new(f"load ptr, ptr {error[1]}")
                self.set_variable(self.variables[handler.name], (value, False))
            self.caught.append(error)
            with self.handled(error):
                self.statements(handler.body)
            self.caught.pop()
            if self.reachable:
                goes_on = True
                names = [self.variables[handler.name]] if handler.name is not None else []
                for variable in (*error, *names):
                    self.set_variable(variable, ("null", False))
                self.jump(after)
            self.begin(other)
        self.again_raised(error)
        if goes_on:
            self.begin(after)

    def _handled(self, statement: ast.Try) -> None:
        if len(statement.handlers) != 1:
            raise Refused("except")
        (handler,) = statement.handlers
        if handler.type is None:
            raise Refused("except")
        self.begin_for_good()
        caught, matches, after = self.label(), self.label(), self.label()
        self.handlers.append(caught)
        self.statements(statement.body)
        self.handlers.pop()
        if self.reachable:
            self.jump(after)
        self.begin(caught)
        self.in_traceback()
        kind = self.value(handler.type)
        found = self.new(f"call i32 @PyErr_ExceptionMatches(ptr {kind[0]})")
        self.release(kind)
        self.do(f"br i1 {self.new(f'icmp ne i32 {found}, 0')}, label %{matches}, label %pass.on")
        self.begin(matches)
        error = self.fetched()
        if handler.name is not None:
            self.variables[handler.name] = error[1]
            self.always.add(handler.name)
        self.caught.append(error)
        self.statements(handler.body)
        self.caught.pop()
        if self.reachable:
            for v in error:
                self.set_variable(v, ("null", False))
            self.jump(after)
        self.begin(after)

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
        operation = {
            ast.Add: "PyNumber_InPlaceAdd",
            ast.Sub: "PyNumber_InPlaceSubtract",
            ast.Mult: "PyNumber_InPlaceMultiply",
            ast.Div: "PyNumber_InPlaceTrueDivide",
        }.get(type(statement.op))
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
        elif isinstance(target, ast.Attribute):
            held = self.value(target.value)
            whole = ast.Name(f"{ast.unparse(target)} of line {statement.lineno}", ast.Load())
            self.variables[whole.id] = self.variable()
            self.always.add(whole.id)
            self.set_variable(self.variables[whole.id], held)
            place = ast.Attribute(whole, target.attr, ast.Load())
            old = self.value(place)
            new = self._combined(operation, old, statement.value)
            self.release(old)
            self.assign(place, new)
            self.set_variable(self.variables[whole.id], ("null", False))
        else:
            raise Refused(ast.unparse(statement))

    def do_Assert(self, statement: ast.Assert) -> None:
        good, wrong = self.label(), self.label()
        self.condition(statement.test, good, wrong)
        self.begin(wrong)
        if not self.begun:
            self.jump("restart")
        else:
            given = [] if statement.msg is None else [self.value(statement.msg)]
            error = self.called((self.held(AssertionError), False), given)
            self.do(f"call void @PyErr_SetObject(ptr {self.type_of(error[0])}, ptr {error[0]})")
            self.release(error)
            self.jump(self.error())
        self.begin(good)

    def do_Delete(self, statement: ast.Delete) -> None:
        for target in statement.targets:
            if isinstance(target, ast.Name) and target.id in self.variables:
                self.value(target)  # (which must be there)
                self.set_variable(self.variables[target.id], ("null", False))
                self.always.discard(target.id)
            elif isinstance(target, ast.Subscript):
                whole, index = self.value(target.value), self.value(target.slice)
                self.status(self.new(f"call i32 @PyObject_DelItem(ptr {whole[0]}, ptr {index[0]})"))
                self.release(index)
                self.release(whole)
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
        good, wrong = self.label(), self.label()
        self.do(f"br i1 {fits}, label %{good}, label %{wrong}, !prof !1")
        self.begin(wrong)
        if self.begun:
            live = list(self.live)
            say = (self.held(unpacked_wrongly), False)
            error = self.called(say, [as_tuple, (self.held(len(targets)), False)])
            self.do(f"call void @PyErr_SetObject(ptr {self.type_of(error[0])}, ptr {error[0]})")
            self.release(error)
            self.jump(self.error())
            self.live = live
        else:
            self.jump(self.error("restart"))
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
        self.at_line(statement)
        self.condition(statement.test, body, after)
        self.begin(body)
        self.loops.append((test, after))
        self.statements(statement.body)
        self.loops.pop()
        if self.reachable:
            self.jump(test)
        self.begin(after)

    def do_Continue(self, _: ast.Continue) -> None:
        self.jump(self._loop()[0])

    def do_Break(self, _: ast.Break) -> None:
        self.jump(self._loop()[1])

    def _loop(self) -> tuple[str, str]:
        if not self.loops:  # around a block that has something to do at its end
            raise Refused("a loop that is left")
        return self.loops[-1]

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


def _computes(statement: ast.stmt) -> bool:
    """Whether a statement calls what an operation computes by, which may draw numbers or be the program's own."""
    if not isinstance(statement, (ast.Assign, ast.Expr, ast.Return)):
        return False
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("forward", "half_kernel"))
        or (isinstance(node, ast.Name) and node.id == "run_forward")
        for node in ast.walk(statement)
    )


def _goes_another_way(handler: ast.ExceptHandler) -> bool:
    (*before, last) = handler.body
    if before or not isinstance(last, ast.Return) or last.value is None:
        return False
    return _is_call_of(last.value, OTHER_WAYS)


def _is_call_of(node: ast.expr, names: Iterable[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
