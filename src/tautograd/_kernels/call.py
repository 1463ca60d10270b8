"""How a kernel is called from Python: as a function of CPython's own, made of machine code too.

`run(units, work, *arguments)`: the arguments' kinds are the letters of the kernel's signature, `a` for an array (its
address is read where NumPy keeps it), `n` for a whole number, `x` for a float. `units` is the range that the kernel
runs over and may be split into; `work` is about how many numbers it goes through: from `LONG` on other
threads of Python may run meanwhile, and units are shared out among the pool's threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._arrays.once import once
from .._compile.native.disk_cache import store
from .._compile.native.llvm import jit, thread_pool
from .._compile.native.llvm.c_functions import Method, function_of, symbols_of
from .._compile.native.llvm.thread_pool_ir import ALONE, PARALLEL, TOGETHER
from .._compile.native.products import blas
from .._tensor.settings import get_num_threads
from .writer import Writer

LONG = 1 << 15
_FASTCALL = 0x0080  # METH_FASTCALL
_DATA = 16  # bytes from the start of NumPy's array object to the address of its memory
_USED = {
    "PyNumber_AsSsize_t": "i64 (ptr, ptr)",  # NumPy's numbers, too
    "PyFloat_AsDouble": "double (ptr)",
    "PyErr_Occurred": "ptr ()",
    "PyLong_FromLong": "ptr (i64)",
    "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
}


class Source(NamedTuple):
    """A kernel: its name, the kinds of its arguments, and what writes it."""

    name: str
    signature: str
    write: Callable[[Writer], None]


def load(source: Source, dtype: Any) -> Callable[..., Any] | None:
    """A Python function for a kernel; None if this machine cannot have it."""
    if not _finds_addresses():
        return None
    writer = Writer(dtype, source.signature)
    source.write(writer)
    uses_blas = any(name.startswith("taut.") and "gemm" in name for name in writer.declared)
    found = blas()
    if uses_blas and found is None:
        return None
    thread_pool.use_threads(get_num_threads())
    alone = uses_blas and found is not None and found.obeys and thread_pool.available()
    text = "\n".join(
        [
            *_declarations(alone),
            *writer.declared.values(),
            writer.text("kernel"),
            _entry(source.signature, alone),
        ]
    )
    code, _ = store.compiled(text)
    symbols = symbols_of(_USED) | thread_pool.symbols() | {"too_large": id(OverflowError)}
    if found is not None:
        symbols |= {f"taut.{name}": address for name, address in found.addresses.items()}
    loaded = jit.Loaded(code, symbols)
    method = Method(source.name.encode(), loaded.address("entry"), _FASTCALL, None)
    loaded.keep()
    return function_of(method, None)


@once
def _finds_addresses() -> bool:
    """Whether an array's address lies where it is expected (it has for as long as there is a NumPy)."""
    import ctypes

    array = np.arange(3.0)
    return ctypes.c_void_p.from_address(id(array) + _DATA).value == array.ctypes.data


def _declarations(alone: bool) -> list[str]:
    lines = ["@too_large = external global i8"]
    for name, kind in _USED.items():
        result, _, given = kind.partition(" ")
        lines.append(f"declare {result} @{name}{given}")
    if thread_pool.available():
        lines.append(f"declare void @{PARALLEL}(ptr, ptr, i64)")
    if alone:
        lines += [
            f"declare void @{ALONE}(ptr, ptr)",
            f"declare void @{TOGETHER}(ptr)",
            "declare i32 @taut.get_threads()",
            "declare void @taut.set_threads(i32)",
        ]
    return lines


def _checked(o: str, compare: str) -> list[str]:
    """What converts an argument gives minus one where it is no number: then nothing may run."""
    name, minus_one = o.removeprefix("%"), "-1" if "i64" in compare else "-1.0"
    return [
        f"  {o}m = {compare} {o}v, {minus_one}",
        f"  br i1 {o}m, label %{name}.ask, label %{name}.good",
        f"{name}.ask:",
        f"  {o}e = call ptr @PyErr_Occurred()",
        f"  {o}n = icmp eq ptr {o}e, null",
        f"  br i1 {o}n, label %{name}.good, label %failed",
        f"{name}.good:",
    ]


def _entry(signature: str, alone: bool) -> str:
    """Arguments out of Python's objects, then the kernel; while it multiplies, BLAS starts no threads."""
    lines = [
        "define ptr @entry(ptr %self, ptr %given, i64 %count) {",
        f"  %args = alloca [{max(1, len(signature))} x i64]",
    ]
    for place, kind in enumerate("nn" + signature):
        o = f"%o{place}"
        lines += [
            f"  {o}p = getelementptr ptr, ptr %given, i64 {place}",
            f"  {o} = load ptr, ptr {o}p",
        ]
        if kind == "a":
            lines.append(f"  {o}d = getelementptr i8, ptr {o}, i64 {_DATA}")
            lines.append(f"  {o}v = load ptr, ptr {o}d")
        elif kind == "n":
            lines.append(f"  {o}v = call i64 @PyNumber_AsSsize_t(ptr {o}, ptr @too_large)")
        else:
            lines.append(f"  {o}v = call double @PyFloat_AsDouble(ptr {o})")
        if kind != "a":
            lines += _checked(o, "icmp eq i64" if kind == "n" else "fcmp oeq double")
        if place >= 2:
            stored = {"a": "ptr", "n": "i64", "x": "double"}[kind]
            lines.append(f"  {o}s = getelementptr i64, ptr %args, i64 {place - 2}")
            lines.append(f"  store {stored} {o}v, ptr {o}s")
    before = (
        [f"  call void @{ALONE}(ptr @taut.get_threads, ptr @taut.set_threads)"] if alone else []
    )
    after = [f"  call void @{TOGETHER}(ptr @taut.set_threads)"] if alone else []
    run = "  call void @kernel(ptr %args, i64 0, i64 %o0v)"
    shared = run
    if thread_pool.available():
        shared = f"  call void @{PARALLEL}(ptr @kernel, ptr %args, i64 %o0v)"
    lines += [
        f"  %long = icmp sge i64 %o1v, {LONG}",
        "  br i1 %long, label %lets_go, label %stays",
        "stays:",
        *before,
        run,
        *after,
        "  br label %done",
        "lets_go:",
        "  %thread = call ptr @PyEval_SaveThread()",
        *before,
        shared,
        *after,
        "  call void @PyEval_RestoreThread(ptr %thread)",
        "  br label %done",
        "failed:",
        "  ret ptr null",
        "done:",
        "  %result = call ptr @PyLong_FromLong(i64 0)",
        "  ret ptr %result",
        "}",
    ]
    return "\n".join(lines)
