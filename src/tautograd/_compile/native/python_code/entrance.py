"""A translated function as CPython calls it: its arguments, what it lets go of, and its ways out."""

from __future__ import annotations

import sys
from typing import Any

from .layout import CODE, DEFAULTS
from .raising import Raising

ENTRY = "entry"


class Entrance(Raising):
    """What is around the statements."""

    parameters: list[str]
    defaults: int  # how many of them have one
    default_values: tuple[Any, ...]
    rest: str | None  # `*rest`
    by_name: str | None  # `**by_name`

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
