"""Lowered instructions on disk: what a program is, under a name made from the instructions, with object code.

So what was lowered once is neither planned, nor written, nor compiled again: the instructions as text are all
that is made. The name also depends on the files that do the lowering. An entry holds the code of those kernels that
were new to the process that wrote it, and says in which entry the others are.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...._files.json_text import parsed
from ...dynamic.size import Size, Ways
from ...dynamic.words import in_words
from ...program import ir
from ...program.ir import Buffer, Instruction, Number, View
from .. import functions
from ..described import Fused
from ..functions import Function
from ..llvm.jit import assemble
from ..llvm.module import Module, build
from ..products import blas
from . import store

_HEAD = 8  # bytes that say how long what is known of the code is


@dataclass(slots=True)
class Lowered:
    """A program's kernels and the calls of them, the memory it needs for itself, and what its kernels do."""

    functions: list[Function]
    calls: list[Any]  # see `Module`
    scratch: int
    around: int
    kernels: list[Fused]
    cached: bool
    make: Callable[[], Module]  # the module once more, for its text
    ways: list[Any] | None = None  # of a program for any size: for which it holds, see `words`


def lowered(
    instructions: Sequence[Instruction],
    buffers: dict[int, Buffer],
    needed: frozenset[int],
    vector_bytes: int,
    threads: int,
    ways: Ways | None = None,
) -> Lowered:
    """A program for instructions: kept, or made now.

    Where sizes are symbols (`ways`), numbers that depend on them are texts; see `dynamic/words.py`.
    """
    key, make = _named(instructions, buffers, needed, vector_bytes, threads, ways)
    found = None if key is None else _kept(key, make)
    return made(make(), key, make) if found is None else found


def kept(
    instructions: Sequence[Instruction],
    buffers: dict[int, Buffer],
    needed: frozenset[int],
    vector_bytes: int,
    threads: int,
    ways: Ways | None = None,
) -> Lowered | None:
    """The same if it need not be made."""
    key, make = _named(instructions, buffers, needed, vector_bytes, threads, ways)
    return None if key is None else _kept(key, make)


def _named(
    instructions: Sequence[Instruction],
    buffers: dict[int, Buffer],
    needed: frozenset[int],
    vector_bytes: int,
    threads: int,
    ways: Ways | None,
) -> tuple[str | None, Callable[[], Module]]:
    """The name under which a program is kept, if it can be, and what makes it."""

    def make() -> Module:
        built = build(instructions, buffers, needed, vector_bytes, threads, ways)
        return built if ways is None else in_words(built)

    text = _as_text(instructions, buffers, needed)
    if text is None:
        return None, make
    example = "" if ways is None else str(sorted(ways.example.items()))
    here = [_files(), _blas(), str(vector_bytes), str(threads), example, text]
    return store.key_of("\n".join(here)), make


def made(built: Module, key: str | None, make: Callable[[], Module]) -> Lowered:
    """A program with machine code for those of its kernels that are not in memory yet; it is kept under `key`."""
    here = {name: functions.known(name) for name in built.functions}
    missing = [name for name, function in here.items() if function is None]
    code = b""
    if missing:
        code = assemble(built.source(missing))
        here |= functions.load(code, missing, key)
    found = [function for function in here.values() if function is not None]
    # A kernel that was known and has this entry for its home was made for the same program, by another thread or
    # earlier: the entry is there, with code that this one would lack.
    elsewhere = [function.home for function in found if function.name not in missing]
    if key is not None and None not in elsewhere and key not in elsewhere:
        where = [(f.name, "" if f.name in missing else f.home) for f in found]
        store.save(key, _packed(code, built, where))
    return Lowered(
        found, built.calls, built.scratch, built.around, built.kernels, False, make, built.ways
    )


def _kept(key: str, make: Callable[[], Module]) -> Lowered | None:
    """The program that is kept under a name, with kernels that are in memory or kept, too; None if one is missing."""
    kept = _load(key)
    if kept is None:
        return None
    here = {name: functions.known(name) for name, _ in kept.where}
    for home in {home for name, home in kept.where if here[name] is None}:
        entry = _load(home) if home else kept
        names = [name for name, place in kept.where if place == home and here[name] is None]
        if entry is None or not all((name, "") in entry.where for name in names):
            return None
        try:
            here |= functions.load(entry.code, names, home or key)
        except functions.NoSuchKernel:
            return None
    found = [function for function in here.values() if function is not None]
    return Lowered(
        found, kept.calls, kept.scratch, kept.around, kept.kernels, True, make, kept.ways
    )


def _load(key: str) -> Kept | None:
    content = store.load(key)
    return None if content is None else _unpacked(content)


# --- the name ------------------------------------------------------------------------------------------


@functools.cache
def _files() -> str:
    """A hash of the files that turn instructions into machine code."""
    found = hashlib.sha256()
    parts = (Path(__file__).parents[1], Path(__file__).parents[2] / "dynamic")
    for path in [Path(ir.__file__), *sorted(file for part in parts for file in part.rglob("*.py"))]:
        found.update(path.read_bytes())
    return found.hexdigest()


def _blas() -> str:
    found = blas()
    return "none" if found is None else f"{sorted(found.addresses)} {found.integer}"


class _NoText(Exception):
    """A part of an instruction that has no text of its own."""


def _as_text(
    instructions: Sequence[Instruction], buffers: dict[int, Buffer], needed: frozenset[int]
) -> str | None:
    """Everything that lowering looks at; None if something has no text."""
    views: dict[View, str] = {}

    def shown(value: Any) -> str:
        kind = type(value)
        if kind is View:
            found = views.get(value)
            if found is None:
                where = f"{value.buffer} {value.offset!r} {value.shape!r} {value.strides!r}"
                found = views[value] = f"<{where} {_dtype(value.dtype)}>"
            return found
        if kind is tuple or kind is list:
            return f"({','.join([shown(part) for part in value])})"
        if kind is Number:
            number = np.asarray(value.value)
            return f"{_dtype(number.dtype)}:{number.tobytes().hex()}"
        if isinstance(value, np.dtype):
            return _dtype(value)
        if kind is Size:
            return f"{{{value.text()}}}"
        if kind in (str, int, bool, type(None)):
            return repr(value)
        raise _NoText

    try:
        lines = []
        for instruction in instructions:
            kind: Any = type(instruction)
            parts = [shown(part) for part in _parts(kind)(instruction)]
            lines.append(f"{kind.__name__} {','.join(parts)}")
    except _NoText:
        return None
    used = sorted({view.buffer for view in views})
    lines += [f"{n} {buffers[n].kind.value} {buffers[n].nbytes!r} {n in needed}" for n in used]
    lines.append(str(max(buffers, default=-1)))
    return "\n".join(lines)


@functools.cache
def _dtype(dtype: Any) -> str:
    return f"{dtype.name}{dtype.str}"


@functools.cache
def _parts(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    """What lowering looks at of an instruction; a check's error is made elsewhere."""
    names = [field.name for field in fields(kind) if field.name != "error"]
    return attrgetter(*names)


# --- the content ---------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """What an entry holds: object code, in which entry each kernel is ("": this one), and the program."""

    code: bytes
    where: list[tuple[str, str]]
    calls: list[Any]
    scratch: int
    around: int
    kernels: list[Fused]
    ways: list[Any] | None


def _packed(code: bytes, built: Module, where: list[tuple[str, str | None]]) -> bytes:
    kernels = [{f.name: _plain(getattr(k, f.name)) for f in fields(k)} for k in built.kernels]
    known = {
        "functions": where,
        "calls": built.calls,
        "scratch": built.scratch,
        "around": built.around,
        "kernels": kernels,
        "ways": built.ways,
    }
    text = json.dumps(known, separators=(",", ":")).encode()
    return len(text).to_bytes(_HEAD, "little") + text + code


def _unpacked(content: bytes) -> Kept | None:
    """What an entry holds; None where that is not what it should be."""
    stop = _HEAD + int.from_bytes(content[:_HEAD], "little")
    try:
        known = parsed(content[_HEAD:stop])
        kernels = [
            Fused(**{name: _from_plain(value) for name, value in kernel.items()})
            for kernel in known["kernels"]
        ]
        where = [(str(name), str(home)) for name, home in known["functions"]]
        numbers = known["scratch"], int(known["around"])
        return Kept(content[stop:], where, known["calls"], *numbers, kernels, known["ways"])
    except (ValueError, KeyError, TypeError):
        return None


def _plain(value: Any) -> Any:
    """A value in JSON's words, with sets and tuples named."""
    if isinstance(value, (frozenset, tuple)):
        parts = sorted(value) if isinstance(value, frozenset) else value
        return {type(value).__name__: [_plain(part) for part in parts]}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _from_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_plain(part) for part in value]
    if isinstance(value, dict):
        ((name, parts),) = value.items()
        return {"frozenset": frozenset, "tuple": tuple}[name](map(_from_plain, parts))
    return value
