"""What is there when something is written over it: devices, pipes, links, others' files, dead writers."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import tautograd
from tautograd import safetensors
from tautograd._files import atomic, temporaries

torch = pytest.importorskip("torch")
X = tautograd.arange(5.0)
NOBODY = 65534
only_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else"
)


def save_tensors(path: str | Path) -> None:
    safetensors.save_file({"x": X}, path)


def save_checkpoint(path: str | Path) -> None:
    tautograd.save(X, path)


SAVERS = [save_checkpoint, save_tensors]


def as_nobody(code: str) -> str:
    """What some code prints that runs as a user without any rights."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                exec(code, {"tautograd": tautograd, "X": X, "os": os})
                os.write(writer, b"done")
            except Exception as error:
                os.write(writer, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        said = file.read().decode()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def folder_of_nobody():
    """One that such a user can reach, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


# ---- what is no plain file ---------------------------------------------------------------------------


@pytest.mark.parametrize("save", SAVERS)
def test_a_device_stays_a_device(save, tmp_path):
    if os.geteuid() == 0:  # as root, it could be replaced: one of our own, then
        null = tmp_path / "null"
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        with contextlib.suppress(PermissionError):  # a file system on which devices do not work
            save(null)
        assert stat.S_ISCHR(null.stat().st_mode)
        assert os.listdir(tmp_path) == ["null"]
    save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("save", SAVERS)
def test_a_device_that_is_full_says_so(save):
    with pytest.raises(OSError) as refused:
        save("/dev/full")
    assert refused.value.errno == errno.ENOSPC


@pytest.mark.parametrize("through", ["pipe", "link"])
def test_a_pipe_gets_the_whole_content(through, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    tautograd.save(X, tmp_path / through)
    reader.join()
    (tmp_path / "copy.pt").write_bytes(got[0])
    assert torch.load(tmp_path / "copy.pt").tolist() == X.tolist()
    assert sorted(os.listdir(tmp_path)) == ["copy.pt", "link", "pipe"]


def test_a_pipe_that_nobody_reads_need_not_be_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError) as refused, atomic.replacing(tmp_path / "pipe", wait=False):
        pytest.fail("it was opened")
    assert refused.value.errno == errno.ENXIO


def test_a_socket_is_an_error_and_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        with pytest.raises(OSError):
            tautograd.save(X, "socket")
        with pytest.raises(OSError):
            atomic.check("socket")
    assert stat.S_ISSOCK(os.stat("socket").st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_a_descriptor_is_written_where_it_stands(name, tmp_path, project):
    (tmp_path / "link").symlink_to("/dev/stdout")
    code = f"""
import tautograd
print("before")
tautograd.save(tautograd.arange(5.0), {name!r})
print("after")
"""
    out = tmp_path / "out"
    with open(out, "wb") as file:
        subprocess.run(
            [sys.executable, "-c", code], stdout=file, check=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(project / "src")},
        )  # fmt: skip
    content = out.read_bytes()
    assert content.startswith(b"before\nPK")
    assert content.endswith(b"after\n")
    (tmp_path / "copy.pt").write_bytes(content.removeprefix(b"before\n").removesuffix(b"after\n"))
    assert torch.load(tmp_path / "copy.pt").tolist() == X.tolist()


# ---- plain files: whose they are, and what they are like ------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o755])
@pytest.mark.parametrize("save", SAVERS)
def test_permissions_are_kept(save, mode, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(mode)
    save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_gets_what_the_user_has_chosen_for_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        tautograd.save(X, tmp_path / "model")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640


def test_nothing_is_readable_before_it_has_the_old_files_permissions(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with atomic.replacing(path) as file:
        modes = {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
        file.write(b"new")
    assert modes == {0o600}


def test_rights_that_a_program_lends_are_taken_away_as_by_any_write(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(b"old")
    path.chmod(0o4755)
    tautograd.save(X, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_attributes_are_kept(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.origin", b"somewhere")
    except OSError:
        return  # a file system without them
    tautograd.save(X, path)
    assert os.getxattr(path, "user.origin") == b"somewhere"


@only_root
def test_the_owner_is_kept(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    os.chown(path, NOBODY, NOBODY)
    tautograd.save(X, path)
    assert (path.stat().st_uid, path.stat().st_gid) == (NOBODY, NOBODY)


@only_root
@pytest.mark.parametrize(
    ("old", "new"), [(0o606, 0o600), (0o640, 0o600), (0o646, 0o644), (0o664, 0o644), (0o600, 0o600)]
)
def test_a_group_that_is_lost_opens_a_file_to_nobody(old, new, folder_of_nobody):
    """Whoever was in the group is one of all others afterwards, and must not have more rights so."""
    folder = folder_of_nobody
    path = folder / "model"
    path.write_bytes(b"old")
    os.chown(path, NOBODY, 4242)
    path.chmod(old)
    tautograd.save(X, folder / "before")  # imports what a user without rights may not read
    assert as_nobody(f"tautograd.save(X, {str(path)!r})") == "done"
    assert path.stat().st_gid == NOBODY
    assert stat.S_IMODE(path.stat().st_mode) == new


def access_rules(*rules: tuple[int, int, int]) -> bytes:
    """A POSIX access control list as the system keeps it: (tag, rights, id)."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *rule) for rule in rules)


RULES = access_rules(
    (0x01, 6, 2**32 - 1),  # the owner: rw
    (0x02, 6, 4711),  # one user: rw
    (0x04, 0, 2**32 - 1),  # the group: nothing
    (0x10, 6, 2**32 - 1),  # at most: rw, which the mode shows as the group's rights
    (0x20, 0, 2**32 - 1),  # all others: nothing
)


def has_rules(path: Path, name: str) -> bool:
    try:
        os.setxattr(path, name, RULES)
    except OSError:
        return False  # a file system without them
    return True


@only_root
def test_access_rules_are_kept_or_only_the_owner_may_read(folder_of_nobody):
    folder = folder_of_nobody
    kept, lost = folder / "kept", folder / "lost"
    for path, group in ((kept, NOBODY), (lost, 4242)):
        path.write_bytes(b"old")
        if not has_rules(path, "system.posix_acl_access"):
            return
        os.chown(path, NOBODY, group)
    tautograd.save(X, folder / "before")
    for path in (kept, lost):
        assert as_nobody(f"tautograd.save(X, {str(path)!r})") == "done"
    assert os.getxattr(kept, "system.posix_acl_access") == RULES
    assert "system.posix_acl_access" not in os.listxattr(lost)
    assert stat.S_IMODE(lost.stat().st_mode) == 0o600


def test_rules_of_the_folder_give_nobody_rights_on_the_way(tmp_path, monkeypatch):
    """A mode that is set while they are there would be the upper bound of what they allow."""
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o660)
    if not has_rules(tmp_path, "system.posix_acl_default"):
        return
    seen = []
    set_mode = os.fchmod

    def look(handle, mode):
        set_mode(handle, mode)
        seen.append("system.posix_acl_access" in os.listxattr(handle))

    monkeypatch.setattr(os, "fchmod", look)
    tautograd.save(X, path)
    assert seen == [False]


def test_links_are_followed_and_stay(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "latest").symlink_to("folder/second")
    (tmp_path / "folder" / "second").symlink_to("third.pt")
    tautograd.save(X, tmp_path / "latest")
    tautograd.save(X * 2, tmp_path / "latest")
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "folder" / "second").is_symlink()
    assert tautograd.load(tmp_path / "folder" / "third.pt").tolist() == (X * 2).tolist()


def test_another_name_of_the_old_file_keeps_the_old_content(tmp_path):
    (tmp_path / "model").write_bytes(b"old")
    os.link(tmp_path / "model", tmp_path / "snapshot")
    tautograd.save(X, tmp_path / "model")
    assert (tmp_path / "snapshot").read_bytes() == b"old"


@only_root
@pytest.mark.parametrize("mode", [0o444, 0o400, 0o000])
def test_who_may_not_write_a_file_may_not_replace_it(mode, tmp_path_factory):
    folder = Path("/tmp") / f"tautograd-test-{os.getpid()}-{mode}"
    folder.mkdir()
    try:
        os.chown(folder, NOBODY, NOBODY)  # so that it could be replaced
        path = folder / "model.pt"
        path.write_bytes(b"old")
        os.chown(path, NOBODY, NOBODY)
        path.chmod(mode)
        said = as_nobody(f"tautograd.save(X, {str(path)!r})")
        assert said.startswith("PermissionError(13"), said
        assert path.read_bytes() == b"old"
        assert os.listdir(folder) == ["model.pt"]
    finally:
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()


@only_root
def test_a_link_that_somebody_else_has_put_in_a_shared_folder_is_what_open_says(tmp_path):
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    shared.chmod(0o1777)
    victim.write_bytes(b"old")
    (shared / "model.pt").symlink_to(victim)
    os.chown(shared / "model.pt", NOBODY, NOBODY, follow_symlinks=False)
    try:
        os.close(os.open(shared / "model.pt", os.O_WRONLY))
    except PermissionError:  # as Linux has it by default: it is not followed
        with pytest.raises(PermissionError):
            tautograd.save(X, shared / "model.pt")
        assert victim.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", FileNotFoundError),
        ("a\0b", ValueError),
        ("folder", IsADirectoryError),
        ("new/", IsADirectoryError),
        ("missing/new.pt", RuntimeError),
        ("file/new.pt", RuntimeError),
        ("loop", OSError),
        ("x" * 256, OSError),
    ],
)
def test_names_that_cannot_be_written(name, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(kind):
        tautograd.save(X, name)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "loop"]


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "\udcff\udcfe.pt", " ", "a\nb", "-rf", "~"])
def test_names_that_can(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tautograd.save(X, name)
    tautograd.save(X, name)
    assert os.listdir(tmp_path) == [name]


# ---- what the dead have left ------------------------------------------------------------------------


def leftovers(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".part"))


def abandoned(path: Path) -> Path:
    """A temporary of a writer that was killed."""
    made = temporaries.make(str(path))
    made.close()  # as the system does when a process ends
    return Path(made.path)


def test_the_dead_are_cleared_by_the_next_write_of_that_name(tmp_path):
    left = [abandoned(tmp_path / "model.pt") for _ in range(1)]
    other = abandoned(tmp_path / "other.pt")
    tautograd.save(X, tmp_path / "model.pt")
    assert not any(path.exists() for path in left)
    assert other.exists()


def test_the_living_are_left_alone(tmp_path):
    with atomic.replacing(tmp_path / "model.pt") as first:
        first.write(b"first")
        with atomic.replacing(tmp_path / "model.pt") as second:
            second.write(b"second")
        assert (tmp_path / "model.pt").read_bytes() == b"second"
        assert len(leftovers(tmp_path)) == 1
    assert (tmp_path / "model.pt").read_bytes() == b"first"
    assert leftovers(tmp_path) == []


def test_one_from_another_computer_is_dead_after_a_day_alone(tmp_path):
    left = abandoned(tmp_path / "model.pt")
    start, machine, *rest = left.name.rsplit(".", 3)
    elsewhere = left.with_name(".".join([start, "0" * len(machine), *rest]))
    left.rename(elsewhere)
    tautograd.save(X, tmp_path / "model.pt")
    assert elsewhere.exists()
    os.utime(elsewhere, (time.time() - 90_000,) * 2)
    tautograd.save(X, tmp_path / "model.pt")
    assert not elsewhere.exists()


@pytest.mark.parametrize("what", ["folder", "link", "pipe", "longer", "shorter", "upper"])
def test_what_only_looks_like_one_is_left_alone(what, tmp_path):
    dead = abandoned(tmp_path / "model.pt")
    dead.unlink()
    names = {"longer": dead.name + "x", "shorter": dead.name[:-1], "upper": dead.name.upper()}
    path = dead.with_name(names.get(what, dead.name))
    (tmp_path / "precious").write_bytes(b"precious")
    if what == "folder":
        path.mkdir()
    elif what == "link":
        path.symlink_to("precious")
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"precious")
    tautograd.save(X, tmp_path / "model.pt")
    assert os.path.lexists(path)
    assert (tmp_path / "precious").read_bytes() == b"precious"


@only_root
def test_somebody_elses_is_left_alone(tmp_path):
    left = abandoned(tmp_path / "model.pt")
    os.chown(left, NOBODY, NOBODY)
    tautograd.save(X, tmp_path / "model.pt")
    assert left.exists()


def test_many_writers_at_once(tmp_path):
    """Nobody takes another's temporary away, and the last one to finish wins."""
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for _ in range(20):
                tautograd.save({"v": tautograd.full((500,), number)}, tmp_path / "model.pt")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    found = tautograd.load(tmp_path / "model.pt")["v"]
    assert bool((found == found[0]).all())
    assert os.listdir(tmp_path) == ["model.pt"]


def test_the_mask_for_new_files_is_not_touched(tmp_path, monkeypatch):
    """Changing it, if only for a moment, would change it for other threads."""

    def touched(mask: int) -> int:
        raise AssertionError("the mask of the whole process was changed")

    monkeypatch.setattr(os, "umask", touched)
    tautograd.save(X, tmp_path / "model.pt")
    tautograd.save(X, tmp_path / "model.pt")


def test_an_interrupt_within_an_archive_is_an_interrupt():
    """At each write of a file: closing half an archive would be another error, in the interrupt's place."""

    class Interrupted(io.BytesIO):
        left = 0

        def write(self, data):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().write(data)

    state = {"x": tautograd.ones(3), "y": tautograd.ones(100_000)}
    for writes in range(200):
        file = Interrupted()
        file.left = writes
        try:
            tautograd.save(state, file)
        except KeyboardInterrupt:
            continue
        break
    assert writes > 10
    assert tautograd.load(io.BytesIO(file.getvalue()))["x"].tolist() == [1.0, 1.0, 1.0]
