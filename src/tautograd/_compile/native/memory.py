"""Loads and stores of vectors: neighbours, one number for all, or at any distance; and checks of indices."""

from __future__ import annotations

from typing import Any

from ..dynamic.size import Size
from .llvm.code import Code
from .llvm.types import BOOL, INT64, Value, constant, element_type, memory_type, splat, vector

__all__ = ["INT64", "check", "load", "load_from", "number", "report", "require", "store"]


def mask(lanes: int, live: Any) -> str:
    """The first `live` lanes, as a constant; where it is not known how many, as what becomes a number (`numbers`)."""
    if type(live) is Size:
        return f"<first {live} of {lanes}>"
    if live >= lanes:
        return "splat (i1 true)"
    return "<" + ", ".join("i1 true" if i < live else "i1 false" for i in range(lanes)) + ">"


def load(code: Code, pointer: str, dtype: Any, stride: int, lanes: int, live: int) -> Value:
    """The numbers at a pointer and on; one number only (in one lane) if the stride is 0."""
    if lanes == 1 or stride == 0:
        kind = memory_type(dtype, 1)
        return _loaded(
            code, code.new(f"load {kind}, ptr {pointer}, align {_align(dtype)}"), dtype, 1
        )
    if stride != dtype.itemsize:
        return load_from(code, pointer, None, dtype, stride, lanes, live)
    kind = memory_type(dtype, lanes)
    if live == lanes:
        text = code.new(f"load {kind}, ptr {pointer}, align {_align(dtype)}")
    else:
        flags = vector("i1", lanes)
        function = code.declare(
            f"llvm.masked.load.{_suffix(dtype, lanes)}.p0", kind, f"ptr, i32, {flags}, {kind}"
        )
        text = code.new(
            f"call {kind} {function}(ptr {pointer}, i32 {_align(dtype)}, "
            f"{flags} {mask(lanes, live)}, {kind} zeroinitializer)"
        )
    return _loaded(code, text, dtype, lanes)


def load_from(
    code: Code, pointer: str, distance: str | None, dtype: Any, stride: int, lanes: int, live: int
) -> Value:
    """Numbers each at its own distance: a vector of bytes, and a stride."""
    pointers = _pointers(code, pointer, distance, stride, lanes)
    kind, flags, many = memory_type(dtype, lanes), vector("i1", lanes), vector("ptr", lanes)
    function = code.declare(
        f"llvm.masked.gather.{_suffix(dtype, lanes)}.v{lanes}p0",
        kind,
        f"{many}, i32, {flags}, {kind}",
    )
    text = code.new(
        f"call {kind} {function}({many} {pointers}, i32 {_align(dtype)}, "
        f"{flags} {mask(lanes, live)}, {kind} zeroinitializer)"
    )
    return _loaded(code, text, dtype, lanes)


def store(code: Code, value: Value, pointer: str, stride: int, live: int) -> None:
    dtype, lanes = value.dtype, value.lanes
    kind, text = memory_type(dtype, lanes), value.text
    if dtype.kind == "b":
        text = code.new(f"zext {value.typed} to {kind}")
    if lanes == 1 or (stride == dtype.itemsize and live == lanes):
        code.do(f"store {kind} {text}, ptr {pointer}, align {_align(dtype)}")
        return
    flags = vector("i1", lanes)
    if stride == dtype.itemsize:
        function = code.declare(
            f"llvm.masked.store.{_suffix(dtype, lanes)}.p0", "void", f"{kind}, ptr, i32, {flags}"
        )
        code.do(
            f"call void {function}({kind} {text}, ptr {pointer}, i32 {_align(dtype)}, "
            f"{flags} {mask(lanes, live)})"
        )
        return
    pointers = _pointers(code, pointer, None, stride, lanes)
    many = vector("ptr", lanes)
    function = code.declare(
        f"llvm.masked.scatter.{_suffix(dtype, lanes)}.v{lanes}p0",
        "void",
        f"{kind}, {many}, i32, {flags}",
    )
    code.do(
        f"call void {function}({kind} {text}, {many} {pointers}, i32 {_align(dtype)}, "
        f"{flags} {mask(lanes, live)})"
    )


def number(code: Code, whole: Any, lanes: int) -> str:
    """A whole number in all lanes; one that is not known yet is read first."""
    if type(whole) is not Size:
        return constant(whole, INT64, lanes).text
    read = Value(code.new(f"sub i64 {whole}, 0"), INT64, 1)
    return read.text if lanes == 1 else splat(code, read, lanes).text


def check(code: Code, index: Value, size: int, status: str, step: int) -> Value:
    """An index counted from the start; one outside becomes 0, and the status says which instruction it was."""
    zero, top = constant(0, INT64, index.lanes).text, number(code, size, index.lanes)
    negative = code.new(f"icmp slt {index.typed}, {zero}")
    more = code.new(f"add {index.typed}, {top}")
    flags = vector("i1", index.lanes)
    place = code.new(f"select {flags} {negative}, {index.type} {more}, {index.typed}")
    outside = code.new(f"icmp uge {index.type} {place}, {top}")
    _note(code, outside, index.lanes, status, step)
    inside = code.new(f"select {flags} {outside}, {index.type} {zero}, {index.type} {place}")
    return Value(inside, INT64, index.lanes)


def require(code: Code, good: Value, live: int, status: str, number: int) -> None:
    """Unless all of the live lanes are true, the status says which instruction asked for it."""
    flags = vector("i1", good.lanes)
    bad = code.new(f"xor {good.typed}, {constant(True, BOOL, good.lanes).text}")
    if live < good.lanes:
        bad = code.new(f"and {flags} {bad}, {mask(good.lanes, live)}")
    _note(code, bad, good.lanes, status, number)


def _note(code: Code, bad: str, lanes: int, status: str, number: int) -> None:
    """Set the status if one of the lanes is true."""
    if lanes > 1:
        flags = vector("i1", lanes)
        function = code.declare(f"llvm.vector.reduce.or.v{lanes}i1", "i1", flags)
        bad = code.new(f"call i1 {function}({flags} {bad})")
    before = code.new(f"load i32, ptr {status}")
    after = code.new(f"select i1 {bad}, i32 {number}, i32 {before}")
    code.do(f"store i32 {after}, ptr {status}")


def report(code: Code, status: str, target: str) -> list[str]:
    """The end of a function that checks indices: the status word is set if one was outside."""
    tail = code.part()
    value = tail.new(f"load i32, ptr {status}")
    bad = tail.new(f"icmp ne i32 {value}, 0")
    tail.do(f"br i1 {bad}, label %outside, label %fine")
    tail.lines.append("outside:")
    tail.do(f"store i32 {value}, ptr {target}")
    tail.do("br label %fine")
    tail.lines.append("fine:")
    return tail.lines


def _pointers(code: Code, pointer: str, distance: str | None, stride: int, lanes: int) -> str:
    places = f"<{lanes} x i64> <" + ", ".join(f"i64 {i * stride}" for i in range(lanes)) + ">"
    pointers = code.new(f"getelementptr i8, ptr {pointer}, {places}")
    if distance is not None:
        pointers = code.new(
            f"getelementptr i8, <{lanes} x ptr> {pointers}, <{lanes} x i64> {distance}"
        )
    return pointers


def _loaded(code: Code, text: str, dtype: Any, lanes: int) -> Value:
    if dtype.kind == "b":
        kind = memory_type(dtype, lanes)
        zero = "0" if lanes == 1 else "zeroinitializer"
        return Value(code.new(f"icmp ne {kind} {text}, {zero}"), BOOL, lanes)
    return Value(text, dtype, lanes)


def _align(dtype: Any) -> int:
    return 1 if dtype.itemsize == 1 else int(dtype.itemsize)


def _suffix(dtype: Any, lanes: int) -> str:
    element = "i8" if dtype.kind == "b" else element_type(dtype)
    element = {"half": "f16", "float": "f32", "double": "f64"}.get(element, element)
    return f"v{lanes}{element}"
