"""Statements that raise errors or catch them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .blocks import Blocks
from .lines import Refused

# What a recorder ends in for all that is not usual: it is Python's to go there, so that its frame is on the stack.
OTHER_WAYS = ("slow", "apply_special", "tied")


class Raising(Blocks):
    """`raise`, `try` and `assert`."""

    def begin_for_good(self) -> None:
        """From here on nothing is done again."""
        self.begun, self.handlers[0] = True, "broken"

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


def _goes_another_way(handler: ast.ExceptHandler) -> bool:
    (*before, last) = handler.body
    if before or not isinstance(last, ast.Return) or last.value is None:
        return False
    return is_call_of(last.value, OTHER_WAYS)


def is_call_of(node: ast.expr, names: Iterable[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
