"""No llvmlite, a damaged or foreign or unwritable cache, a fork: clear behaviour and right results."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tautograd._compile.native import can_lower
from tautograd._compile.native.disk_cache import store
from tautograd._compile.program import ir
from tests.compile.native.kept_code import entries, program
from tests.compile.native.programs import Builder


def test_the_second_time_it_is_loaded(place: Path) -> None:
    assert not program().check().cached
    (entry,) = entries(place)
    assert entry.stat().st_mode & 0o777 == 0o600
    assert place.stat().st_mode & 0o777 == 0o700
    assert program().check().cached


@pytest.mark.parametrize("damage", ["cut", "byte", "empty", "text"])
def test_a_damaged_entry_is_rebuilt(place: Path, damage: str) -> None:
    program().check()
    (entry,) = entries(place)
    content = bytearray(entry.read_bytes())
    if damage == "cut":
        content = content[:-7]
    elif damage == "byte":
        content[-100] ^= 1
    elif damage == "empty":
        content = bytearray()
    else:
        content = bytearray(b"hello")
    entry.write_bytes(content)
    assert not program().check().cached
    assert program().check().cached


def test_what_others_could_have_written_is_not_loaded(place: Path) -> None:
    program().check()
    (entry,) = entries(place)
    entry.chmod(0o666)
    assert not program().check().cached
    place.chmod(0o777)
    with store.folder() as found:
        assert found is None
    assert not program().check().cached


def test_a_link_is_not_followed(place: Path, tmp_path: Path) -> None:
    program().check()
    (entry,) = entries(place)
    moved = tmp_path / "elsewhere"
    entry.rename(moved)
    entry.symlink_to(moved)
    assert not program().check().cached


def test_without_a_place_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert not program().check().cached
    assert not program().check().cached


def test_too_much_is_forgotten(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_BYTES", 100)
    for key in "abc":
        store.save(key * 64, b"x" * 30)
        time.sleep(0.01)
    assert [path.name for path in entries(place)] == ["c" * 64]


def test_without_llvmlite_the_reason_is_said() -> None:
    code = """
import sys
sys.modules["llvmlite"] = None
from tautograd._compile import native
from tautograd._compile.native import NoCompiler, lower, why_not
assert "tautograd[jit]" in why_not()
try:
    lower([], [], [])
except NoCompiler as error:
    assert isinstance(error, ImportError)
    print("said:", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "said: native code needs llvmlite" in done.stdout


def test_importing_does_not_load_llvmlite() -> None:
    code = "import sys, tautograd._compile.native as n; assert 'llvmlite' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # that it has threads
def test_a_child_process_runs_it() -> None:
    build = program()
    native = build.lower()
    build.run(native)
    child = os.fork()
    if not child:
        build.run(native)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0


@pytest.mark.parametrize(
    ("instruction", "reason"),
    [
        (lambda v: ir.Map("arctan3", (v,), v, (v.dtype, v.dtype)), "no rule for arctan3"),
        (lambda v: ir.Map("exp", (v,), v, (np.dtype("c8"), np.dtype("c8"))), "complex numbers"),
        (lambda v: ir.Call(np.sort, (v,), {}, (v,)), "a call into Python"),
        (
            lambda v: ir.Map("exp", (v,), v.broadcast((3, 100)), (v.dtype, v.dtype)),
            "more than once",
        ),
    ],
)
def test_reasons_in_words(instruction: object, reason: str) -> None:
    build = Builder()
    view = build.view(np.zeros(100, "f4"))
    assert reason in (can_lower(instruction(view)) or "")  # type: ignore[operator]
