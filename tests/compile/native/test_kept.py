"""What is kept on disk is found by the instructions: anything that changes the code changes the name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tautograd._compile.native.disk_cache import lowered
from tautograd._compile.native.llvm import thread_pool
from tautograd._compile.program import ir
from tests.compile.native.programs import Builder

F4, F8 = np.dtype("f4"), np.dtype("f8")


def program() -> Builder:
    build = Builder()
    x = build.view(np.arange(96, dtype="f4"))
    y = build.map("add", x, ir.Number(np.float32(0.0)), out=build.scratch((96,), F4))
    build.map("square", y, out=build.view(np.zeros(96, "f4")))
    return build


def _with(build: Builder, i: int, **changes: Any) -> None:
    build.instructions[i] = replace(build.instructions[i], **changes)


def _as_double(build: Builder) -> None:
    _with(build, 0, loop=(F8, F8, F8))


def _other_part(build: Builder) -> None:
    view = build.instructions[1].output
    _with(build, 1, output=replace(view, shape=(48,), strides=(8,)))


def _in_place(build: Builder) -> None:
    _with(build, 1, output=build.instructions[0].inputs[0])


CHANGES: dict[str, Any] = {
    "function": lambda b: _with(b, 1, function="negative"),
    "number": lambda b: _with(b, 0, inputs=(b.instructions[0].inputs[0], ir.Number(np.float32(1)))),
    "sign of zero": lambda b: _with(
        b, 0, inputs=(b.instructions[0].inputs[0], ir.Number(np.float32(-0.0)))
    ),
    "loop": _as_double,
    "view": _other_part,
    "target": _in_place,
    "kind of a buffer": lambda b: setattr(b.buffers[1], "kind", ir.Kind.KEPT),
    "size of a buffer": lambda b: setattr(b.buffers[1], "nbytes", 4096),
    "order": lambda b: b.instructions.reverse(),
    "one less": lambda b: b.instructions.pop(),
}


def text_of(build: Builder, needed: frozenset[int] = frozenset()) -> str | None:
    buffers = {b.number: b for b in build.buffers}
    return lowered._as_text(build.instructions, buffers, needed)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_in_the_name(change: str) -> None:
    before, build = text_of(program()), program()
    assert before == text_of(build)
    CHANGES[change](build)
    assert text_of(build) != before


def test_what_is_read_afterwards_is_in_the_name() -> None:
    assert text_of(program(), frozenset({1})) != text_of(program())
    assert text_of(program(), frozenset({77})) == text_of(program())  # no buffer of these


def test_what_has_no_text_is_not_kept() -> None:
    build = program()
    _with(build, 0, loop=(object(),))
    assert text_of(build) is None


def test_what_is_known_of_the_code_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_pool.available()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made, loaded = program().check(), program().check()
    assert (made.cached, loaded.cached) == (False, True)
    assert loaded.kernels == made.kernels
    assert (loaded.own_bytes, loaded.functions) == (made.own_bytes, made.functions)
    assert loaded.text == made.text


@pytest.mark.parametrize("content", [b"", b"\xff" * 30, b"\2" + b"\0" * 7 + b"{}", b"\0" * 20])
def test_what_is_no_entry_is_made_anew(content: bytes) -> None:
    assert lowered._unpacked(content) is None
