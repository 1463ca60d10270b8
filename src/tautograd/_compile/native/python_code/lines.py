"""The lines of one function in LLVM's language: names, blocks, references that are held, and where errors go."""

from __future__ import annotations

import ast
import builtins
import itertools
import sys
from types import FunctionType
from typing import Any

from .layout import TYPE
from .prelude import CACHE

Value = tuple[str, bool]  # the name of a pointer, and whether a reference to it is held


class Refused(Exception):
    """What the translation does not know."""


class Lines:
    """Lines of one function, and what they need."""

    def __init__(self, function: FunctionType, restarts: bool, above: int = 0) -> None:
        self.above = above  # lines of the text before the function
        self.free = {name: i for i, name in enumerate(function.__code__.co_freevars)}
        self.scope = function.__globals__
        self.restarts = restarts
        self.lines: list[str] = []
        self.table: list[Any] = [function.__code__]
        self._numbers: dict[Any, int] = {}
        self.caches = 0
        self.variables: dict[str, str] = {}
        self.numbers: dict[str, str] = {}  # counters of loops, by name
        self.cells: dict[str, int] = {}
        self.allocated: list[str] = []
        self.counters: list[str] = []
        # Whose names are looked up when they are used; those of a recorder are its own.
        self.module = None if restarts else function.__globals__
        self.live: list[str] = []  # what holds a reference and is no variable, innermost last
        self.error_blocks: dict[tuple[str, ...], str] = {}
        self.blocks: list[str] = []  # of errors
        self.handlers = ["fail"]  # where errors go, innermost last
        self.begun = not restarts  # whether something was done that is not to be done again
        self.again = False  # whether an error here has it all done once more, by Python
        self.caught: list[list[str]] = []  # errors that are being handled, innermost last
        self.trace = 0  # the number of what makes entries of tracebacks
        self.places: list[tuple[int, bool]] = []  # lines, and whether a statement there raises
        self.always: set[str] = set()  # variables that have a value from the start
        self.most_arguments = 2
        self.calls: set[str] = set()  # names of what it calls, but for errors
        self.reachable = True
        self._names = itertools.count()
        self.at = "body"  # the block that is being written

    # ---- lines ------------------------------------------------------------------------------------

    def do(self, text: str) -> None:
        self.lines.append("  " + text)

    def new(self, text: str) -> str:
        name = f"%v{next(self._names)}"
        self.do(f"{name} = {text}")
        return name

    def label(self) -> str:
        return f"l{next(self._names)}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.at = label
        self.reachable = True

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")
        self.reachable = False

    def variable(self) -> str:
        name = f"%x{len(self.allocated)}"
        self.allocated.append(name)
        return name

    def counter(self) -> str:
        name = f"%n{len(self.counters)}"
        self.counters.append(name)
        return name

    # ---- objects that the code names --------------------------------------------------------------

    def constant(self, thing: Any) -> int:
        """The number of an object in the table."""
        key = (type(thing), thing) if type(thing) in (str, int, bytes) else id(thing)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.table)
            self.table.append(thing)  # (which keeps it, so that no other thing gets its id)
        return found

    def held(self, thing: Any) -> str:
        if thing is None:
            return "@_Py_NoneStruct"
        if thing is True:
            return "@_Py_TrueStruct"
        if thing is False:
            return "@_Py_FalseStruct"
        return self.new(f"call ptr @from_table(i64 {self.constant(thing)})")

    def named(self, name: str) -> str:
        return self.held(sys.intern(name))

    def cache(self) -> str:
        self.caches += 1
        return f"getelementptr (i8, ptr @caches, i64 {(self.caches - 1) * CACHE})"

    # ---- references -------------------------------------------------------------------------------

    def made(self, name: str) -> Value:
        """A new reference, or NULL for an error."""
        self._unless(f"icmp eq ptr {name}, null")
        self.live.append(name)
        return name, True

    def status(self, name: str) -> None:
        self._unless(f"icmp slt i32 {name}, 0")

    def _unless(self, wrong: str) -> None:
        good, failed = self.label(), self.new(wrong)
        self.do(f"br i1 {failed}, label %{self.error()}, label %{good}, !prof !0")
        self.begin(good)

    def error(self, to: str | None = None) -> str:
        """The block that lets go of what is held here and goes on to the end."""
        to = to or self.handlers[-1]
        key = (*reversed(self.live), to)
        if len(key) == 1:
            return to
        return self.error_blocks.setdefault(key, f"e{len(self.error_blocks)}")

    def wrong(self, kind: type[Exception], message: str) -> str:
        """The block for an error that this code finds."""
        if not self.begun:
            return self.error("restart")
        label, numbers = self.label(), (self.constant(kind), self.constant(message))
        self.blocks += [
            f"{label}:",
            *(f"  %{label}.{i} = call ptr @from_table(i64 {n})" for i, n in enumerate(numbers)),
            f"  call void @PyErr_SetObject(ptr %{label}.0, ptr %{label}.1)",
            f"  br label %{self.error()}",
        ]
        return label

    def release(self, value: Value, later: str | None = None) -> None:
        """Let go of a value; `later`, not yet looked at, may be NULL for an error."""
        name, owned = value
        if owned:
            self.live.remove(name)
            self.do(f"call void @decref(ptr {name})")

    def taken(self, value: Value) -> str:
        """A reference that whoever asks now holds."""
        name, owned = value
        if owned:
            self.live.remove(name)
        elif name != "null":
            self.do(f"call void @incref(ptr {name})")
        return name

    def set_variable(self, variable: str, value: Value) -> None:
        name = self.taken(value)
        old = self.new(f"load ptr, ptr {variable}")
        self.do(f"store ptr {name}, ptr {variable}")
        self.do(f"call void @xdecref(ptr {old})")

    # ---- cells: names that a function shares with its later calls ---------------------------------

    def _cell(self, name: str) -> str:
        if name not in self.cells:
            self.cells[name] = len(self.table)
            self.table.append(self.scope.get(name))
        return f"getelementptr (ptr, ptr @table, i64 {self.cells[name]})"

    def set_cell(self, name: str, value: Value) -> None:
        self.set_variable(self._cell(name), value)

    # ---- where this is in the function's text, for tracebacks -------------------------------------

    def at_line(self, node: ast.stmt) -> None:
        if self.begun:
            self.places.append((node.lineno - self.above, isinstance(node, ast.Raise)))
            self.do(f"store i32 {len(self.places) - 1}, ptr %where")

    def in_traceback(self) -> None:
        """Have the error's traceback name this function, as each one does that an error goes through."""
        numbers = self.trace, self.constant(Exception)
        trace, usual = (self.new(f"call ptr @from_table(i64 {n})") for n in numbers)
        where = self.new("load i32, ptr %where")
        self.do(f"call void @traced(ptr {trace}, i32 {where}, ptr {usual})")

    def fetched(self) -> list[str]:
        """Variables with the error that is set, which no longer is."""
        error = [self.variable() for _ in range(3)]
        self.do(f"call void @PyErr_Fetch({', '.join(f'ptr {v}' for v in error)})")
        self.do(f"call void @PyErr_NormalizeException({', '.join(f'ptr {v}' for v in error)})")
        _, value, trace = [self.new(f"load ptr, ptr {v}") for v in error]
        self.do(f"call void @keep_trace(ptr {value}, ptr {trace})")
        return error

    def restored(self, error: list[str]) -> None:
        """Set it again."""
        kept = [self.new(f"load ptr, ptr {v}") for v in error]
        for v in error:
            self.do(f"store ptr null, ptr {v}")
        self.do(f"call void @PyErr_Restore({', '.join(f'ptr {v}' for v in kept)})")

    # ---- what names stand for, and attributes

    def in_module(self, name: str) -> bool:
        """Whether a name is looked up when it is used."""
        return self.module is not None and name in self.module

    def known(self, name: str) -> Any:
        """What a name stands for that no statement of the function gives a value."""
        if name in self.free:
            raise AttributeError(name)
        if name in self.scope:
            return self.scope[name]
        return getattr(builtins, name)

    def is_builtin(self, node: ast.expr, thing: Any) -> bool:
        if not isinstance(node, ast.Name) or node.id in self.variables or node.id in self.numbers:
            return False
        if node.id in self.free:
            return False
        try:
            return self.known(node.id) is thing
        except AttributeError:
            return False

    def _after(self, whole: Value, found: str) -> Value:
        """What was made from a value, which is let go."""
        if whole[1]:
            self.live.remove(whole[0])
            self.do(f"call void @decref(ptr {whole[0]})")
        return self.made(found)

    def _ask(self, whole: Value, name: str) -> str:
        return self.new(
            f"call ptr @attribute(ptr {whole[0]}, ptr {self.cache()}, ptr {self.named(name)})"
        )

    def type_of(self, o: str) -> str:
        return self.new(f"load ptr, ptr {self.new(f'getelementptr i8, ptr {o}, i64 {TYPE}')}")
