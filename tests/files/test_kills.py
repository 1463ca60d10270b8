"""Killed at any moment, or on a full disk: the old file or the new one, and nothing left for good."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.writers import WRITERS, fill, unharmed, warm

NOBODY = "65534"
USERS = ["root", "nobody"] if hasattr(os, "geteuid") and os.geteuid() == 0 else ["oneself"]


def killed(kind: str, user: str, kills: int) -> list[str]:
    """What went wrong in so many kills and writes to a full disk."""
    arguments = [kind, str(kills), "0", *([NOBODY] if user == "nobody" else [])]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "fuzz.writers", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("kind", ["checkpoint", "progress"])
def test_a_killed_write_loses_nothing_and_leaves_nothing(kind, user):
    assert killed(kind, user, 10) == []


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("kind", WRITERS)
def test_two_hundred_kills_of_each_thing_that_is_written(kind, user):
    assert killed(kind, user, 200) == []


@pytest.mark.parametrize("call", ["fsync", "replace", "link", "fchmod"])
@pytest.mark.parametrize("kind", WRITERS)
def test_a_system_call_that_fails_leaves_all_as_it_was(kind, call, tmp_path, monkeypatch):
    warm(kind, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fails(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fails)
        try:
            WRITERS[kind].write(tmp_path, 5)
        except (OSError, AssertionError):
            pass
        else:
            return  # a call that this one does not make
    assert unharmed(kind, tmp_path) is None
    if kind != "new evidence":  # which takes the old one away first
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 KiB, or None where nobody may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if (
        not shutil.which("mount")
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if kind != "new evidence"])
def test_a_disk_that_is_full(kind, tmp_path, small_disk):
    first = tmp_path / "first"
    first.mkdir()
    warm(kind, first)
    if small_disk is None:  # a limit on the size of files stands for it
        assert fill(kind, first, 100) is None
        return
    for path in first.iterdir():
        (small_disk / path.name).write_bytes(path.read_bytes()[: 40 * 1024])
    with pytest.raises(OSError), open(small_disk / "filler", "wb", buffering=0) as filler:
        while True:
            filler.write(bytes(1024))
    kept = {path.name: path.read_bytes() for path in small_disk.iterdir()}
    with pytest.raises((OSError, AssertionError)):
        WRITERS[kind].write(small_disk, 6)
    assert {path.name: path.read_bytes() for path in small_disk.iterdir()} == kept


@pytest.mark.parametrize("kind", WRITERS)
def test_no_destructor_of_python_runs_while_something_is_written(kind, tmp_path):
    """A Ctrl-C that comes while one runs is printed and forgotten, and the program goes on."""
    warm(kind, tmp_path)
    ran = []

    def look(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "__del__":
            ran.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        WRITERS[kind].write(tmp_path, 3)
        WRITERS[kind].check(tmp_path)
    finally:
        sys.setprofile(before)
    assert not ran
