"""Statements that hold others: loops, and what is done after them in any case."""

from __future__ import annotations

import ast
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .expressions import Expressions
from .layout import VECTORCALL_OFFSET
from .lines import Refused


class Blocks(Expressions):
    """Loops, comprehensions, `with` and `finally`."""

    loops: list[tuple[str, str]]  # where `continue` and `break` go, innermost last
    endings: list[Callable[[], None]]  # what is to be done on the way out, innermost last

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Write these: the business of who builds on this."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give this its value: the same."""
        raise NotImplementedError

    def do_With(self, statement: ast.With) -> None:
        """While a lock is held."""
        (item,) = statement.items
        where = item.context_expr
        if item.optional_vars is not None or not isinstance(where, ast.Name):
            raise Refused(ast.unparse(item))
        if type(self.known(where.id)) is not type(threading.RLock()):
            raise Refused(ast.unparse(item))
        lock = self.variable()
        self.set_variable(lock, self.value(where))

        def call(method: str) -> None:
            self.release(self.called_on(lock, method))

        call("acquire")
        self.ended(statement.body, lambda: call("release"))

    def called_on(self, variable: str, method: str) -> Any:
        whole = self.new(f"load ptr, ptr {variable}")
        first = self.new("getelementptr i8, ptr %arguments, i64 8")
        self.do(f"store ptr {whole}, ptr {first}")
        count = VECTORCALL_OFFSET + 1
        name = self.named(method)
        return self.made(
            self.new(
                f"call ptr @PyObject_VectorcallMethod(ptr {name}, ptr {first}, i64 {count}, ptr null)"
            )
        )

    def ended(self, body: list[ast.stmt], ending: Callable[[], None]) -> None:
        """Statements, and what is done after them, also on an error and before a `return`."""
        if self.restarts:
            raise Refused("finally")
        caught, after = self.label(), self.label()
        outside, self.loops = self.loops, []  # nothing in it leaves a loop around it
        self.handlers.append(caught)
        self.endings.append(ending)
        self.statements(body)
        self.endings.pop()
        self.handlers.pop()
        goes_on = self.reachable
        if goes_on:
            ending()
            self.jump(after)
        self.begin(caught)
        where = self.new("load i32, ptr %where")
        error = self.fetched()
        with self.handled(error):
            ending()
        if self.reachable:
            self.restored(error)
            self.do(f"store i32 {where}, ptr %where")
            self.jump(self.error())
        self.loops = outside
        if goes_on:
            self.begin(after)

    @contextlib.contextmanager
    def handled(self, error: list[str]) -> Iterator[None]:
        """What is written meanwhile handles an error: others that are raised there say so."""
        before = self.variable()
        value, outer = (
            self.new(f"load ptr, ptr {error[1]}"),
            self.new("call ptr @PyErr_GetHandledException()"),
        )
        self.do(f"store ptr {outer}, ptr {before}")
        self.do(f"call void @PyErr_SetHandledException(ptr {value})")

        def end() -> None:
            self.do(
                f"call void @PyErr_SetHandledException(ptr {self.new(f'load ptr, ptr {before}')})"
            )
            self.set_variable(before, ("null", False))

        failed = self.label()
        outside, self.loops = self.loops, []  # nothing in it leaves a loop around it
        self.handlers.append(failed)
        self.endings.append(end)
        yield
        self.endings.pop()
        self.handlers.pop()
        self.loops = outside
        after = self.label()
        goes_on = self.reachable
        if goes_on:
            end()
            self.jump(after)
        self.begin(failed)
        end()
        self.jump(self.error())
        if goes_on:
            self.begin(after)

    def do_For(self, statement: ast.For) -> None:
        if statement.orelse:
            raise Refused("else")
        self.loop(statement.target, statement.iter, lambda: self.statements(statement.body))

    def loop(self, target: ast.expr, over: ast.expr, body_of: Callable[[], None]) -> None:
        """Over a tuple or list; the items of a list are looked at as they then are, as Python does."""
        number = None
        if isinstance(over, ast.Call) and self.is_builtin(over.func, enumerate):
            if not isinstance(target, ast.Tuple) or not isinstance(target.elts[0], ast.Name):
                raise Refused(ast.unparse(over))
            number, target = target.elts
            over = over.args[0]
        whole = self.variable()
        if number is None and isinstance(over, ast.Call):
            self._over_iterator(target, whole, over, body_of)
            return
        self.set_variable(whole, self.as_sequence(self.value(over)))
        place = self.counter()
        self.do(f"store i64 0, ptr {place}")
        test, body, step, after = (self.label() for _ in range(4))
        self.jump(test)
        self.begin(test)
        at, sequence = self.new(f"load i64, ptr {place}"), self.new(f"load ptr, ptr {whole}")
        size = self.new(f"call i64 @size(ptr {sequence})")
        more = self.new(f"icmp slt i64 {at}, {size}")
        self.do(f"br i1 {more}, label %{body}, label %{after}")
        self.begin(body)
        item = self.new(f"call ptr @sequence_item(ptr {sequence}, i64 {at})")
        self.do(f"call void @incref(ptr {item})")
        self.live.append(item)
        if number is not None:
            assert isinstance(number, ast.Name)
            self.numbers[number.id] = place
            self.variables.pop(number.id, None)
        self.assign(target, (item, True))
        self.loops.append((step, after))
        body_of()
        self.loops.pop()
        if self.reachable:
            self.jump(step)
        self.begin(step)
        following = self.new(f"add i64 {self.new(f'load i64, ptr {place}')}, 1")
        self.do(f"store i64 {following}, ptr {place}")
        self.jump(test)
        self.begin(after)
        self.set_variable(whole, ("null", False))

    def _over_iterator(
        self, target: ast.expr, whole: str, over: ast.expr, body_of: Callable[[], None]
    ) -> None:
        """Over whatever a call gives."""
        value = self.value(over)
        self.set_variable(
            whole, self._after(value, self.new(f"call ptr @PyObject_GetIter(ptr {value[0]})"))
        )
        step, ended, body, after = (self.label() for _ in range(4))
        self.jump(step)
        self.begin(step)
        item = self.new(f"call ptr @PyIter_Next(ptr {self.new(f'load ptr, ptr {whole}')})")
        last = self.new(f"icmp eq ptr {item}, null")
        self.do(f"br i1 {last}, label %{ended}, label %{body}")
        self.begin(ended)
        error = self.new("call ptr @PyErr_Occurred()")
        failed = self.new(f"icmp ne ptr {error}, null")
        self.do(f"br i1 {failed}, label %{self.error()}, label %{after}, !prof !0")
        self.begin(body)
        self.live.append(item)
        self.assign(target, (item, True))
        self.loops.append((step, after))
        body_of()
        self.loops.pop()
        if self.reachable:
            self.jump(step)
        self.begin(after)
        self.set_variable(whole, ("null", False))

    def of_ListComp(self, node: ast.ListComp) -> Any:
        """A list made by a loop, whose names are its own."""
        made = self.variable()
        self.set_variable(made, self._display([], "List"))

        def each() -> None:
            value = self.value(node.elt)
            whole = self.new(f"load ptr, ptr {made}")
            self.status(self.new(f"call i32 @PyList_Append(ptr {whole}, ptr {value[0]})"))
            self.release(value)

        self._comprehension(node, each)
        found = self.new(f"load ptr, ptr {made}")
        self.do(f"store ptr null, ptr {made}")
        self.live.append(found)
        return found, True

    def all_or_any(self, node: ast.GeneratorExp, is_all: bool) -> Any:
        """`all(… for …)`, or `any`: until one decides."""
        answer = self.variable()
        self.set_variable(answer, (self.held(is_all), False))

        def each() -> None:
            goes_on, decides = self.label(), self.label()
            yes, no = (goes_on, decides) if is_all else (decides, goes_on)
            self.condition(node.elt, yes, no)
            self.begin(decides)
            self.set_variable(answer, (self.held(not is_all), False))
            self.jump(self.loops[-1][1])
            self.begin(goes_on)

        self._comprehension(node, each)
        return self.new(f"load ptr, ptr {answer}"), False

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp, write: Callable[[], None]
    ) -> None:
        if len(node.generators) != 1:
            raise Refused(ast.unparse(node))
        (part,) = node.generators
        names = [n.id for n in ast.walk(part.target) if isinstance(n, ast.Name)]
        before = dict(self.variables), dict(self.numbers), set(self.always)

        def each() -> None:
            keep, step = self.label(), self.loops[-1][0]
            for test in part.ifs:
                good = self.label()
                self.condition(test, good, step)
                self.begin(good)
            self.jump(keep)
            self.begin(keep)
            write()

        # (what is gone over is looked at with the names outside)
        over = part.iter
        for name in names:
            self.variables[name] = self.variable()
            self.numbers.pop(name, None)
            self.always.discard(name)
        if {n.id for n in ast.walk(over) if isinstance(n, ast.Name)} & set(names):
            raise Refused(ast.unparse(node))
        self.loop(part.target, over, each)
        for name in names:
            if name in self.variables:
                self.set_variable(self.variables[name], ("null", False))
        self.variables, self.numbers, self.always = before
