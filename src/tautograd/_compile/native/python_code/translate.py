"""A function of Python as one of machine code: its statements, one after the other."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from .entrance import Entrance
from .lines import Refused
from .raising import OTHER_WAYS, is_call_of
from .tracebacks import Trace, unpacked_wrongly

_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
Definition = ast.FunctionDef | ast.Lambda


class Translation(Entrance):
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
        self.rest = None if parameters.vararg is None else parameters.vararg.arg
        self.by_name = None if parameters.kwarg is None else parameters.kwarg.arg
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

    def do_Pass(self, _: ast.Pass) -> None: ...

    def do_Global(self, _: ast.Global) -> None: ...

    def do_Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):
            self.release(self.value(statement.value))

    def do_Return(self, statement: ast.Return) -> None:
        if statement.value is None:
            self.give("@_Py_NoneStruct", False)
            return
        if self.restarts and is_call_of(statement.value, OTHER_WAYS):
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
            owner = ast.Name(f"{ast.unparse(target)} of line {statement.lineno}", ast.Load())
            self.variables[owner.id] = self.variable()
            self.always.add(owner.id)
            self.set_variable(self.variables[owner.id], held)
            place = ast.Attribute(owner, target.attr, ast.Load())
            old = self.value(place)
            new = self._combined(operation, old, statement.value)
            self.release(old)
            self.assign(place, new)
            self.set_variable(self.variables[owner.id], ("null", False))
        else:
            raise Refused(ast.unparse(statement))

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
