"""LLVM's assembly language as it is written: lines, fresh names, loops, and what must be declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...dynamic.size import is_number

PARAMETERS = "ptr %args, i64 %begin, i64 %end"  # of every kernel; it may be split into ranges


class Shared:
    """What all parts of one function share: the names used so far, and its local variables."""

    def __init__(self, declared: dict[str, str]) -> None:
        self.names = 0
        self.variables: list[str] = []
        self.declared = declared  # of the module: name -> declaration


class Code:
    """Lines of a function. Parts that go to different places (before a loop, in it) share names."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.lines: list[str] = []

    def part(self) -> Code:
        """Other lines of the same function, to be placed by `place`."""
        return Code(self.shared)

    def place(self, part: Code) -> None:
        self.lines.extend(part.lines)

    def name(self) -> str:
        self.shared.names += 1
        return f"%v{self.shared.names}"

    def new(self, text: str) -> str:
        """An instruction that gives a value, and the name of that value."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append("  " + text)

    def declare(self, name: str, result: str, arguments: str) -> str:
        self.shared.declared.setdefault(name, f"declare {result} @{name}({arguments})")
        return "@" + name

    def intrinsic(self, name: str, dtype: Any, lanes: int, arity: int = 1) -> str:
        """One of LLVM's own functions of numbers of one type."""
        from .types import register_type, suffix

        kind = register_type(dtype, lanes)
        return self.declare(f"llvm.{name}.{suffix(dtype, lanes)}", kind, ", ".join([kind] * arity))

    def variable(self, kind: str) -> str:
        """A local variable (LLVM turns it into registers)."""
        name = self.name()
        self.shared.variables.append(f"  {name} = alloca {kind}")
        return name

    @contextmanager
    def loop(self, start: str, stop: str, step: int = 1) -> Iterator[str]:
        """A loop that runs at least once; gives the name of its counter."""
        if is_number(start) and is_number(stop) and int(stop) - int(start) <= step:
            yield start
            return
        label = self.name()[1:] + "loop"
        counter = self.name()
        self.do(f"br label %{label}.before")
        self.lines.append(f"{label}.before:")
        self.do(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.do(f"{counter} = phi i64 [ {start}, %{label}.before ], [ {counter}n, %{label}.next ]")
        yield counter
        self.do(f"br label %{label}.next")
        self.lines.append(f"{label}.next:")
        self.do(f"{counter}n = add nuw nsw i64 {counter}, {step}")
        again = self.new(f"icmp ult i64 {counter}n, {stop}")
        self.do(f"br i1 {again}, label %{label}, label %{label}.after")
        self.lines.append(f"{label}.after:")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What happens only if a condition holds."""
        label = self.name()[1:] + "when"
        self.do(f"br i1 {condition}, label %{label}, label %{label}.after")
        self.lines.append(f"{label}:")
        yield
        self.do(f"br label %{label}.after")
        self.lines.append(f"{label}.after:")

    def least(self, a: str, b: int | str) -> str:
        less = self.new(f"icmp ult i64 {a}, {b}")
        return self.new(f"select i1 {less}, i64 {a}, i64 {b}")

    def offset(self, pointer: str, distance: str) -> str:
        """A pointer moved by a number of bytes."""
        if distance == "0":
            return pointer
        return self.new(f"getelementptr i8, ptr {pointer}, i64 {distance}")

    def product(self, counter: str, factor: int) -> str:
        """A counter times a constant."""
        if counter == "0" or factor == 0:
            return "0"
        if counter.isdigit():
            return str(int(counter) * factor)
        if factor == 1:
            return counter
        return self.new(f"mul nsw i64 {counter}, {factor}")

    def sum(self, a: str, b: str) -> str:
        if a == "0":
            return b
        if b == "0":
            return a
        return self.new(f"add nsw i64 {a}, {b}")


def function_text(name: str, code: Code, arguments: Iterable[str], tail: Sequence[str] = ()) -> str:
    """A kernel: its variables, its arguments out of the array it is given, its lines, and how it ends."""
    lines = [f"define internal void @{name}({PARAMETERS}) nounwind {{", "entry:"]
    lines += code.shared.variables
    for place, argument in enumerate(arguments):
        lines.append(f"  {argument}p = getelementptr ptr, ptr %args, i64 {place}")
        lines.append(f"  {argument} = load ptr, ptr {argument}p")
    return "\n".join([*lines, *code.lines, *tail, "  ret void", "}"])
