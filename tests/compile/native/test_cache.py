"""Attacks on object code on disk: whatever lies there, only what this user signed under that name is loaded."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tautograd._compile.native.disk_cache import lowered, private_folder, store
from tautograd._compile.native.llvm import jit
from tautograd._files.folders import user_folder
from tests.compile.native.kept_code import entries, program

FUNCTIONS = ("square", "negative", "absolute", "sqrt")


@pytest.fixture
def entry(place: Path) -> Path:
    assert not program().check().cached
    assert program().check().cached
    return entries(place)[0]


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All object code that comes into the process."""
    found: list[bytes] = []
    load = jit.Loaded.__init__

    def noted(self: Any, code: bytes, symbols: Any) -> None:
        found.append(code)
        load(self, code, symbols)

    monkeypatch.setattr(jit.Loaded, "__init__", noted)
    return found


def test_every_two_entries_exchanged(place: Path) -> None:
    """Each gives its own results, which `check` compares with NumPy's; nothing of the other is taken."""
    for function in FUNCTIONS:
        program(function).check()
    names = entries(place)
    assert len(names) == len(FUNCTIONS)
    original = {path: path.read_bytes() for path in names}
    for one, other in itertools.combinations(names, 2):
        one.write_bytes(original[other])
        other.write_bytes(original[one])
        assert store.load(one.name) is None
        assert store.load(other.name) is None
        one.write_bytes(original[one])
        other.write_bytes(original[other])
    contents = list(original.values())
    for path, content in zip(names, [*contents[1:], contents[0]], strict=True):
        path.write_bytes(content)
    assert [program(function).check().cached for function in FUNCTIONS] == [False] * len(FUNCTIONS)
    assert {path: path.read_bytes() for path in names} == original  # made anew, the same


def test_each_byte_counts(entry: Path) -> None:
    content = entry.read_bytes()
    head = len(store.MAGIC) + 32
    rng = random.Random(0)
    places = [*range(head + 16), *rng.sample(range(head, len(content)), 200), len(content) - 1]
    for at in places:
        changed = bytearray(content)
        changed[at] ^= 1 << rng.randrange(8)
        entry.write_bytes(changed)
        assert store.load(entry.name) is None, at
    entry.write_bytes(content)
    assert store.load(entry.name) is not None


def test_each_length_counts(entry: Path) -> None:
    content = entry.read_bytes()
    for stop in [*range(80), *range(80, len(content), 97)]:
        entry.write_bytes(content[:stop])
        assert store.load(entry.name) is None, stop
    for tail in (b"\0", b"x" * 100, content):
        entry.write_bytes(content + tail)
        assert store.load(entry.name) is None


def _signed_as_before(name: str, code: bytes) -> bytes:
    return b"tautograd object code 1\n" + hashlib.sha256(code).digest() + code


FORGERIES: dict[str, Callable[[str, bytes], bytes]] = {
    "another key": lambda name, code: store.MAGIC + store._signature(b"k" * 32, name, code) + code,
    "no key": lambda name, code: store.MAGIC + store._signature(b"", name, code) + code,
    "a hash": lambda name, code: store.MAGIC + hashlib.sha256(code).digest() + code,
    "a hash with the name": lambda name, code: (
        store.MAGIC + hashlib.sha256(name.encode() + code).digest() + code
    ),
    "zeros": lambda name, code: store.MAGIC + bytes(32) + code,
    "the format of before": _signed_as_before,
    "nothing but code": lambda name, code: code,
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_entry_is_never_loaded(entry: Path, forgery: str, loaded: list[bytes]) -> None:
    evil = b"\x7fELF evil"
    entry.write_bytes(FORGERIES[forgery](entry.name, evil))
    assert not program().check().cached
    assert not any(evil in code for code in loaded)
    assert program().check().cached  # made anew


def test_an_entry_of_another_user_of_the_same_program(entry: Path, tmp_path: Path) -> None:
    """Their key is another one."""
    content = entry.read_bytes()
    key = entry.parent / store.KEY
    mine = key.read_bytes()
    key.unlink()
    entry.unlink()
    program().check()
    assert key.read_bytes() != mine
    entry.write_bytes(content)
    assert store.load(entry.name) is None


@pytest.mark.parametrize("what", ["__version__", "compiler_version", "features", "python"])
def test_an_entry_of_another_version(
    entry: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is another one, and under the new name it is not what was signed."""
    content, before = entry.read_bytes(), store.key_of("text")
    if what == "__version__":
        monkeypatch.setattr(store, "__version__", "0.0.0")
    elif what == "compiler_version":
        monkeypatch.setattr(store, "compiler_version", lambda: "0")
    elif what == "features":
        monkeypatch.setattr(jit.host(), "features", "+none")
    else:
        monkeypatch.setattr(store.sys, "version", "4.0")
    assert store.key_of("text") != before
    new = entry.parent / store.key_of("text")
    new.write_bytes(content)
    new.chmod(0o600)
    assert store.load(new.name) is None


# --- what is no plain file ----------------------------------------------------------------------------------


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _of_size(path: Path, size: int) -> None:
    path.touch(0o600)
    os.truncate(path, size)


def _null(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS: dict[str, Callable[[Path], Any]] = {
    "pipe": _pipe,
    "folder": lambda path: path.mkdir(0o700),
    "link to itself": _loop,
    "link to an endless device": _null,
    "link to a good copy": lambda path: path.symlink_to(path.with_suffix(".copy")),
    "huge": lambda path: _of_size(path, 1 << 40),
    "just too large": lambda path: _of_size(path, store.LARGEST + 1),
}


@pytest.mark.parametrize("name", ["entry", "key"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_file_is_not_read(entry: Path, kind: str, name: str) -> None:
    """Nothing waits, and nothing is followed."""
    path = entry if name == "entry" else entry.parent / store.KEY
    path.rename(path.with_suffix(".copy"))
    KINDS[kind](path)
    if not path.is_symlink() and path.is_file():
        path.chmod(0o600)
    start = time.monotonic()
    assert store.load(entry.name) is None
    assert not program().check().cached
    assert time.monotonic() - start < 5
    assert program().check().cached is (kind != "folder")  # which nothing is put in place of
    if kind.startswith("link to an"):
        assert stat.S_ISCHR(os.stat("/dev/zero").st_mode)


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 31, b"x" * 33, b"x" * 10_000])
def test_a_damaged_key_is_replaced(entry: Path, content: bytes) -> None:
    key = entry.parent / store.KEY
    key.write_bytes(content)
    assert not program().check().cached
    assert len(key.read_bytes()) == 32
    assert key.stat().st_mode & 0o777 == 0o600
    assert program().check().cached


# --- whose it is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o640, 0o620, 0o666, 0o777])
@pytest.mark.parametrize("name", ["entry", "key"])
def test_what_others_can_read_or_write(entry: Path, name: str, mode: int) -> None:
    path = entry if name == "entry" else entry.parent / store.KEY
    path.chmod(mode)
    assert store.load(entry.name) is None
    assert not program().check().cached
    assert program().check().cached
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o755, 0o777, 0o1777])
def test_a_folder_that_others_can_enter(entry: Path, mode: int) -> None:
    entry.parent.chmod(mode)
    before = entry.stat().st_mtime_ns
    assert not program().check().cached
    assert not program().check().cached
    assert entry.stat().st_mtime_ns == before  # nothing is written there either


def _state(uid: int, mode: int) -> Any:
    return os.stat_result((mode, 0, 0, 1, uid, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(
    "kind", [stat.S_IFREG, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFLNK, stat.S_IFCHR]
)
@pytest.mark.parametrize("whose", [0, 1])
def test_who_owns_it(kind: int, whose: int) -> None:
    state = _state(os.geteuid() + whose, kind | 0o600)
    assert private_folder.is_ours(state, stat.S_ISREG) is (kind == stat.S_IFREG and not whose)
    assert private_folder.is_ours(state, stat.S_ISDIR) is (kind == stat.S_IFDIR and not whose)


@pytest.mark.parametrize("who", ["entry", "key", "folder"])
def test_what_another_user_owns(entry: Path, who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root finds it with the HOME of a user (`sudo`): nothing that they could have put there is run."""
    path = {"entry": entry, "key": entry.parent / store.KEY, "folder": entry.parent}[who]
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
    else:
        number, fstat = path.stat().st_ino, os.fstat

        def as_another(handle: int) -> os.stat_result:
            state = fstat(handle)
            return _state(os.geteuid() + 1, state.st_mode) if state.st_ino == number else state

        monkeypatch.setattr(os, "fstat", as_another)
    assert store.load(entry.name) is None
    assert not program().check().cached


def test_nothing_is_made_in_the_home_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(home))
    real = os.stat

    def theirs(path: Any, **options: Any) -> os.stat_result:
        return _state(54321, stat.S_IFDIR | 0o700) if Path(path) == home else real(path, **options)

    monkeypatch.setattr(private_folder.os, "stat", theirs)
    assert not program().check().cached
    assert not list(home.iterdir())
    monkeypatch.undo()


def test_a_program_with_the_rights_of_another(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is that of who called it."""
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    assert store.load(entry.name) is None
    assert not program().check().cached


# --- where it is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["", "relative", "./here", "~/x", "../up", "."])
def test_a_relative_folder_is_ignored(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the specification says; else each folder that one stands in could hold code to load."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable, default in (("XDG_CACHE_HOME", ".cache"), ("XDG_DATA_HOME", ".local")):
        monkeypatch.setenv(variable, named)
        assert user_folder(variable, default) == tmp_path / "home" / default
    program().check()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]


def test_nobody_knows_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert user_folder("XDG_CACHE_HOME", ".cache") is None
    assert not program().check().cached
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("home", ["/nonexistent", "/dev/null", "/proc", "/" + "x" * 300])
def test_a_home_where_nothing_can_be_kept(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", home)
    if home == "/nonexistent":  # root could make it
        monkeypatch.setattr(private_folder, "_made", lambda place: False)
    assert not program().check().cached
    assert not program().check().cached


def test_more_folders_than_python_has_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    depth = sys.getrecursionlimit() + 100
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path) + "/d" * depth)
    try:
        program().check()
        program().check()
    finally:  # whoever clears temporary folders does it by recursion
        shutil.rmtree(f"{tmp_path}{'/d' * depth}", ignore_errors=True)
        for level in range(depth, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(f"{tmp_path}{'/d' * level}")


def test_folders_are_the_users_whatever_the_umask(place: Path) -> None:
    before = os.umask(0)
    try:
        program().check()
    finally:
        os.umask(before)
    assert {folder.stat().st_mode & 0o777 for folder in (place, place.parent)} == {0o700}


@pytest.mark.parametrize("link", [".cache", ".cache/tautograd", ".cache/tautograd/native"])
@pytest.mark.parametrize("by", ["absolute", "relative"])
def test_a_users_link_does_not_lead_root(
    link: str, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into a folder of root's, in whose name the user could not write."""
    user, home, inner = 12345, tmp_path / "home", tmp_path / "inner"
    inner.mkdir(mode=0o700)
    (home / link).parent.mkdir(parents=True)
    target = inner if by == "absolute" else os.path.relpath(inner, (home / link).parent)
    (home / link).symlink_to(target)
    lstat, ids = os.lstat, {(home / link).lstat().st_ino}

    def owned(path: Any, **options: Any) -> os.stat_result:
        state = lstat(path, **options)
        owner = user if state.st_ino in ids else 0
        return os.stat_result((*state[:4], owner, *state[5:10]))

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    for name in ("geteuid", "getuid"):
        monkeypatch.setattr(os, name, lambda: 0)
    monkeypatch.setattr(os, "lstat", owned)
    assert not private_folder._made(home / ".cache" / "tautograd" / "native")
    assert not list(inner.iterdir())
    ids.clear()  # root's own links do
    assert private_folder._is_roots(home / ".cache" / "tautograd" / "native")


def test_links_in_a_circle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "circle").symlink_to("circle")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "circle"))
    assert not program().check().cached
    assert not program().check().cached


def test_a_full_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "link", full)
    assert not program().check().cached
    assert list(place.iterdir()) == []


# --- what is left behind ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_a_killed_writer_left_is_cleared(place: Path) -> None:
    program().check()
    body = (
        "import os, signal, sys\n"
        "from tautograd._compile.native.disk_cache import store as cache\n"
        "os.replace = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"
        "cache.save('a' * 64, b'x' * 1000)\n"
    )
    for _ in range(2):
        found = subprocess.run([sys.executable, "-c", body], check=False)
        assert found.returncode == -signal.SIGKILL
    left = [path for path in place.iterdir() if path.suffix == private_folder.PART]
    assert (
        len(left) == 2 or len(left) == 1
    )  # the second clears what the first left, if it gets so far
    program("negative").check()
    assert not [path for path in place.iterdir() if path.suffix == private_folder.PART]


def test_what_is_being_written_is_left_alone(place: Path) -> None:
    program().check()
    with store.folder() as folder:
        assert folder is not None
        part = f"{'a' * 16}{private_folder.PART}"
        handle = folder._open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        assert private_folder._hold(handle)
        folder.clear()
        assert (place / part).exists()
        os.close(handle)
        folder.clear()
        assert not (place / part).exists()


def test_not_more_entries_than_are_allowed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_ENTRIES", 3)
    for digit in "abcdef":
        store.save(digit * 64, b"code")
        time.sleep(0.01)
        if digit != "a":
            assert store.load("b" * 64) is not None  # what is used stays
    assert [path.name[0] for path in entries(place)] == ["b", "e", "f"]
    (place / "notes.txt").write_text("mine")
    store.save("0" * 64, b"code")
    assert (place / "notes.txt").read_text() == "mine"


def test_files_are_not_all_looked_at_for_each_that_is_saved(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder with thousands of entries that took longer than anything else of a record."""
    looks = []
    files = private_folder.Closed.files
    monkeypatch.setattr(private_folder.Closed, "files", lambda self: looks.append(1) or files(self))
    monkeypatch.setattr(store, "_added", None)
    count = store.MOST_ENTRIES // store._PART
    for n in range(count):
        store.save(f"{n:064x}", b"code")
    at_first = len(looks)
    assert 0 < at_first <= 2
    assert len(list(entries(place))) == count
    monkeypatch.setattr(store, "MOST_BYTES", 4 * store._PART * len(store.MAGIC) * count)
    store.save("a" * 64, b"x" * (store.MOST_BYTES // store._PART))  # much at once
    assert len(looks) == 2 * at_first


@pytest.mark.slow
def test_processes_that_make_the_key_at_once(tmp_path: Path) -> None:
    """All use the same one."""
    body = (
        "from tautograd._compile.native.disk_cache import store as cache\n"
        "import sys, time\n"
        "time.sleep(max(0, float(sys.argv[1]) - time.time()))\n"
        "cache.save(sys.argv[2] * 64, b'code')\n"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    start = str(time.time() + 2)
    running = [
        subprocess.Popen([sys.executable, "-c", body, start, digit], env=environment)
        for digit in "abcd"
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    before = os.environ["XDG_CACHE_HOME"]
    os.environ["XDG_CACHE_HOME"] = str(tmp_path)
    try:
        assert all(store.load(digit * 64) == b"code" for digit in "abcd")
    finally:
        os.environ["XDG_CACHE_HOME"] = before


def test_signed_but_not_what_it_should_be(entry: Path) -> None:
    """What is known of the code is looked at once more when it was signed."""
    for content in (b"", b"\xff" * 8, b"\x04\0\0\0\0\0\0\0nope", b"\x02\0\0\0\0\0\0\0{}code"):
        store.save(entry.name, content)
        assert lowered._unpacked(content) is None
        assert not program().check().cached
